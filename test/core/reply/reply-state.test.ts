import { expect } from 'chai';
import type { ChatChunk } from '../../../src/core/chat.ts';
import { readReplyState, type ReplyState } from '../../../src/core/reply/reply-state.ts';
import type { CreateResponse, InputItem, OutputItem } from '../../../src/contract/types.ts';
import { askedOf, goOn } from '../../support/conversation.ts';
import { chunkOf, translate, type MachineSettings } from '../../support/machine.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

const REQUEST: CreateResponse = {
  model: 'm',
  input: 'What is the weather?',
  tools: [{ type: 'function', name: 'look' }],
};
const ASKED: CreateResponse = { ...REQUEST, include: ['reasoning.encrypted_content'] };
const SIGNED = { google: { thought_signature: 'c2lnbmVk' } };
const ITEM = { type: 'reasoning', id: 'rs_1', encrypted_content: 'gAAAA', summary: [] };

const call = (fields: object = {}) => ({
  id: 'a',
  type: 'function',
  function: { name: 'look', arguments: '{}' },
  ...fields,
});

function read(deltas: readonly object[], request = REQUEST, settings: MachineSettings = {}): OutputItem[] {
  const chunks: ChatChunk[] = [...deltas.map((delta) => chunkOf(delta)), chunkOf({}, 'stop')];
  const response = expectWellFormed(translate({ chunks, done: true }, request, settings));
  return response.output;
}

/** What is sealed in each reasoning item; undefined where nothing is. */
function statesIn(output: readonly OutputItem[]): (ReplyState | undefined)[] {
  return output.flatMap((item) => (item.type === 'reasoning' ? [readReplyState(item.encrypted_content ?? '')] : []));
}

/** The assistant's message as the backend is told it in the next request. */
function told(output: readonly OutputItem[], request = REQUEST, settings: MachineSettings = {}): object | undefined {
  const { messages } = askedOf(goOn(request, output), settings);
  return messages.find(({ role }) => role === 'assistant');
}

describe('the state of a reply', () => {
  describe('is sealed', () => {
    const cases: {
      name: string;
      deltas: object[];
      request?: CreateResponse;
      settings?: MachineSettings;
      seals: boolean[];
    }[] = [
      { name: 'never for text alone', deltas: [{ content: 'Hi' }], request: ASKED, seals: [] },
      {
        name: 'not for thoughts that are shown',
        deltas: [{ reasoning_content: 'Hm' }, { content: 'Hi' }],
        seals: [false],
      },
      {
        name: 'for thoughts that are shown, where the caller asks for it',
        deltas: [{ reasoning_content: 'Hm' }, { content: 'Hi' }],
        request: ASKED,
        seals: [true],
      },
      {
        name: 'for hidden thoughts',
        deltas: [{ reasoning_content: 'Hm' }, { content: 'Hi' }],
        settings: { reasoningOutput: 'hidden' },
        seals: [true],
      },
      {
        name: 'not for a hidden think block which the backend does not take back',
        deltas: [{ content: '<think>Hm</think>Hi' }],
        settings: { reasoningOutput: 'hidden', dialect: 'together' },
        seals: [],
      },
      {
        name: 'for thoughts in another field than that of the dialect',
        deltas: [{ reasoning: 'Hm' }, { content: 'Hi' }],
        seals: [true],
      },
      {
        name: 'not for thoughts in the field of the dialect',
        deltas: [{ reasoning: 'Hm' }, { content: 'Hi' }],
        settings: { dialect: 'groq' },
        seals: [false],
      },
      {
        name: 'not for a think block',
        deltas: [{ content: '<think>Hm</think>Hi' }],
        settings: { dialect: 'vllm' },
        seals: [false],
      },
      { name: 'for a signed call', deltas: [{ tool_calls: [call({ extra_content: SIGNED })] }], seals: [true] },
      { name: 'for a signed text', deltas: [{ content: 'Hi', extra_content: SIGNED }], seals: [true] },
      {
        name: 'once for signed thoughts',
        deltas: [
          { reasoning_content: 'Hm', thinking_blocks: [{ type: 'thinking', thinking: 'Hm' }] },
          { content: 'Hi' },
        ],
        seals: [true],
      },
      {
        name: 'for sealed thoughts of LiteLLM',
        deltas: [{ content: 'Hi' }, { reasoning_items: [ITEM] }],
        seals: [true],
      },
      {
        name: 'for thoughts of Copilot',
        deltas: [{ reasoning_text: 'Hm' }, { reasoning_opaque: 'c2VhbGVk' }, { content: 'Hi' }],
        seals: [true],
      },
      {
        name: 'after the call where the thoughts are shown in clear',
        deltas: [{ reasoning_content: 'Hm' }, { tool_calls: [call({ extra_content: SIGNED })] }],
        seals: [false, true],
      },
    ];
    for (const { name, deltas, request, settings, seals } of cases) {
      it(name, () => {
        const states = statesIn(read(deltas, request, settings));
        expect(states.map((state) => state !== undefined)).to.deep.equal(seals);
      });
    }

    it('with all thoughts of the reply in the last of several items', () => {
      const output = read([{ reasoning_content: 'One ' }, { content: 'Hi' }, { reasoning_content: 'two' }], ASKED);
      expect(statesIn(output).map((state) => state?.thoughts)).to.deep.equal(['One ', 'One two']);
      expect(told(output)).to.deep.equal({ role: 'assistant', content: 'Hi', reasoning_content: 'One two' });
    });
  });

  describe('goes back', () => {
    const signedCall = [{ reasoning_content: 'Hm' }, { tool_calls: [call({ extra_content: SIGNED })] }];

    it('as items of LiteLLM, each by itself', () => {
      const items = [ITEM, { ...ITEM, id: 'rs_2' }];
      const output = read([{ content: 'Hi' }, ...items.map((item) => ({ content: '', reasoning_items: [item] }))]);
      expect(told(output)).to.deep.equal({ role: 'assistant', content: 'Hi', reasoning_items: items });
    });

    it('as thoughts of Copilot and their signature', () => {
      const output = read([{ reasoning_text: 'Hm' }, { tool_calls: [call()] }, { reasoning_opaque: 'c2VhbGVk' }]);
      expect(told(output)).to.deep.equal({
        role: 'assistant',
        content: null,
        reasoning_text: 'Hm',
        reasoning_opaque: 'c2VhbGVk',
        tool_calls: [call()],
      });
    });

    it('on its call alone', () => {
      const output = read([
        {
          tool_calls: [
            { index: 0, ...call() },
            { index: 1, ...call({ id: 'b', extra_content: SIGNED }) },
          ],
        },
      ]);
      expect(told(output)).to.have.deep.property('tool_calls', [call(), call({ id: 'b', extra_content: SIGNED })]);
    });

    it('on a call without an id of its own', () => {
      const output = read([{ tool_calls: [call({ id: '', extra_content: SIGNED })] }]);
      expect(told(output)).to.have.nested.property('tool_calls[0].extra_content').that.deep.equals(SIGNED);
    });

    it('put together where a stream has told of it in pieces', () => {
      const output = read([
        { content: 'H', extra_content: { google: { thought: true } } },
        { content: 'i', extra_content: { google: { thought_signature: 'old' }, vertex: 1 } },
        { content: '', extra_content: { google: { thought_signature: 'new' } } },
      ]);
      expect(told(output)).to.have.deep.property('extra_content', {
        google: { thought: true, thought_signature: 'new' },
        vertex: 1,
      });
    });

    it('under any name that a provider has', () => {
      const extra = JSON.parse('{"__proto__": {"constructor": 1}, "toString": {"__proto__": "x"}}') as object;
      const output = read([{ content: 'Hi', extra_content: extra }]);
      expect(JSON.stringify(told(output))).to.include(`"extra_content":${JSON.stringify(extra)}`);
    });

    it('as the details came in a list of one chunk, however alike they are', () => {
      const details = [{ type: 'reasoning.text', text: 'One' }, { type: 'reasoning.text', text: 'Two' }, 'three', null];
      const output = read([{ content: 'Hi', reasoning_details: details }]);
      expect(told(output)).to.deep.equal({ role: 'assistant', content: 'Hi', reasoning_details: details });
    });

    it('instead of the plain thoughts that the client replays beside it', () => {
      const told1 = {
        role: 'assistant',
        content: null,
        reasoning_content: 'Hm',
        tool_calls: [call({ extra_content: SIGNED })],
      };
      expect(told(read(signedCall))).to.deep.equal(told1);
      expect(told(read(signedCall, ASKED))).to.deep.equal(told1);
    });

    it('to its call, wherever the client puts the item', () => {
      const [thoughts, called, state] = read(signedCall) as unknown as InputItem[];
      const user: InputItem = { type: 'message', role: 'user', content: 'Go on.' };
      const output: InputItem = { type: 'function_call_output', call_id: 'a', output: 'rain' };
      const orders = [
        [state, thoughts, called, output, user],
        [called, state, output, user],
        [called, output, state, user],
        [called, output, user, state],
        [state, user, called, output],
      ];
      for (const order of orders) {
        const input = order.filter((item) => item !== undefined);
        const { messages } = askedOf({ ...REQUEST, input });
        const spoken = messages.filter(({ role }) => role === 'assistant');
        expect(spoken, order.map((item) => item?.type).join()).to.deep.equal([
          { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: [call({ extra_content: SIGNED })] },
        ]);
      }
    });

    it('to the nearest turn where a call id is there twice', () => {
      const [called, state] = read([{ tool_calls: [call({ extra_content: SIGNED })] }]) as unknown as InputItem[];
      const output: InputItem = { type: 'function_call_output', call_id: 'a', output: 'rain' };
      const input = [called, output, called, output, state].filter((item) => item !== undefined);
      const { messages } = askedOf({ ...REQUEST, input });
      const spoken = messages.flatMap((message) => (message.role === 'assistant' ? [message.tool_calls?.[0]] : []));
      expect(spoken).to.deep.equal([call(), call({ extra_content: SIGNED })]);
    });

    it('with the ids that the backend has made, where it takes only short ones of others', () => {
      const id = `tool_${'x'.repeat(60)}`;
      const details = [{ type: 'reasoning.encrypted', data: 'AAAA', id }];
      const settings = { dialect: 'openrouter' } as const;
      const output = read([{ tool_calls: [call({ id })], reasoning_details: details }], REQUEST, settings);
      expect(told(output, REQUEST, settings)).to.include.deep.property('tool_calls', [call({ id })]);
      const calls = output.filter(({ type }) => type === 'function_call');
      expect(told(calls, REQUEST, settings))
        .to.have.nested.property('tool_calls[0].id')
        .that.has.length.below(41);
    });

    it('to no other model', () => {
      const output = read(signedCall);
      const plain = { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: [call()] };
      expect(told(output, { ...REQUEST, model: 'other' })).to.deep.equal(plain);
    });

    it('to no other kind of backend', () => {
      const output = read(signedCall);
      const plain = { role: 'assistant', content: null, reasoning: 'Hm', tool_calls: [call()] };
      expect(told(output, REQUEST, { dialect: 'openrouter' })).to.deep.equal(plain);
    });

    for (const dialect of ['azure', 'openai', 'together'] as const) {
      it(`as thoughts in the field in which they came to ${dialect}, and those of others not at all`, () => {
        const output = read([{ reasoning_content: 'Hm' }, { content: 'Hi' }], REQUEST, { dialect });
        const plain = { role: 'assistant', content: 'Hi' };
        expect(told(output, REQUEST, { dialect })).to.deep.equal({ ...plain, reasoning_content: 'Hm' });
        expect(told(output, { ...REQUEST, model: 'other' }, { dialect })).to.deep.equal(plain);
      });
    }

    it('as the signatures that LiteLLM has on a message and on its first call', () => {
      const own = (fields: object) => ({ provider_specific_fields: fields });
      const output = read([
        { content: 'H', ...own({ thought_signatures: ['one'], citations: [] }) },
        { content: 'i', ...own({ thought_signatures: ['two'] }) },
        { tool_calls: [{ index: 0, ...call(own({ thought_signature: 'three' })) }] },
        { tool_calls: [{ index: 1, ...call({ id: 'b', ...own({ other: 1 }) }) }] },
      ]);
      expect(told(output)).to.deep.equal({
        role: 'assistant',
        content: 'Hi',
        ...own({ thought_signatures: ['one', 'two'] }),
        tool_calls: [call(own({ thought_signature: 'three' })), call({ id: 'b' })],
      });
    });

    it('as the thoughts alone where these were sealed before there were states', () => {
      const item: InputItem = { type: 'reasoning', summary: [], encrypted_content: 'Old thoughts.' };
      const input: InputItem[] = [item, { type: 'message', role: 'assistant', content: 'Hi' }];
      expect(askedOf({ ...REQUEST, input }).messages).to.deep.equal([
        { role: 'assistant', content: 'Hi', reasoning_content: 'Old thoughts.' },
      ]);
    });
  });

  it('fails the reply when there is no end of it', () => {
    const piece = chunkOf({ reasoning_details: [{ type: 'reasoning.text', text: 'x'.repeat(1024 * 1024) }] });
    const events = translate({ chunks: Array.from({ length: 33 }, () => piece), done: true }, REQUEST);
    expect(expectWellFormed(events)).to.have.nested.property('error.code', 'upstream_invalid_response');
  });

  it('may have as many pieces at once as a chunk can hold', () => {
    const details = Array.from({ length: 300_000 }, () => 1);
    const output = read([{ content: 'Hi', reasoning_details: details }]);
    expect(statesIn(output)[0]?.message.reasoning_details).to.have.length(details.length);
  });

  it('may come in very many short lists', () => {
    const piece = chunkOf({ provider_specific_fields: { thought_signatures: ['x'] } });
    const chunks = [chunkOf({ content: 'Hi' }), ...Array.from({ length: 100_000 }, () => piece), chunkOf({}, 'stop')];
    const { output } = expectWellFormed(translate({ chunks, done: true }, REQUEST));
    const { provider_specific_fields: own } = statesIn(output)[0]?.message ?? {};
    expect(own?.['thought_signatures']).to.have.length(100_000);
  });

  it('fails the reply when it is nested too deeply to be written', () => {
    let extra: object = {};
    for (let depth = 0; depth < 100_000; depth += 1) extra = { extra };
    for (const delta of [{ content: 'Hi', extra_content: extra }, { tool_calls: [call({ extra_content: extra })] }]) {
      const events = translate({ chunks: [chunkOf(delta)], done: true }, REQUEST);
      expect(expectWellFormed(events)).to.have.nested.property('error.code', 'upstream_invalid_response');
    }
  });

  it('is left out when it is too long to be sealed', () => {
    const deltas = [{ content: 'Hi', extra_content: SIGNED }];
    const types = (settings: MachineSettings) => read(deltas, REQUEST, settings).map(({ type }) => type);
    let leftOut = 0;
    const onLeftOut = () => void (leftOut += 1);
    expect(types({ onLeftOut })).to.deep.equal(['message', 'reasoning']);
    expect(leftOut).to.equal(0);
    expect(types({ onLeftOut, maxSealedLength: 10 })).to.deep.equal(['message']);
    expect(leftOut).to.equal(1);
  });

  it('is written no more after it was too long', () => {
    let written = 0;
    const counted = { toJSON: () => (written += 1) };
    const timesWritten = (thoughts: number): number => {
      written = 0;
      const content = Array.from({ length: thoughts }, () => [
        { type: 'thinking', thinking: 'Hm' },
        { type: 'text', text: 'Hi' },
      ]).flat();
      const chunks = [chunkOf({ reasoning_details: [{ counted }], content }, 'stop')];
      translate({ chunks, done: true }, REQUEST, { maxSealedLength: 10 });
      return written;
    };
    expect(timesWritten(60)).to.equal(timesWritten(1));
  });

  it('is left out when the reply has no room for it', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x'.repeat(5 * 1024 * 1024) }];
    const chunks = [chunkOf({ content: 'Hi', reasoning_details: details }, 'stop')];
    const { status, output } = expectWellFormed(translate({ chunks, done: true }, REQUEST));
    expect([status, ...output.map(({ type }) => type)]).to.deep.equal(['completed', 'message']);
  });
});

describe('readReplyState', () => {
  const state: ReplyState = {
    dialect: 'generic',
    model: 'm',
    reply: 'r',
    thoughts: 'Hm',
    thoughtsForm: 'reasoning',
    message: { extra_content: SIGNED },
    calls: [{ call_id: 'a', extra_content: SIGNED }, { call_id: 'b' }],
  };
  const { thoughtsForm, ...rest } = state;
  const written = { version: 1, ...rest, thoughts_form: thoughtsForm };

  it('reads what was written', () => {
    expect(readReplyState(JSON.stringify(written))).to.deep.equal(state);
  });

  it('takes over no field that it does not know', () => {
    const message = { ...state.message, role: 'system', reasoning_details: 'none' };
    const calls = [{ ...state.calls[0], function: {} }, state.calls[1], 'c'];
    expect(readReplyState(JSON.stringify({ ...written, message, calls, more: 1 }))).to.deep.equal(state);
  });

  const others: Record<string, string> = {
    'no text': '',
    thoughts: 'Let me see.',
    'thoughts about JSON': '{"version": 1}',
    'a list': '[1]',
    null: 'null',
    'a later version': JSON.stringify({ ...written, version: 2 }),
    ...Object.fromEntries(
      ['dialect', 'model', 'reply', 'thoughts', 'message', 'calls'].map((name) => [
        `one whose ${name} is a number`,
        JSON.stringify({ ...written, [name]: 1 }),
      ]),
    ),
  };
  for (const [name, text] of Object.entries(others)) {
    it(`takes ${name} for no state`, () => {
      expect(readReplyState(text)).to.equal(undefined);
    });
  }
});
