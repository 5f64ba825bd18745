import { expect } from 'chai';
import {
  callPiecesOf,
  callStateOf,
  choiceOf,
  citationsOf,
  deltaOf,
  finishReasonOf,
  logprobsOf,
  messageStateOf,
  onlyWordsOf,
  isWithoutOutput,
  sourcesOf,
  textPiecesOf,
  thoughtsFormOf,
  type CallPiece,
} from '../../../src/core/reply/chunk.ts';

const WRONG = [null, undefined, true, 0, 1, '', 'text', [], [1], {}, { a: 1 }];

describe('choiceOf', () => {
  const first = { index: 0, delta: {} };
  const cases: { name: string; choices: unknown; expected: unknown }[] = [
    { name: 'the one with index 0', choices: [{ index: 1 }, first], expected: first },
    { name: 'none when index 0 is not there', choices: [{ index: 1 }], expected: undefined },
    { name: 'the first when there is no index', choices: [{ delta: 1 }, { delta: 2 }], expected: { delta: 1 } },
    {
      name: 'the first when its index is no number',
      choices: [{ index: '0' }, { index: '1' }],
      expected: { index: '0' },
    },
    { name: 'none of an empty list', choices: [], expected: undefined },
    { name: 'none of what is no list', choices: { 0: first }, expected: undefined },
    { name: 'what is an object', choices: [null, first], expected: first },
  ];
  for (const { name, choices, expected } of cases) {
    it(`takes ${name}`, () => {
      expect(choiceOf({ choices })).to.deep.equal(expected);
    });
  }
});

describe('deltaOf', () => {
  it('takes the delta, or the message in its place, or nothing', () => {
    expect(deltaOf({ delta: { content: 'a' }, message: { content: 'b' } })).to.deep.equal({ content: 'a' });
    expect(deltaOf({ delta: null, message: { content: 'b' } })).to.deep.equal({ content: 'b' });
    expect(deltaOf({ delta: 'a' })).to.deep.equal({});
  });
});

describe('finishReasonOf', () => {
  const cases = [
    { given: 'stop', expected: 'stop' },
    { given: 'STOP', expected: 'stop' },
    { given: '', expected: undefined },
    { given: 'null', expected: undefined },
    { given: 'None', expected: undefined },
    { given: null, expected: undefined },
    { given: 1, expected: undefined },
  ];
  for (const { given, expected } of cases) {
    it(`reads ${JSON.stringify(given)} as ${String(expected)}`, () => {
      expect(finishReasonOf({ finish_reason: given })).to.equal(expected);
    });
  }

  for (const [given, native, expected] of [
    ['stop', 'network_error', 'network_error'],
    ['stop', 'MALFORMED_FUNCTION_CALL', 'malformed_function_call'],
    ['length', 'error', 'error'],
    ['stop', 'STOP', 'stop'],
    ['tool_calls', 'end_turn', 'tool_calls'],
    ['stop', 'max_tokens', 'stop'],
    ['stop', 'something', 'stop'],
    ['stop', null, 'stop'],
    [null, 'error', undefined],
  ] as const) {
    it(`reads ${given}, for which the provider has said ${native}, as ${String(expected)}`, () => {
      expect(finishReasonOf({ finish_reason: given, native_finish_reason: native })).to.equal(expected);
    });
  }
});

describe('isWithoutOutput', () => {
  const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields }] });
  for (const [name, chunk, expected] of [
    ['the role alone', delta({ role: 'assistant', content: '', tool_calls: [], refusal: null }), true],
    ['an empty delta', delta({}), true],
    ['no choice', { choices: [], prompt_filter_results: [] }, true],
    ['text', delta({ role: 'assistant', content: 'H' }), false],
    ['reasoning', delta({ content: null, reasoning_content: 'H' }), false],
    ['a call', delta({ tool_calls: [{ index: 0, id: 'call_1' }] }), false],
    ['a finish reason', { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, false],
  ] as const) {
    it(`is ${expected} of ${name}`, () => expect(isWithoutOutput(chunk)).to.equal(expected));
  }
});

describe('textPiecesOf', () => {
  const reasoning = (text: string) => ({ kind: 'reasoning', text });
  const text = (value: string) => ({ kind: 'text', text: value });
  const refusal = (value: string) => ({ kind: 'refusal', text: value });
  const cases: { name: string; delta: Record<string, unknown>; expected: object[] }[] = [
    { name: 'text', delta: { content: 'a' }, expected: [text('a')] },
    { name: 'empty text as nothing', delta: { content: '', reasoning: '', refusal: '' }, expected: [] },
    { name: 'null as nothing', delta: { content: null, reasoning_content: null, refusal: null }, expected: [] },
    {
      name: 'reasoning, text and refusal in this order',
      delta: { refusal: 'c', content: 'b', reasoning_content: 'a' },
      expected: [reasoning('a'), text('b'), refusal('c')],
    },
    { name: 'reasoning_content', delta: { reasoning_content: 'a' }, expected: [reasoning('a')] },
    { name: 'reasoning', delta: { reasoning: 'a' }, expected: [reasoning('a')] },
    { name: 'reasoning_text', delta: { reasoning_text: 'a' }, expected: [reasoning('a')] },
    { name: 'reasoning in an object', delta: { reasoning_content: { text: 'a' } }, expected: [reasoning('a')] },
    { name: 'nothing of a signature', delta: { reasoning_content: { signature: 'a' } }, expected: [] },
    {
      name: 'the same thought in three fields once',
      delta: { reasoning_content: 'a', reasoning: 'a', reasoning_details: [{ text: 'a' }] },
      expected: [reasoning('a')],
    },
    {
      name: 'the first field that says something',
      delta: { reasoning_content: '', reasoning: null, reasoning_details: [{ text: 'a' }] },
      expected: [reasoning('a')],
    },
    {
      name: 'reasoning_details, of which the encrypted say nothing',
      delta: {
        reasoning_details: [
          { type: 'reasoning.text', text: 'a' },
          { type: 'reasoning.encrypted', data: 'x' },
          { type: 'reasoning.summary', summary: 'b' },
          null,
          'c',
        ],
      },
      expected: [reasoning('ab')],
    },
    {
      name: 'text parts',
      delta: {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      expected: [text('a'), text('b')],
    },
    {
      name: 'thinking parts in their place',
      delta: {
        content: [
          { type: 'text', text: 'a' },
          { type: 'thinking', thinking: [{ text: 'b' }, { text: 'c' }, 'd'] },
          { type: 'thinking', thinking: 'e' },
        ],
      },
      expected: [text('a'), reasoning('bc'), reasoning('e')],
    },
    {
      name: 'reasoning parts in their place',
      delta: {
        content: [
          { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a', signature: '' }, { text: 'b' }, 'c'] },
          { type: 'text', text: 'd' },
          { type: 'reasoning', summary: null },
        ],
      },
      expected: [reasoning('ab'), text('d')],
    },
    { name: 'refusal parts', delta: { content: [{ type: 'refusal', refusal: 'a' }] }, expected: [refusal('a')] },
    {
      name: 'parts that say nothing',
      delta: {
        content: [
          { type: 'text', text: '' },
          { type: 'thinking', thinking: [] },
          null,
          'a',
          { type: 'reference', reference_ids: [1] },
        ],
      },
      expected: [],
    },
  ];
  for (const { name, delta, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(textPiecesOf(delta)).to.deep.equal(expected);
    });
  }

  for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content', 'reasoning_text', 'reasoning_details']) {
    it(`takes ${name} of a wrong type for absent`, () => {
      for (const wrong of WRONG.filter((value) => typeof value !== 'string')) {
        expect(textPiecesOf({ [name]: wrong }), JSON.stringify(wrong)).to.deep.equal([]);
      }
    });
  }
});

describe('thoughtsFormOf', () => {
  const cases: { delta: Record<string, unknown>; expected: string | undefined }[] = [
    {
      delta: { reasoning_content: 'a', reasoning: 'a', reasoning_details: [{ text: 'a' }] },
      expected: 'reasoning_content',
    },
    { delta: { reasoning_content: '', reasoning: 'a', reasoning_details: [{ text: 'a' }] }, expected: 'reasoning' },
    { delta: { reasoning: null, reasoning_details: [{ summary: 'a' }] }, expected: 'reasoning_details' },
    { delta: { reasoning_text: 'a', reasoning_details: [{ summary: 'a' }] }, expected: 'reasoning_text' },
    {
      delta: {
        content: [
          { type: 'text', text: 'a' },
          { type: 'thinking', thinking: [] },
        ],
      },
      expected: 'thinking-part',
    },
    { delta: { content: 'a', reasoning_details: [{ data: 'a' }] }, expected: undefined },
  ];
  for (const { delta, expected } of cases) {
    it(`is ${String(expected)} for ${JSON.stringify(delta)}`, () => {
      expect(thoughtsFormOf(delta)).to.equal(expected);
    });
  }
});

describe('messageStateOf', () => {
  it('reads what is attached to a message', () => {
    const lists = { reasoning_details: [{ a: 1 }, 'b'], thinking_blocks: [{}], reasoning_items: [{}] };
    const state = { extra_content: { google: {} }, ...lists, reasoning_opaque: 'a' };
    expect(messageStateOf({ role: 'assistant', content: 'Hi', ...state })).to.deep.equal(state);
  });

  for (const name of ['extra_content', 'reasoning_details', 'thinking_blocks', 'reasoning_items']) {
    it(`takes ${name} of a wrong type, or with nothing in it, for absent`, () => {
      const wrong = name === 'extra_content' ? WRONG.filter((value) => JSON.stringify(value) !== '{"a":1}') : WRONG;
      for (const value of wrong.filter((each) => name === 'extra_content' || JSON.stringify(each) !== '[1]')) {
        expect(messageStateOf({ [name]: value }), JSON.stringify(value)).to.deep.equal({});
      }
    });
  }

  it('takes reasoning_opaque of a wrong type, or with nothing in it, for absent', () => {
    for (const value of WRONG.filter((each) => each !== 'text')) {
      expect(messageStateOf({ reasoning_opaque: value }), JSON.stringify(value)).to.deep.equal({});
    }
  });

  it('reads of a call what can be attached to one', () => {
    const fields = { extra_content: { google: {} }, reasoning_details: [{ a: 1 }] };
    expect(callStateOf(fields)).to.deep.equal({ extra_content: { google: {} } });
  });
});

describe('callPiecesOf', () => {
  const piece = (fields: Partial<CallPiece>): CallPiece => ({
    choice: 0,
    index: undefined,
    id: '',
    name: '',
    arguments: '',
    ...fields,
  });
  const cases: { name: string; delta: Record<string, unknown>; expected: CallPiece[] }[] = [
    { name: 'no calls', delta: { tool_calls: null }, expected: [] },
    {
      name: 'a call',
      delta: { tool_calls: [{ index: 2, id: 'a', type: 'function', function: { name: 'look', arguments: '{' } }] },
      expected: [piece({ index: 2, id: 'a', name: 'look', arguments: '{' })],
    },
    {
      name: 'arguments alone',
      delta: { tool_calls: [{ index: 0, function: { arguments: '{' } }] },
      expected: [piece({ index: 0, arguments: '{' })],
    },
    {
      name: 'what is attached to a call, also alone',
      delta: { tool_calls: [{ extra_content: { google: {} } }] },
      expected: [piece({ extra_content: { google: {} } })],
    },
    { name: 'an id alone', delta: { tool_calls: [{ index: 0, id: 'a' }] }, expected: [piece({ index: 0, id: 'a' })] },
    {
      name: 'an empty piece as none',
      delta: { tool_calls: [{ index: 0, id: '', function: { name: '', arguments: '' } }] },
      expected: [],
    },
    {
      name: 'nulls as absent',
      delta: { tool_calls: [{ index: null, id: null, function: { name: 'look', arguments: null } }] },
      expected: [piece({ name: 'look' })],
    },
    {
      name: 'an object as its JSON',
      delta: { tool_calls: [{ function: { name: 'look', arguments: { x: [1] } } }] },
      expected: [piece({ name: 'look', arguments: '{"x":[1]}' })],
    },
    {
      name: 'an index in a string, and any other that is no number as absent',
      delta: {
        tool_calls: [
          { index: '0', id: 'a' },
          { index: 'x', id: 'b' },
        ],
      },
      expected: [piece({ index: 0, id: 'a' }), piece({ id: 'b' })],
    },
    {
      name: 'the old function_call, apart from all others',
      delta: { function_call: { name: 'look', arguments: '{}' } },
      expected: [piece({ index: -1, name: 'look', arguments: '{}' })],
    },
    { name: 'null in place of the old function_call', delta: { function_call: null, tool_calls: [] }, expected: [] },
    {
      name: 'what is no object as none',
      delta: { tool_calls: [null, 'a', 1, [], { function: 'look' }] },
      expected: [],
    },
  ];
  for (const { name, delta, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(callPiecesOf(delta)).to.deep.equal(expected);
    });
  }
});

describe('logprobsOf', () => {
  it('reads tokens with their alternatives', () => {
    const content = [
      { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [{ token: 'b', logprob: -1, bytes: null }] },
      { token: 'ö' },
      { token: 'c', logprob: JSON.parse('-1e999') as unknown },
    ];
    expect(logprobsOf({ logprobs: { content } }, 20)).to.deep.equal([
      { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [{ token: 'b', logprob: -1, bytes: [] }] },
      { token: 'ö', logprob: 0, bytes: [], top_logprobs: [] },
      { token: 'c', logprob: 0, bytes: [], top_logprobs: [] },
    ]);
  });

  for (const wrong of WRONG) {
    it(`takes ${JSON.stringify(wrong)} for none`, () => {
      expect(logprobsOf({ logprobs: wrong }, 20)).to.deep.equal([]);
      expect(logprobsOf({ logprobs: { content: wrong } }, 20).filter(({ token }) => token !== '')).to.deep.equal([]);
    });
  }
});

describe('citationsOf', () => {
  const citation = (fields: object) => ({
    type: 'url_citation',
    url: 'u',
    title: '',
    start_index: 0,
    end_index: 0,
    ...fields,
  });
  const cases: { name: string; annotations: unknown; expected: object[] }[] = [
    {
      name: 'a nested one',
      annotations: [{ type: 'url_citation', url_citation: { url: 'u', title: 't', start_index: 1, end_index: 2 } }],
      expected: [citation({ title: 't', start_index: 1, end_index: 2 })],
    },
    {
      name: 'a flat one',
      annotations: [{ type: 'url_citation', url: 'u', title: 't', start_index: 1, end_index: 2 }],
      expected: [citation({ title: 't', start_index: 1, end_index: 2 })],
    },
    { name: 'one without title and place', annotations: [{ url: 'u' }], expected: [citation({})] },
    {
      name: 'a place that is none',
      annotations: [{ url: 'u', start_index: -1, end_index: 1.5 }],
      expected: [citation({})],
    },
    {
      name: 'an end before its start',
      annotations: [{ url: 'u', start_index: 5, end_index: 2 }],
      expected: [citation({ start_index: 5, end_index: 5 })],
    },
    {
      name: 'none without an address',
      annotations: [{ type: 'file', file: {} }, { url: '' }, null, 'u', { url_citation: null }],
      expected: [],
    },
    { name: 'none of what is no list', annotations: { url: 'u' }, expected: [] },
  ];
  for (const { name, annotations, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(citationsOf({ annotations })).to.deep.equal(expected);
    });
  }
});

describe('sourcesOf', () => {
  const cases: { name: string; chunk: Record<string, unknown>; expected: unknown }[] = [
    { name: 'none', chunk: {}, expected: undefined },
    { name: 'an empty list as none', chunk: { citations: [], search_results: [] }, expected: undefined },
    {
      name: 'addresses',
      chunk: { citations: ['u', 'v'] },
      expected: [
        { url: 'u', title: '' },
        { url: 'v', title: '' },
      ],
    },
    {
      name: 'addresses with the titles of the search results',
      chunk: { citations: ['u'], search_results: [{ url: 'x', title: 't' }] },
      expected: [{ url: 'u', title: 't' }],
    },
    { name: 'objects', chunk: { citations: [{ url: 'u', title: 't' }] }, expected: [{ url: 'u', title: 't' }] },
    {
      name: 'search results alone',
      chunk: { search_results: [{ url: 'u', title: 't' }] },
      expected: [{ url: 'u', title: 't' }],
    },
    {
      name: 'what is neither as a source without address, which keeps the numbers right',
      chunk: { citations: [null, 'v'] },
      expected: [
        { url: '', title: '' },
        { url: 'v', title: '' },
      ],
    },
  ];
  for (const { name, chunk, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(sourcesOf(chunk)).to.deep.equal(expected);
    });
  }
});

describe('onlyWordsOf', () => {
  const words = (kind: string) => ({ kind, text: 'a' });
  const cases: { name: string; delta: Record<string, unknown>; expected: object | undefined }[] = [
    { name: 'text', delta: { content: 'a' }, expected: words('text') },
    { name: 'a thought', delta: { reasoning: 'a' }, expected: words('reasoning') },
    {
      name: 'a thought in its other field',
      delta: { reasoning_content: 'a', content: null },
      expected: words('reasoning'),
    },
    {
      name: 'text beside fields that say nothing',
      delta: { role: 'assistant', content: 'a', refusal: null, reasoning_content: '', tool_calls: [], audio: null },
      expected: words('text'),
    },
    ...['reasoning_content', 'reasoning', 'refusal', 'annotations', 'images', 'tool_calls', 'extra_content'].map(
      (name) => ({ name: `nothing beside ${name}`, delta: { content: 'a', [name]: ['b'] }, expected: undefined }),
    ),
    {
      name: 'nothing of a thought in two fields',
      delta: { reasoning: 'a', reasoning_content: 'a' },
      expected: undefined,
    },
    { name: 'nothing of parts', delta: { content: [{ type: 'text', text: 'a' }] }, expected: undefined },
    { name: 'nothing of a refusal', delta: { refusal: 'a' }, expected: undefined },
    { name: 'nothing where there are no words', delta: { role: 'assistant', content: '' }, expected: undefined },
  ];
  for (const { name, delta, expected } of cases) {
    it(`takes ${name}`, () => {
      expect(onlyWordsOf(delta)).to.deep.equal(expected);
    });
  }
});
