import { expect } from 'chai';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';
import type { ChatChunk } from '../../../src/core/chat.ts';
import type { ResponseResource } from '../../../src/contract/types.ts';
import { chunkOf, openMachine, PLAIN_REQUEST, translate } from '../../support/machine.ts';
import { readAnswer } from '../../support/read-answer.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

const PAY = { name: 'pay', arguments: '{"amount":5}' };
const pay = (fields: object = {}) => ({ index: 0, id: 'a', function: PAY, ...fields });
const chunkWith = (...choices: readonly object[]): ChatChunk => ({ object: 'chat.completion.chunk', choices });

/** The response to these chunks as they come over the wire. */
function read(chunks: readonly ChatChunk[], done = true): ResponseResource {
  const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return expectWellFormed(translate(readAnswer(Buffer.from(`${events.join('')}${done ? 'data: [DONE]\n\n' : ''}`))));
}

function readCompletion(...choices: readonly object[]): ResponseResource {
  const chunk = chunkFromCompletion({ object: 'chat.completion', choices });
  return expectWellFormed(translate({ chunks: [chunk], done: true }));
}

/** The text of each message and thought, and the name and the arguments of each call. */
function saidIn({ output }: ResponseResource): string[] {
  return output.map((item) => {
    if (item.type === 'message')
      return item.content.map((part) => ('text' in part ? part.text : part.refusal)).join('');
    if (item.type === 'reasoning') return `(${item.summary.map(({ text }) => text).join('')})`;
    return item.type === 'function_call' ? item.name + item.arguments : item.type;
  });
}

describe('several choices', () => {
  const LOOK = 'Let me look.';
  const CALL = 'pay{"amount":5}';

  describe('of a completion', () => {
    const ofText = { message: { content: LOOK }, finish_reason: 'tool_calls' };
    const ofCall = {
      message: { content: null, tool_calls: [{ id: 'a', function: PAY }] },
      finish_reason: 'tool_calls',
    };
    const cases: readonly (readonly [name: string, choices: readonly object[], expected: readonly string[]])[] = [
      [
        'text and then a call',
        [
          { index: 0, ...ofText },
          { index: 1, ...ofCall },
        ],
        [LOOK, CALL],
      ],
      [
        'both with index 0',
        [
          { index: 0, ...ofText },
          { index: 0, ...ofCall },
        ],
        [LOOK, CALL],
      ],
      ['without an index', [ofText, ofCall], [LOOK, CALL]],
      ['the call with another reason', [{ ...ofText, finish_reason: 'stop' }, ofCall], [LOOK, CALL]],
      ['only one with index 1', [{ index: 1, ...ofText }], [LOOK]],
      ['the call in both', [{ ...ofCall, message: { ...ofCall.message, content: LOOK } }, ofCall], [LOOK, CALL]],
      [
        'the same in both',
        [
          { index: 0, ...ofText },
          { index: 1, ...ofText },
        ],
        [LOOK],
      ],
      [
        'a call without an id in both',
        [
          { message: { content: LOOK, tool_calls: [{ function: PAY }] } },
          { message: { tool_calls: [{ function: PAY }] } },
        ],
        [LOOK, CALL],
      ],
      [
        'two calls',
        [ofCall, { message: { tool_calls: [{ id: 'b', function: { ...PAY, arguments: '{"amount":6}' } }] } }],
        [CALL, 'pay{"amount":6}'],
      ],
      [
        'two texts and a call',
        [ofText, { message: { content: ' Then I pay.' }, finish_reason: 'tool_calls' }, ofCall],
        [LOOK, CALL, ' Then I pay.'],
      ],
      [
        'two answers',
        [
          { message: { content: 'A' }, finish_reason: 'stop' },
          { message: { content: 'B' }, finish_reason: 'length' },
        ],
        ['A'],
      ],
    ];
    for (const [name, choices, expected] of cases) {
      it(`are parts of the one answer: ${name}`, () => {
        const response = readCompletion(...choices);
        expect(saidIn(response)).to.deep.equal(expected);
        expect(response.status).to.equal('completed');
      });
    }
  });

  describe('of a stream', () => {
    const text = (index: number, content: string, reason?: string) => ({
      index,
      delta: { content },
      finish_reason: reason,
    });
    const call = (index: number, fields: object, reason?: string) => ({
      index,
      delta: { tool_calls: [{ index: 0, ...fields }] },
      finish_reason: reason,
    });

    it('are text and then a call', () => {
      const chunks = [
        chunkWith(text(0, 'Let me ')),
        chunkWith(text(0, 'look.')),
        chunkWith(call(1, { id: 'a', function: { name: 'pay', arguments: '' } })),
        chunkWith(call(1, { function: { arguments: '{"amount"' } })),
        chunkWith(text(0, '', 'stop')),
        chunkWith(call(1, { function: { arguments: ':5}' } }, 'tool_calls')),
      ];
      expect(saidIn(read(chunks))).to.deep.equal([LOOK, CALL]);
    });

    it('are calls, whose pieces belong to the call of their choice', () => {
      const pieces = ['{"amo', 'unt":', '5}'].map((piece) =>
        chunkWith(call(0, { function: { arguments: piece } }), call(1, { function: { arguments: piece } })),
      );
      const chunks = [
        chunkWith(call(0, { id: 'a', function: { name: 'pay' } }), call(1, { id: 'b', function: { name: 'get' } })),
        ...pieces,
        chunkWith(call(0, {}, 'tool_calls'), call(1, {}, 'tool_calls')),
      ];
      expect(saidIn(read(chunks))).to.deep.equal([CALL, 'get{"amount":5}']);
    });

    it('are pieces, where the index counts them', () => {
      const words = ['Hel', 'lo', ' wor', 'ld'].map((word, index) => chunkWith(text(index, word)));
      expect(saidIn(read([...words, chunkWith(text(4, '.', 'stop'))]))).to.deep.equal(['Hello world.']);
      const equal = [chunkWith(text(0, 'ha')), chunkWith(text(1, 'ha', 'stop'))];
      expect(saidIn(read(equal))).to.deep.equal(['haha']);
    });

    it('are all there is, where the only one has index 1', () => {
      const response = read([chunkWith(text(1, 'Hel')), chunkWith(text(1, 'lo')), chunkWith(text(1, '', 'length'))]);
      expect(saidIn(response)).to.deep.equal(['Hello']);
      expect(response.status).to.equal('incomplete');
    });

    it('are two answers, of which the first is told, where both end by themselves', () => {
      const chunks = [
        chunkWith(text(1, 'By'), text(0, 'Hel')),
        chunkWith(text(0, 'lo')),
        chunkWith(text(1, 'e', 'length')),
        chunkWith(text(0, '', 'stop')),
      ];
      const response = read(chunks);
      expect(saidIn(response)).to.deep.equal(['Hello']);
      expect(response.status).to.equal('completed');
    });

    it('are the first one alone, where the stream is cut', () => {
      const chunks = [chunkWith(text(0, 'He'), text(1, 'By')), chunkWith(text(0, 'l'), text(1, 'e'))];
      const response = read(chunks, false);
      expect(response.status).to.equal('failed');
      const machine = openMachine();
      machine.start();
      const events = [...machine.feed(chunks), ...machine.end(false)];
      expect(
        events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : [])),
      ).to.deep.equal(['He', 'l']);
    });

    it('are failed where one of them is', () => {
      for (const other of [call(1, pay(), 'error'), text(1, ' And', 'error')]) {
        expect(read([chunkWith(text(0, LOOK, 'stop')), chunkWith(other)]).status).to.equal('failed');
      }
    });

    it('are cut where one of them is', () => {
      for (const reason of ['tool_calls', 'stop']) {
        const chunks = [chunkWith(text(0, LOOK, reason)), chunkWith(call(1, pay(), 'length'))];
        expect(read(chunks)).to.have.nested.property('incomplete_details.reason', 'max_output_tokens');
      }
    });

    it('have the usage that one of them has', () => {
      const usage = { prompt_tokens: 3, completion_tokens: 2 };
      const chunks = [chunkWith(text(0, LOOK), { ...call(1, pay(), 'tool_calls'), usage })];
      expect(read(chunks).usage?.output_tokens).to.equal(2);
    });
  });
});

describe('a stream that says all so far in each chunk', () => {
  const SENTENCE = 'The sky is blue.';
  const soFar = (field: string, text: string, step: number) =>
    Array.from({ length: Math.ceil(text.length / step) }, (_, at) =>
      chunkOf({ [field]: text.slice(0, (at + 1) * step) }),
    );

  it('is told once, thoughts and text', () => {
    const chunks = [...soFar('reasoning_content', 'Why is it so?', 3), ...soFar('content', SENTENCE, 4)];
    expect(saidIn(read([...chunks, chunkOf({ content: SENTENCE }, 'stop')]))).to.deep.equal([
      '(Why is it so?)',
      SENTENCE,
    ]);
  });

  it('is told once, where thoughts and text come together', () => {
    const thoughts = 'Why is it so?';
    const chunks = soFar('content', SENTENCE, 4).map(({ choices }) => {
      const [choice] = choices as { delta: object }[];
      return chunkOf({ reasoning_content: thoughts, ...choice?.delta });
    });
    const response = read([...soFar('reasoning_content', thoughts, 3), ...chunks, chunkOf({}, 'stop')]);
    expect(saidIn(response)).to.deep.equal([`(${thoughts})`, SENTENCE]);
  });

  it('is measured as what it says', () => {
    const machine = openMachine();
    machine.start();
    machine.feed(soFar('content', SENTENCE, 4));
    const pieces = ['{"amount"', '{"amount":', PAY.arguments].map((given) =>
      pay({ function: { ...PAY, arguments: given } }),
    );
    machine.feed(pieces.map((piece) => chunkOf({ tool_calls: [piece] })));
    machine.feed([chunkOf({}, 'tool_calls')]);
    machine.end(true);
    expect(machine.outputLength).to.equal(SENTENCE.length + 3 * PAY.name.length + PAY.arguments.length);
  });
});

describe('a message after deltas', () => {
  const withMessage = (message: object, delta?: object) =>
    chunkWith({ index: 0, delta, message, finish_reason: 'stop' });

  it('adds nothing to what they said', () => {
    const image = { image_url: { url: 'data:image/png;base64,AAAA' } };
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://example.com', title: 'A' } }];
    for (const delta of [undefined, {}]) {
      const response = read([
        chunkOf({ role: 'assistant', content: '' }),
        chunkOf({ reasoning_content: 'Hm' }),
        chunkOf({ reasoning_content: '.' }),
        chunkOf({ content: 'Hel' }),
        chunkOf({ content: 'lo', annotations }),
        chunkOf({ images: [image] }),
        chunkOf({ tool_calls: [{ index: 0, function: { name: 'pay', arguments: '{"amount"' } }] }),
        chunkOf({ tool_calls: [{ index: 0, function: { arguments: ':5}' } }] }),
        withMessage(
          {
            reasoning_content: 'Hm.',
            content: 'Hello',
            annotations,
            images: [image],
            tool_calls: [{ type: 'function', function: PAY }],
          },
          delta,
        ),
      ]);
      expect(saidIn(response)).to.deep.equal(['(Hm.)', 'Hello', 'image_generation_call', 'pay{"amount":5}']);
      const message = response.output.find((item) => item.type === 'message');
      expect(message?.content[0]).to.have.property('annotations').with.lengthOf(1);
    }
  });

  it('adds what they did not say', () => {
    const chunks = [
      chunkOf({ content: 'Hel' }),
      withMessage({ content: 'Hello', tool_calls: [{ id: 'a', function: PAY }] }),
    ];
    expect(saidIn(read(chunks))).to.deep.equal(['Hello', 'pay{"amount":5}']);
  });

  it('is a piece like others where the deltas said nothing', () => {
    const messages = ['Hel', 'lo', 'lo'].map((content) => chunkWith({ index: 0, message: { content } }));
    const chunks = [chunkOf({ role: 'assistant' }), ...messages, chunkOf({}, 'stop')];
    expect(saidIn(read(chunks))).to.deep.equal(['Hellolo']);
  });

  it('has the state that goes back with the next request', () => {
    const details = [{ type: 'reasoning.text', text: 'Hm.', signature: 's' }];
    const chunks = [
      chunkOf({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }),
      chunkOf({ reasoning_details: [{ type: 'reasoning.text', text: '.', signature: 's' }] }),
      chunkOf({ content: 'Hello' }),
      withMessage({ content: 'Hello', reasoning_details: details }),
    ];
    const { output } = read(chunks);
    expect(saidIn({ output } as ResponseResource).slice(0, 2)).to.deep.equal(['(Hm.)', 'Hello']);
    const seals = output.flatMap((item) => (item.type === 'reasoning' ? [item.encrypted_content ?? ''] : []));
    expect(JSON.parse(seals.at(-1) ?? ''))
      .to.have.nested.property('message.reasoning_details')
      .that.deep.equals(details);
  });
});

describe('log probabilities', () => {
  const alternatives = Array.from({ length: 20 }, (_, at) => ({ token: `t${at}`, logprob: -at }));
  const chunk = chunkWith({
    index: 0,
    delta: { content: 'Hi' },
    logprobs: { content: [{ token: 'Hi', logprob: 0, top_logprobs: alternatives }] },
    finish_reason: 'stop',
  });

  for (const [asked, expected] of [
    [undefined, 0],
    [0, 0],
    [3, 3],
    [20, 20],
  ] as const) {
    it(`have ${expected} alternatives for each token, where top_logprobs is ${asked}`, () => {
      const request = {
        ...PLAIN_REQUEST,
        include: ['message.output_text.logprobs' as const],
        ...(asked !== undefined && { top_logprobs: asked }),
      };
      const { output, top_logprobs: stated } = expectWellFormed(translate({ chunks: [chunk], done: true }, request));
      const [item] = output;
      const part = item?.type === 'message' ? item.content[0] : undefined;
      const tokens =
        part?.type === 'output_text' ? part.logprobs[0]?.top_logprobs.map(({ token }) => token) : undefined;
      expect(tokens).to.deep.equal(alternatives.slice(0, expected).map(({ token }) => token));
      expect(stated).to.equal(expected);
    });
  }

  it('show that pieces are real, which look like all so far', () => {
    const request = { ...PLAIN_REQUEST, top_logprobs: 1 };
    const pieces = ['The', 'The sky', 'The sky is'].map((content) =>
      chunkWith({ index: 0, delta: { content }, logprobs: { content: [{ token: content }] } }),
    );
    const response = expectWellFormed(translate({ chunks: [...pieces, chunkOf({}, 'stop')], done: true }, request));
    expect(response.output_text).to.equal('TheThe skyThe sky is');
  });
});
