import { expect } from 'chai';
import type { ResponseEvent } from '../../src/contract/types.ts';
import { chunkOf, translate, type Answer } from './machine.ts';
import { expectWellFormed, parseEvents } from './well-formed.ts';

const REASONED: Answer = {
  chunks: [chunkOf({ reasoning_content: 'Hmm.' }), chunkOf({ content: 'Hel' }), chunkOf({ content: 'lo' }, 'stop')],
  done: true,
};
const CALLED: Answer = {
  chunks: [
    chunkOf({ tool_calls: [{ index: 0, id: 'call_a', function: { name: 'look', arguments: '{"x":' } }] }),
    chunkOf({ tool_calls: [{ index: 1, id: 'call_b', function: { name: 'look', arguments: '{}' } }] }),
    chunkOf({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }, 'tool_calls'),
  ],
  done: true,
};
const CUT: Answer = { chunks: [chunkOf({ reasoning_content: 'Hmm.' }), chunkOf({ content: 'Hel' })], done: false };
const LENGTH: Answer = { chunks: [chunkOf({ content: 'Hel' }, 'length')], done: true };

type Loose = Record<string, unknown>;
/** Events as anybody might have written them. */
type LooseEvent = Loose & {
  type: string;
  item: Loose;
  part: Loose;
  response: Loose & { output: Loose[] };
  error: Loose;
};

/** The first event of the type; they are changed in place. */
function at(events: readonly LooseEvent[], type: string, nth = 0): LooseEvent {
  const event = events.filter((event) => event.type === `response.${type}` || event.type === type)[nth];
  if (event === undefined) throw new Error(`the stream has no ${type}`);
  return event;
}

function without(events: LooseEvent[], event: LooseEvent): LooseEvent[] {
  return renumbered(events.filter((other) => other !== event));
}

function renumbered(events: readonly LooseEvent[]): LooseEvent[] {
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

function twice(events: LooseEvent[], event: LooseEvent): LooseEvent[] {
  return renumbered(events.flatMap((other) => (other === event ? [other, structuredClone(other)] : [other])));
}

function swapped(events: LooseEvent[], first: LooseEvent, second: LooseEvent): LooseEvent[] {
  return renumbered(events.map((event) => (event === first ? second : event === second ? first : event)));
}

describe('expectWellFormed', () => {
  for (const [name, answer] of Object.entries({ REASONED, CALLED, CUT, LENGTH })) {
    it(`takes what the machine says (${name.toLowerCase()})`, () => {
      const events = translate(answer);
      const last = events.at(-1);
      expect(expectWellFormed(events)).to.equal(last !== undefined && 'response' in last ? last.response : undefined);
    });
  }

  const cases: { name: string; answer: Answer; broken: (events: LooseEvent[]) => LooseEvent[] | void; says: RegExp }[] =
    [
      { name: 'no event', answer: REASONED, broken: () => [], says: /begins with response\.created/ },
      {
        name: 'no response.in_progress',
        answer: REASONED,
        broken: (events) => without(events, at(events, 'in_progress')),
        says: /second/,
      },
      {
        name: 'a gap in the numbers',
        answer: REASONED,
        broken: (events) => void (at(events, 'output_text.delta')['sequence_number'] = 99),
        says: /without a gap/,
      },
      {
        name: 'no terminal event',
        answer: REASONED,
        broken: (events) => void events.pop(),
        says: /ends with its terminal event/,
      },
      {
        name: 'two terminal events',
        answer: REASONED,
        broken: (events) => twice(events, at(events, 'completed')),
        says: /is the last event/,
      },
      {
        name: 'an echo that changes',
        answer: REASONED,
        broken: (events) => void (at(events, 'completed').response['model'] = 'other'),
        says: /never changes/,
      },
      {
        name: 'an item out of order',
        answer: REASONED,
        broken: (events) => void (at(events, 'output_item.added', 1)['output_index'] = 2),
        says: /in the order in which they are added/,
      },
      {
        name: 'two items of one id',
        answer: CALLED,
        broken: (events) =>
          void (at(events, 'output_item.added', 1).item['id'] = at(events, 'output_item.added').item['id']),
        says: /no two items/,
      },
      {
        name: 'two calls of one call_id',
        answer: CALLED,
        broken: (events) => void (at(events, 'output_item.added', 1).item['call_id'] = 'call_a'),
        says: /no two calls/,
      },
      {
        name: 'another item_id',
        answer: REASONED,
        broken: (events) => void (at(events, 'output_text.delta')['item_id'] = 'msg_x'),
        says: /item_id/,
      },
      {
        name: 'a delta before its part',
        answer: REASONED,
        broken: (events) => swapped(events, at(events, 'content_part.added'), at(events, 'output_text.delta')),
        says: /belongs to an added part/,
      },
      {
        name: 'a lost delta',
        answer: REASONED,
        broken: (events) => without(events, at(events, 'output_text.delta')),
        says: /deltas put together/,
      },
      {
        name: 'a lost output_text.done',
        answer: REASONED,
        broken: (events) => without(events, at(events, 'output_text.done')),
        says: /after its text is/,
      },
      {
        name: 'a lost content_part.done',
        answer: REASONED,
        broken: (events) => without(events, at(events, 'content_part.done')),
        says: /all parts/,
      },
      {
        name: 'a lost output_item.done',
        answer: REASONED,
        broken: (events) => without(events, at(events, 'output_item.done', 1)),
        says: /all items are done/,
      },
      {
        name: 'an item that says something else at its end',
        answer: REASONED,
        broken: (events) => void (at(events, 'output_item.done', 1).item['content'] = []),
        says: /what its events said/,
      },
      {
        name: 'lost arguments',
        answer: CALLED,
        broken: (events) => without(events, at(events, 'function_call_arguments.delta')),
        says: /deltas put together/,
      },
      {
        name: 'a final output without an item',
        answer: REASONED,
        broken: (events) => void at(events, 'completed').response.output.pop(),
        says: /finished items/,
      },
      {
        name: 'a status that does not go with the event',
        answer: REASONED,
        broken: (events) => void (at(events, 'completed').response['status'] = 'failed'),
        says: /does not go with/,
      },
      {
        name: 'a completed response with an error',
        answer: REASONED,
        broken: (events) => void (at(events, 'completed').response['error'] = {}),
        says: /only a failed response/,
      },
      {
        name: 'a failure without its error event',
        answer: CUT,
        broken: (events) => without(events, at(events, 'error')),
        says: /follows an error event/,
      },
      {
        name: 'a failed response that tells another error',
        answer: CUT,
        broken: (events) => void (at(events, 'failed').response['error'] = { code: 'a', message: 'b' }),
        says: /what the error event said/,
      },
    ];

  for (const { name, answer, broken, says } of cases) {
    it(`refuses ${name}`, () => {
      const events = translateLoose(answer);
      const result = broken(events) ?? events;
      expect(() => expectWellFormed(result as unknown as ResponseEvent[])).to.throw(says);
    });
  }
});

function translateLoose(answer: Answer): LooseEvent[] {
  return structuredClone(translate(answer)) as unknown as LooseEvent[];
}

describe('parseEvents', () => {
  const events = translate(REASONED);
  const blocks = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const whole = `${blocks.join('')}data: [DONE]\n\n`;

  it('reads back what was written, comments left out', () => {
    expect(parseEvents(whole)).to.deep.equal(events);
    expect(parseEvents(`: hello\n\n${blocks.join(': still here\n\n')}data: [DONE]\n\n`)).to.deep.equal(events);
  });

  const refused = [
    { name: 'a stream without [DONE]', text: blocks.join(''), says: /ends with data: \[DONE\]/ },
    { name: 'more after [DONE]', text: `${whole}: more\n\n`, says: /ends with data: \[DONE\]/ },
    { name: '[DONE] twice', text: `${whole}data: [DONE]\n\n`, says: /event: line/ },
    { name: 'CRLF', text: whole.replaceAll('\n', '\r\n'), says: /LF only/ },
    {
      name: 'an id',
      text: whole.replace('event: response.created\n', 'id: 1\nevent: response.created\n'),
      says: /event: line/,
    },
    { name: 'an id at the end', text: whole.replace('}\n\n', '}\nid: 1\n\n'), says: /no more than its two lines/ },
    { name: 'an event without its name', text: whole.replace('event: response.created\n', ''), says: /event: line/ },
    {
      name: 'an event of another name',
      text: whole.replace('event: response.created\n', 'event: response.queued\n'),
      says: /names the type/,
    },
  ];
  for (const { name, text, says } of refused) {
    it(`refuses ${name}`, () => {
      expect(() => parseEvents(text)).to.throw(says);
    });
  }
});
