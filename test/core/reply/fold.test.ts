import { expect } from 'chai';
import { foldEvent } from '../../../src/core/reply/fold.ts';
import { initialResponse } from '../../../src/core/reply/initial-response.ts';
import { planTools } from '../../../src/core/request/tools.ts';
import type { ResponseEvent, ResponseResource } from '../../../src/contract/types.ts';
import { loadFixtures } from '../../support/fixtures.ts';
import { PLAIN_REQUEST, TEST_UNIQUE } from '../../support/machine.ts';

type Loose = { readonly type: string } & Readonly<Record<string, unknown>>;

const place = { item_id: 'msg_1', output_index: 0 };
const message = { type: 'message', id: 'msg_1', status: 'in_progress', role: 'assistant', content: [] };
const reasoning = { type: 'reasoning', id: 'rs_1', status: 'in_progress', summary: [] };
const call = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'look', arguments: '', status: 'in_progress' };
const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'a', name: 'look', input: '', status: 'in_progress' };
const textPart = { type: 'output_text', text: '', annotations: [], logprobs: [] };

const added = (item: object, index = 0): Loose => ({ type: 'response.output_item.added', output_index: index, item });
const partAdded = (part: object, index = 0): Loose => ({
  type: 'response.content_part.added',
  ...place,
  content_index: index,
  part,
});
const delta = (kind: string, text: string, more: object = {}): Loose => ({
  type: `response.${kind}.delta`,
  ...place,
  delta: text,
  ...more,
});

describe('foldEvent', () => {
  let response: ResponseResource;

  beforeEach(() => {
    const tools = planTools(PLAIN_REQUEST, 'drop');
    response = initialResponse(PLAIN_REQUEST, tools, { unique: TEST_UNIQUE, createdAtS: 1 });
  });

  function fold(...events: readonly Loose[]): ResponseResource {
    return events.reduce((snapshot, event) => foldEvent(snapshot, event as unknown as ResponseEvent), response);
  }

  const cases: { name: string; events: Loose[]; expected: object }[] = [
    { name: 'an item', events: [added(message)], expected: { output: [message] } },
    {
      name: 'two deltas of text with logprobs',
      events: [
        added(message),
        partAdded(textPart),
        delta('output_text', 'a', { content_index: 0, logprobs: [{ token: 'a' }] }),
        delta('output_text', 'b', { content_index: 0, logprobs: [] }),
      ],
      expected: {
        output: [{ ...message, content: [{ ...textPart, text: 'ab', logprobs: [{ token: 'a' }] }] }],
        output_text: 'ab',
      },
    },
    {
      name: 'an annotation',
      events: [
        added(message),
        partAdded(textPart),
        {
          type: 'response.output_text.annotation.added',
          ...place,
          content_index: 0,
          annotation_index: 0,
          annotation: { url: 'u' },
        },
      ],
      expected: { output: [{ ...message, content: [{ ...textPart, annotations: [{ url: 'u' }] }] }] },
    },
    {
      name: 'a refusal after text',
      events: [
        added(message),
        partAdded(textPart),
        partAdded({ type: 'refusal', refusal: '' }, 1),
        delta('refusal', 'No', { content_index: 1 }),
        delta('refusal', '.', { content_index: 1 }),
      ],
      expected: { output: [{ ...message, content: [textPart, { type: 'refusal', refusal: 'No.' }] }], output_text: '' },
    },
    {
      name: 'a summary of two parts',
      events: [
        added(reasoning),
        {
          type: 'response.reasoning_summary_part.added',
          ...place,
          summary_index: 0,
          part: { type: 'summary_text', text: '' },
        },
        delta('reasoning_summary_text', 'a', { summary_index: 0 }),
        {
          type: 'response.reasoning_summary_part.added',
          ...place,
          summary_index: 1,
          part: { type: 'summary_text', text: '' },
        },
        delta('reasoning_summary_text', 'b', { summary_index: 1 }),
      ],
      expected: {
        output: [
          {
            ...reasoning,
            summary: [
              { type: 'summary_text', text: 'a' },
              { type: 'summary_text', text: 'b' },
            ],
          },
        ],
      },
    },
    {
      name: 'reasoning as content',
      events: [
        added(reasoning),
        partAdded({ type: 'reasoning_text', text: '' }),
        delta('reasoning_text', 'a', { content_index: 0 }),
        delta('reasoning_text', 'b', { content_index: 0 }),
      ],
      expected: { output: [{ ...reasoning, content: [{ type: 'reasoning_text', text: 'ab' }] }] },
    },
    {
      name: 'arguments of two calls',
      events: [
        added(call),
        added({ ...call, id: 'fc_2' }, 1),
        delta('function_call_arguments', '{'),
        { ...delta('function_call_arguments', '{"x":1}'), output_index: 1 },
        delta('function_call_arguments', '}'),
      ],
      expected: {
        output: [
          { ...call, arguments: '{}' },
          { ...call, id: 'fc_2', arguments: '{"x":1}' },
        ],
      },
    },
    {
      name: 'the input of a custom tool',
      events: [added(custom), delta('custom_tool_call_input', 'a'), delta('custom_tool_call_input', 'b')],
      expected: { output: [{ ...custom, input: 'ab' }] },
    },
    {
      name: 'the end of an item',
      events: [
        added(message),
        { type: 'response.output_item.done', output_index: 0, item: { ...message, status: 'completed' } },
      ],
      expected: { output: [{ ...message, status: 'completed' }] },
    },
    {
      name: 'what only repeats',
      events: [
        added(message),
        partAdded(textPart),
        { type: 'response.output_text.done', ...place, content_index: 0, text: 'x', logprobs: [] },
        { type: 'response.refusal.done', ...place, content_index: 0, refusal: 'x' },
        { type: 'response.reasoning_text.done', ...place, content_index: 0, text: 'x' },
        { type: 'response.reasoning_summary_text.done', ...place, summary_index: 0, text: 'x' },
        { type: 'response.reasoning_summary_part.done', ...place, summary_index: 0, part: {} },
        { type: 'response.function_call_arguments.done', ...place, name: 'x', arguments: 'x' },
        { type: 'response.custom_tool_call_input.done', ...place, input: 'x' },
        { type: 'response.content_part.done', ...place, content_index: 0, part: {} },
        { type: 'error', code: 'x', message: 'x', param: '', error: {} },
      ],
      expected: { output: [{ ...message, content: [textPart] }] },
    },
  ];
  for (const { name, events, expected } of cases) {
    it(`adds up ${name}`, () => {
      const before = structuredClone(response);
      expect(fold(...events)).to.deep.equal({ ...before, ...expected });
    });
  }

  for (const type of ['created', 'in_progress', 'completed', 'incomplete', 'failed']) {
    it(`takes over the response of response.${type}`, () => {
      const other = { ...response, status: 'failed', output: [message] };
      expect(fold({ type: `response.${type}`, response: other })).to.deep.equal(other);
    });
  }

  const impossible: { name: string; events: Loose[] }[] = [
    { name: 'an item that leaves a gap', events: [added(message, 1)] },
    { name: 'an item in the place of another', events: [added(message), added(message)] },
    {
      name: 'the end of an item that is not there',
      events: [{ type: 'response.output_item.done', output_index: 0, item: message }],
    },
    { name: 'a part of an item that is not there', events: [partAdded(textPart)] },
    { name: 'a text part of reasoning', events: [added(reasoning), partAdded(textPart)] },
    {
      name: 'a reasoning part of a message',
      events: [added(message), partAdded({ type: 'reasoning_text', text: '' })],
    },
    { name: 'a part of a call', events: [added(call), partAdded(textPart)] },
    {
      name: 'text without its part',
      events: [added(message), delta('output_text', 'a', { content_index: 0, logprobs: [] })],
    },
    {
      name: 'text in a refusal',
      events: [
        added(message),
        partAdded({ type: 'refusal', refusal: '' }),
        delta('output_text', 'a', { content_index: 0, logprobs: [] }),
      ],
    },
    { name: 'text in a call', events: [added(call), delta('output_text', 'a', { content_index: 0, logprobs: [] })] },
    { name: 'a refusal without its part', events: [added(message), delta('refusal', 'a', { content_index: 0 })] },
    {
      name: 'reasoning without its part',
      events: [added(reasoning), delta('reasoning_text', 'a', { content_index: 0 })],
    },
    {
      name: 'a summary without its part',
      events: [added(reasoning), delta('reasoning_summary_text', 'a', { summary_index: 0 })],
    },
    {
      name: 'a summary of a message',
      events: [
        added(message),
        {
          type: 'response.reasoning_summary_part.added',
          ...place,
          summary_index: 0,
          part: { type: 'summary_text', text: '' },
        },
      ],
    },
    { name: 'arguments of a message', events: [added(message), delta('function_call_arguments', '{')] },
    { name: 'arguments of a custom tool', events: [added(custom), delta('function_call_arguments', '{')] },
    { name: 'input of a function', events: [added(call), delta('custom_tool_call_input', 'a')] },
    {
      name: 'an annotation without its part',
      events: [
        added(message),
        {
          type: 'response.output_text.annotation.added',
          ...place,
          content_index: 0,
          annotation_index: 0,
          annotation: {},
        },
      ],
    },
  ];
  for (const { name, events } of impossible) {
    it(`throws on ${name}`, () => {
      expect(() => fold(...events)).to.throw(RangeError);
    });
  }

  it('throws on an event that it does not know', () => {
    expect(() => fold({ type: 'response.keepalive' })).to.throw(TypeError);
  });

  it('changes no event, so what was sent stays what it was', () => {
    for (const fixture of loadFixtures()) {
      const events = fixture.expectedEvents();
      const before = structuredClone(events);
      let snapshot = structuredClone(response);
      for (const event of events) snapshot = foldEvent(snapshot, event);
      expect(events, fixture.name).to.deep.equal(before);
    }
  });
});
