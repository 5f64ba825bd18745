import { expect } from 'chai';
import type { ChatChunk } from '../../../src/core/chat.ts';
import { ApiError } from '../../../src/core/errors.ts';
import type { ResponseEvent, ResponseResource } from '../../../src/contract/types.ts';
import type { Translator } from '../../../src/core/reply/translator.ts';
import { chunkOf, openMachine, PLAIN_REQUEST, translate } from '../../support/machine.ts';
import { casesOf } from '../../support/property.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

const text = (content: string) => chunkOf({ content });
const openCall = (index: number, more: object = {}) =>
  chunkOf({ tool_calls: [{ index, id: `call_${index}`, function: { name: 'look', arguments: '{"x":' }, ...more }] });

const LOST = new ApiError('upstream_error', { message: 'The backend closed the connection.' });

describe('createTranslator', () => {
  describe('the response', () => {
    it('is at each moment what the events so far have made', () => {
      const machine = openMachine();
      machine.start();
      machine.feed([text('Hel')]);
      expect(machine.response).to.include({ status: 'in_progress', output_text: 'Hel' });
      machine.feed([text('lo')]);
      expect(machine.response.output_text).to.equal('Hello');
      machine.feed([chunkOf({}, 'stop')]);
      expect(finalResponse(machine.end(true))).to.equal(machine.response);
    });

    for (const end of ['fail', 'cancel'] as const) {
      it(`is that of the terminal event after ${end}`, () => {
        const machine = openMachine();
        machine.start();
        expect(finalResponse(machine[end](LOST))).to.equal(machine.response);
      });
    }
  });

  describe('keepAlive', () => {
    it('tells the response as it stands, which later events do not change', () => {
      const machine = openMachine();
      const events = [
        ...machine.start(),
        ...machine.feed([text('Hel')]),
        ...machine.keepAlive(),
        ...machine.feed([text('lo')]),
      ];
      events.push(...machine.feed([chunkOf({}, 'stop')]), ...machine.end(true));
      const again = events.filter((event) => event.type === 'response.in_progress')[1];
      expect(again?.response.output_text).to.equal('Hel');
      expect(expectWellFormed(events).output_text).to.equal('Hello');
    });

    it('says nothing after the end', () => {
      const machine = openMachine();
      machine.start();
      machine.cancel();
      expect(machine.keepAlive()).to.deep.equal([]);
    });
  });

  describe('white space', () => {
    const kindsOf = (...chunks: readonly ChatChunk[]) => {
      const machine = openMachine();
      machine.start();
      for (const chunk of [...chunks, chunkOf({}, 'stop')]) machine.feed([chunk]);
      machine.end(true);
      return machine.response.output.map(({ type }) => type);
    };
    const thought = chunkOf({ reasoning: 'Hm.' });

    it('between a thought and a call is no message', () => {
      expect(kindsOf(thought, text('\n\n'), openCall(0))).to.deep.equal(['reasoning', 'function_call']);
    });

    it('after a call is no message', () => {
      expect(kindsOf(openCall(0), text('\n'))).to.deep.equal(['function_call']);
    });

    it('alone is the answer', () => {
      expect(kindsOf(thought, text('\n'))).to.deep.equal(['reasoning', 'message']);
    });

    const told = (pieces: readonly string[], ...before: readonly ChatChunk[]) => {
      const machine = openMachine();
      machine.start();
      for (const chunk of [...before, ...pieces.map((piece) => text(piece))]) machine.feed([chunk]);
      return machine.response.output_text;
    };

    it('between a thought and a text loses its blank lines, wherever it is cut', () => {
      for (const pieces of [['\n\n  Hi\n'], ['\n', '\n', '  Hi\n'], ['\n\n ', ' Hi', '\n']]) {
        expect(told(pieces, thought), JSON.stringify(pieces)).to.equal('  Hi\n');
      }
      expect(told(['\n\nHi'], thought, text('I look.'), thought), 'after a message').to.equal('I look.\n\nHi');
      expect(told(['\n\nHi'], thought, openCall(0)), 'after a call').to.equal('\n\nHi');
      expect(told(['\n\nHi'], thought, text('I look.')), 'within a text').to.equal('I look.\n\nHi');
    });

    it('before a text is its beginning', () => {
      const machine = openMachine();
      machine.start();
      for (const piece of ['\n', '\n', 'Hi']) machine.feed([text(piece)]);
      expect(machine.response.output_text).to.equal('\n\nHi');
    });
  });

  describe('ends once', () => {
    const ways: Record<string, (machine: ReturnType<typeof openMachine>) => readonly ResponseEvent[]> = {
      end: (machine) => machine.end(true),
      'end without [DONE]': (machine) => machine.end(false),
      fail: (machine) => machine.fail(LOST),
      cancel: (machine) => machine.cancel(),
    };
    for (const [first, endFirst] of Object.entries(ways)) {
      for (const [second, endSecond] of Object.entries(ways)) {
        it(`by ${first}, and ${second} adds nothing`, () => {
          const machine = openMachine();
          const events = [...machine.start(), ...machine.feed([text('Hello')]), ...endFirst(machine)];
          expectWellFormed(events);
          expect(machine.ended).to.equal(true);
          expect(endSecond(machine)).to.deep.equal([]);
          expect(machine.feed([text('more')])).to.deep.equal([]);
        });
      }
    }
  });

  describe('a failure', () => {
    it('tells its code and message, and leaves out what was not finished', () => {
      const machine = openMachine();
      const events = [...machine.start()];
      events.push(
        ...machine.feed([chunkOf({ reasoning_content: 'Hmm.' })]),
        ...machine.feed([text('Hel')]),
        ...machine.fail(LOST),
      );
      const response = expectWellFormed(events);
      expect(response.status).to.equal('failed');
      expect(response.error).to.deep.equal({ code: 'upstream_error', message: 'The backend closed the connection.' });
      expect(response.output.map((item) => item.type)).to.deep.equal(['reasoning']);
      expect(response.output_text).to.equal('');
      expect(machine.failure).to.equal(LOST);
    });

    for (const { code, status } of [
      { code: 'upstream_error', status: 'completed' },
      { code: 'upstream_timeout', status: 'completed' },
      { code: 'gateway_interrupted', status: 'failed' },
      { code: 'internal_error', status: 'failed' },
    ] as const) {
      it(`of code ${code} after the finish reason ends the response as ${status}`, () => {
        const machine = openMachine();
        const events = [...machine.start(), ...machine.feed([text('Hello')]), ...machine.feed([chunkOf({}, 'stop')])];
        expect(machine.finishing).to.equal(true);
        events.push(...machine.fail(new ApiError(code)));
        expect(expectWellFormed(events).status).to.equal(status);
      });
    }

    it('after the finish reason length leaves the response incomplete', () => {
      const machine = openMachine();
      const events = [...machine.start(), ...machine.feed([text('Hel')]), ...machine.feed([chunkOf({}, 'length')])];
      events.push(...machine.fail(LOST));
      expect(expectWellFormed(events).status).to.equal('incomplete');
    });
  });

  describe('a cancel', () => {
    it('ends with response.failed and status cancelled', () => {
      const machine = openMachine();
      const events = [...machine.start(), ...machine.feed([text('Hel')]), ...machine.cancel()];
      const response = expectWellFormed(events);
      expect(events.at(-1)?.type).to.equal('response.failed');
      expect(response.status).to.equal('cancelled');
      expect(response.error?.code).to.equal('request_cancelled');
    });

    it('after the finish reason is still a cancel', () => {
      const machine = openMachine();
      const events = [
        ...machine.start(),
        ...machine.feed([chunkOf({ content: 'Hello' }, 'stop')]),
        ...machine.cancel(),
      ];
      expect(expectWellFormed(events).status).to.equal('cancelled');
    });
  });

  describe('an end that nobody has read', () => {
    const ending = chunkOf({ content: 'Hello' }, 'stop');

    it('is revoked by the failure path, with the numbers of the events that are not sent', () => {
      const machine = openMachine();
      const events = [...machine.start(), ...machine.feed([ending])];
      events.push(...machine.revoke(machine.end(true), new ApiError('request_cancelled')));
      const response = expectWellFormed(events);
      expect(response).to.include({ status: 'cancelled', completed_at: null, output_text: 'Hello' });
      expect(machine.failure?.code).to.equal('request_cancelled');
      expect(machine.response).to.deep.equal(response);
    });

    it('is revoked also when it was incomplete, or a failure', () => {
      for (const end of [
        (machine: Translator) => [...machine.feed([chunkOf({}, 'length')]), ...machine.end(true)],
        (machine: Translator) => machine.fail(LOST),
      ]) {
        const machine = openMachine();
        const events = [...machine.start(), ...machine.feed([text('Hel')])];
        events.push(...machine.revoke(end(machine), new ApiError('gateway_interrupted')));
        const response = expectWellFormed(events);
        expect(response).to.deep.include({ status: 'failed', incomplete_details: null });
        expect(response.error?.code).to.equal('gateway_interrupted');
      }
    });
  });

  describe('what it knows on the way', () => {
    it('is the latest usage, also while it runs', () => {
      const machine = openMachine();
      machine.start();
      expect(machine.reported.usage).to.equal(null);
      machine.feed([{ ...text('Hel'), usage: { prompt_tokens: 3, completion_tokens: 1 } }]);
      machine.feed([text('lo')]);
      expect(machine.reported.usage?.output_tokens).to.equal(1);
    });

    it('is the length of all that the backend said, shown or not', () => {
      const machine = openMachine(PLAIN_REQUEST, { reasoningOutput: 'hidden' });
      machine.start();
      expect(machine.outputLength).to.equal(0);
      machine.feed([chunkOf({ reasoning_content: '123' })]);
      machine.feed([text('4567')]);
      machine.feed([chunkOf({ refusal: '89' })]);
      machine.feed([chunkOf({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }] })]);
      expect(machine.outputLength).to.equal(15);
    });

    it('is whether the backend has said why it stopped', () => {
      const machine = openMachine();
      machine.start();
      machine.feed([text('Hello')]);
      expect(machine.finishing).to.equal(false);
      machine.feed([chunkOf({}, 'stop')]);
      expect(machine.finishing).to.equal(true);
    });
  });

  describe('calls at the end', () => {
    it('that were cut by length are incomplete, except one that needs no arguments', () => {
      const chunks = [
        chunkOf({ tool_calls: [{ index: 0, id: 'call_0', function: { name: 'now', arguments: '' } }] }),
        openCall(1),
        chunkOf({}, 'length'),
      ];
      const { output } = expectWellFormed(translate({ chunks, done: true }));
      expect(output.map((item) => (item.type === 'function_call' ? [item.arguments, item.status] : []))).to.deep.equal([
        ['{}', 'completed'],
        ['{"x":', 'incomplete'],
      ]);
    });

    it('that were complete before a length stop in the text after them stay completed', () => {
      const chunks = [
        openCall(0, { function: { name: 'look', arguments: '{}' } }),
        text('And n'),
        chunkOf({}, 'length'),
      ];
      const { output } = expectWellFormed(translate({ chunks, done: true }));
      expect(output.map((item) => item.status)).to.deep.equal(['completed', 'incomplete']);
    });
  });

  describe('more than this gateway takes', () => {
    const megabyte = 'x'.repeat(1024 * 1024);
    const cases: {
      readonly name: string;
      readonly chunk: ChatChunk;
      readonly times: number;
      readonly logprobs?: boolean;
    }[] = [
      { name: 'text', chunk: text(megabyte), times: 5 },
      { name: 'reasoning', chunk: chunkOf({ reasoning: megabyte }), times: 5 },
      { name: 'arguments', chunk: openCall(0, { function: { name: 'look', arguments: megabyte } }), times: 5 },
      {
        name: 'pieces of a call in one chunk',
        chunk: chunkOf({ tool_calls: Array.from({ length: 1025 }, () => ({ index: 0, id: 'a' })) }),
        times: 1,
      },
      {
        name: 'calls in one chunk',
        chunk: chunkOf({ tool_calls: Array.from({ length: 100_000 }, (_, index) => ({ index, id: 'a' })) }),
        times: 1,
      },
      {
        name: 'items in one chunk',
        chunk: chunkOf({
          content: Array.from({ length: 50_000 }, (_, i) => (i % 2 ? { text: 'a' } : { thinking: 'b' })),
        }),
        times: 1,
      },
      {
        name: 'parts in one chunk',
        chunk: chunkOf({
          content: Array.from({ length: 50_000 }, (_, i) => (i % 2 ? { text: 'a' } : { refusal: 'b' })),
        }),
        times: 1,
      },
      {
        name: 'citations of many parts',
        chunk: chunkOf({ content: 'a', refusal: 'b', annotations: Array.from({ length: 1000 }, () => ({ url: 'u' })) }),
        times: 9,
      },
      { name: 'citation addresses', chunk: chunkOf({ content: 'a', annotations: [{ url: megabyte }] }), times: 33 },
      {
        name: 'markers of citations',
        chunk: { ...text('[1]'.repeat(100_000)), citations: ['u'.repeat(10_000)] },
        times: 1,
      },
      {
        name: 'log probabilities that say nothing',
        chunk: {
          choices: [
            { index: 0, delta: { content: 'a' }, logprobs: { content: Array.from({ length: 40_000 }, () => ({})) } },
          ],
        },
        times: 1,
        logprobs: true,
      },
      {
        name: 'alternatives of a token',
        chunk: {
          choices: [
            {
              index: 0,
              delta: { content: 'a' },
              logprobs: { content: [{ token: 'a', top_logprobs: Array.from({ length: 70_000 }, () => ({})) }] },
            },
          ],
        },
        times: 2,
        logprobs: true,
      },
      {
        name: 'bytes of a token',
        chunk: {
          choices: [
            {
              index: 0,
              delta: { content: 'a' },
              logprobs: { content: [{ token: 'a', bytes: Array.from({ length: 120_000 }, () => 1) }] },
            },
          ],
        },
        times: 18,
        logprobs: true,
      },
      {
        name: 'log probabilities',
        chunk: {
          choices: [
            {
              index: 0,
              delta: { content: 'a' },
              logprobs: { content: Array.from({ length: 200_000 }, () => ({ token: 'a' })) },
            },
          ],
        },
        times: 12,
        logprobs: true,
      },
    ];
    for (const { name, chunk, times, logprobs = false } of casesOf(cases)) {
      it(`fails the response: ${name}`, () => {
        const request = { ...PLAIN_REQUEST, ...(logprobs && { top_logprobs: 100_000 }) };
        const chunks = [...Array.from({ length: times }, () => chunk), chunkOf({}, 'stop')];
        const response = finalResponse(translate({ chunks, done: true }, request));
        expect(response.error).to.deep.equal({
          code: 'upstream_invalid_response',
          message: 'The backend sent more than this gateway takes.',
        });
      });
    }

    it('is not 20,000 log probabilities, nor are the first 1,000 citations of a part', () => {
      const request = { ...PLAIN_REQUEST, top_logprobs: 1 };
      const chunk = {
        citations: ['s'],
        choices: [
          {
            index: 0,
            delta: { content: '[1]'.repeat(600), annotations: Array.from({ length: 600 }, () => ({ url: 'u' })) },
            logprobs: { content: Array.from({ length: 20_000 }, () => ({ token: 'a' })) },
            finish_reason: 'stop',
          },
        ],
      };
      const more = { ...chunk, choices: [{ index: 0, delta: { annotations: chunk.choices[0]?.delta.annotations } }] };
      const events = translate({ chunks: [more, chunk], done: true }, request);
      const item = finalResponse(events).output[0];
      const part = item?.type === 'message' ? item.content[0] : undefined;
      expect(part).to.have.property('logprobs').with.lengthOf(20_000);
      expect(part).to.have.property('annotations').with.lengthOf(1000);
      expect(events.filter(({ type }) => type === 'response.output_text.annotation.added')).to.have.length(1000);
    });
  });

  it('fails on arguments that are an object too deep to be written', () => {
    const deep: unknown = JSON.parse('{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000));
    const chunks = [
      text('Look: '),
      openCall(0, { function: { name: 'look', arguments: deep } }),
      chunkOf({}, 'tool_calls'),
    ];
    const response = expectWellFormed(translate({ chunks, done: true }));
    expect(response.error?.code).to.equal('upstream_invalid_response');
  });
});

/** Without the checks of a whole stream, which take their time when it is huge. */
function finalResponse(events: readonly ResponseEvent[]): ResponseResource {
  const last = events.at(-1);
  if (last === undefined || !('response' in last)) throw new Error('the stream has no terminal event');
  return last.response;
}
