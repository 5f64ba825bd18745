import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  asksForCompaction,
  planCompaction,
  planCompactionOnTheWay,
  type CompactionOptions,
} from '../../../src/core/compaction/compaction.ts';
import { toContext, toPrompt } from '../../../src/core/compaction/prompt.ts';
import { DIALECTS, type DialectName } from '../../../src/core/dialects.ts';
import { createModels } from '../../../src/core/models.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { toChatRequest } from '../../../src/core/request/request.ts';
import type { CreateResponse, InputItem } from '../../../src/contract/types.ts';
import { findComplaints } from '../../clients/complaints.ts';
import { runs } from '../../support/property.ts';
import { expectLonger } from '../../support/chat-prefix.ts';

/** A seal that shows what is in it. */
const sealed = (summary: string): InputItem => ({ type: 'compaction', encrypted_content: `sealed:${summary}` });
const OPTIONS: CompactionOptions = {
  // The strict backends here take no thoughts.
  dialect: { ...DIALECTS.generic, reasoningField: null },
  modelAliases: new Map([['alias', 'own-name']]),
  hostedTools: 'drop',
  upstreamDialect: 'generic',
  openCompaction: (text) => (text.startsWith('sealed:') ? text.slice('sealed:'.length) : undefined),
  compactionModel: null,
  compactionMaxOutputTokens: 900,
  models: { present: null },
};
const AS_GIVEN: CompactionOptions = { ...OPTIONS, dialect: DIALECTS.openai };

const user = (content: string): InputItem => ({ type: 'message', role: 'user', content });
const model = (content: string): InputItem => ({ type: 'message', role: 'assistant', content });
const look: InputItem = { type: 'function_call', call_id: 'call_1', name: 'look', namespace: 'eyes', arguments: '{}' };
const seen: InputItem = { type: 'function_call_output', call_id: 'call_1', output: 'a cat' };
const TRIGGER: InputItem = { type: 'compaction_trigger' };

const REQUEST: CreateResponse & { readonly input: InputItem[] } = {
  model: 'alias',
  instructions: 'Be kind.',
  input: [user('What is there?'), look, seen, model('A cat.'), TRIGGER],
  tools: [{ type: 'namespace', name: 'eyes', tools: [{ type: 'function', name: 'look' }] }],
  tool_choice: 'required',
  parallel_tool_calls: true,
  max_tool_calls: 1,
  text: { format: { type: 'json_object' }, verbosity: 'low' },
  reasoning: { effort: 'high' },
  temperature: 0,
  max_output_tokens: 5,
  top_logprobs: 2,
  user: 'u1',
};

const rolesOf = (messages: readonly { role: string }[]) => messages.map(({ role }) => role);

describe('a request', () => {
  for (const { name, input, asks } of [
    { name: 'that ends with a trigger', input: [user('Hi'), TRIGGER], asks: true },
    { name: 'with none', input: [user('Hi')], asks: false },
    { name: 'of a text', input: 'Hi', asks: false },
  ]) {
    it(`${name} ${asks ? 'asks' : 'does not ask'} for a compaction`, () => {
      expect(asksForCompaction({ input })).to.equal(asks);
    });
  }
});

describe('the request for a summary', () => {
  it('is the conversation and a prompt, with nothing that may be called and nothing of the form of an answer', () => {
    const { chat, resume } = planCompaction(REQUEST, AS_GIVEN);
    expect(resume).to.equal(undefined);
    const { messages, ...fields } = chat;
    expect(rolesOf(messages)).to.deep.equal(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
    expect(messages.at(-1)).to.deep.equal({ role: 'user', content: toPrompt(900) });
    expect(messages[2]).to.have.nested.property('tool_calls[0].function.name', 'eyes__look');
    expect(fields).to.deep.equal({
      model: 'own-name',
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
      max_completion_tokens: 900,
      reasoning_effort: 'high',
      user: 'u1',
      tools: toChatRequest(REQUEST, AS_GIVEN).chat.tools,
      tool_choice: 'none',
    });
  });

  for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
    const isHeld = DIALECTS[dialect].toolChoice === 'named' || DIALECTS[dialect].toolChoice === 'allowed';
    it(`has the prefix of the turn before for ${dialect}, ${isHeld ? 'the tools too' : 'and no tools'}`, () => {
      const options = { ...OPTIONS, dialect: DIALECTS[dialect] };
      const { tools, ...turn } = toChatRequest({ ...REQUEST, input: REQUEST.input.slice(0, -2) }, options).chat;
      const { chat } = planCompaction(REQUEST, options);
      expectLonger(chat, isHeld && tools !== undefined ? { ...turn, tools } : turn, dialect);
      if (!isHeld) expect(chat).not.to.have.any.keys('tools', 'tool_choice', 'parallel_tool_calls');
    });
  }

  it('has no tools where another model writes', () => {
    const { chat } = planCompaction(REQUEST, { ...AS_GIVEN, compactionModel: 'small' });
    expect(chat).not.to.have.any.keys('tools', 'tool_choice', 'parallel_tool_calls');
  });

  it('goes to a model of its own where the operator has set one, without the efforts of the other', () => {
    const { chat } = planCompaction(REQUEST, { ...AS_GIVEN, compactionModel: 'small' });
    expect(chat.model).to.equal('small');
    expect(chat).not.to.have.property('reasoning_effort');
    expect(planCompaction(REQUEST, { ...AS_GIVEN, compactionModel: 'alias' }).chat.model).to.equal('own-name');
  });

  it('is asked for as the operator wants its model to be asked, with its own limit', () => {
    const settings = { defaults: { temperature: 0.6, max_output_tokens: 5 }, overrides: { max_output_tokens: 9 } };
    const models = createModels({ models: { small: settings, alias: { defaults: { temperature: 2 } } } });
    const { chat } = planCompaction(REQUEST, { ...AS_GIVEN, compactionModel: 'small', models: { present: models } });
    expect(chat).to.include({ temperature: 0.6, max_completion_tokens: 900 });
  });

  it('asks for no more words than there is room for', () => {
    expect(toPrompt(900)).to.match(/at most 300 words/);
    expect(toPrompt(16)).to.match(/at most 50 words/);
  });

  it('has the summary of an earlier compaction in it', () => {
    const input = [user('One'), model('gone'), sealed('EARLIER'), model('since'), TRIGGER];
    const { messages } = planCompaction({ model: 'm', input }, AS_GIVEN).chat;
    expect(messages.slice(0, -1)).to.deep.equal([
      { role: 'user', content: 'One' },
      { role: 'user', content: toContext('EARLIER') },
      { role: 'assistant', content: 'since' },
    ]);
  });
});

describe('a compaction on the way', () => {
  it('leaves the state of the current turn on its calls, wherever its item is', () => {
    const attached = { extra_content: { google: { thought_signature: 'signed' } } };
    const state = {
      version: 1,
      dialect: 'generic',
      model: 'm',
      reply: 'r',
      thoughts: '',
      thoughts_form: null,
      message: {},
      calls: [{ call_id: 'call_1', ...attached }],
    };
    const item: InputItem = { type: 'reasoning', summary: [], encrypted_content: JSON.stringify(state) };
    const broken: InputItem = { type: 'reasoning', summary: [], encrypted_content: 'damaged' };
    const options = { ...OPTIONS, openSeal: (text: string) => (text === 'damaged' ? undefined : text) };
    const before = [user('One'), model('Yes?'), broken, user('Go on')];
    for (const turn of [
      [item, look, seen],
      [look, item, seen],
      [look, seen, item],
    ]) {
      const request = { ...REQUEST, model: 'm', input: [...before, ...turn] };
      const resumed = planCompactionOnTheWay(request, 10, options)?.resume?.('sealed:SUMMARY');
      if (resumed === undefined) throw new Error('there is a plan to go on');
      const { messages } = toChatRequest(resumed, options).chat;
      expect(rolesOf(messages), turn.map(({ type }) => type).join()).to.deep.equal([
        'system',
        'user',
        'assistant',
        'tool',
      ]);
      expect(messages[2]).to.have.nested.property('tool_calls[0]').that.deep.includes(attached);
    }
  });

  const LONG: InputItem[] = [user('One'), look, seen, model('A cat.'), user('Two'), model('Yes?'), user('Go on')];

  it('sums up all of the input, and goes on with the summary and the current turn', () => {
    const request = { ...REQUEST, input: LONG, context_management: [{ type: 'compaction', compact_threshold: 10 }] };
    const plan = planCompactionOnTheWay(request, 10, AS_GIVEN);
    expect(rolesOf(plan?.chat.messages ?? [])).to.deep.equal([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
      'user',
      'user',
    ]);
    const resumed = plan?.resume?.('sealed:SUMMARY');
    if (resumed === undefined) throw new Error('there is a plan to go on');
    expect(resumed).to.deep.equal({
      ...request,
      input: [...LONG.slice(0, 5), sealed('SUMMARY'), ...LONG.slice(5)],
    });
    const { messages, tools } = toChatRequest(resumed, AS_GIVEN).chat;
    expect(messages).to.deep.equal([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'One' },
      { role: 'user', content: 'Two' },
      { role: 'user', content: toContext('SUMMARY') },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: 'Go on' },
    ]);
    expect(tools).to.have.length(1);
  });

  it('keeps of the messages of the user what a quarter of the threshold holds', () => {
    const input = [user('x'.repeat(600)), user('y'.repeat(600)), model('a'), user('z'), model('b'), user('Go on')];
    const request = { model: 'm', input, context_management: [{ type: 'compaction', compact_threshold: 1000 }] };
    const plan = planCompactionOnTheWay(request, 1000, AS_GIVEN);
    const { messages } = toChatRequest(plan?.resume?.('sealed:S') ?? request, AS_GIVEN).chat;
    expect(JSON.stringify(messages)).to.include('yyy').and.to.include('"z"').and.not.to.include('xxx');
  });

  for (const { name, input } of [
    { name: 'of a text', input: 'x'.repeat(1000) },
    { name: 'of the first turn', input: [user('x'.repeat(1000))] },
    { name: 'right after another', input: [user('One'), model('A'), sealed('S'), model('B'), user('Go on')] },
  ]) {
    it(`is of no use ${name}`, () => {
      expect(planCompactionOnTheWay({ model: 'm', input }, 1, AS_GIVEN)).to.equal(undefined);
    });
  }
});

describe('a compaction in an input', () => {
  const request = (...input: InputItem[]): CreateResponse => ({ model: 'm', input });

  it('is told by the user, between what he had said before and what came since', () => {
    const { messages } = toChatRequest(request(user('One'), sealed('S'), model('A'), user('Two')), OPTIONS).chat;
    expect(messages).to.deep.equal([
      { role: 'user', content: `One\n\n${toContext('S')}` },
      { role: 'assistant', content: 'A' },
      { role: 'user', content: 'Two' },
    ]);
  });

  it('takes the place of an earlier one, which need not be readable any more', () => {
    const foreign: InputItem = { type: 'compaction', encrypted_content: 'foreign' };
    const { messages } = toChatRequest(request(foreign, user('One'), sealed('S')), AS_GIVEN).chat;
    expect(messages).to.deep.equal([
      { role: 'user', content: 'One' },
      { role: 'user', content: toContext('S') },
    ]);
  });

  it('leaves out images and calls that stand before it, and what is wrong with them', () => {
    const input = [
      { type: 'item_reference', id: 'msg_1' } as const,
      { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:,a' }] } as const,
      look,
      seen,
      sealed('S'),
    ] as InputItem[];
    const { messages } = toChatRequest(request(...input), AS_GIVEN).chat;
    expect(rolesOf(messages)).to.deep.equal(['user', 'user']);
  });

  for (const { name, options } of [
    { name: 'of somebody else', options: AS_GIVEN },
    { name: 'where nothing can be opened', options: { ...AS_GIVEN, openCompaction: () => undefined } },
  ]) {
    it(`${name} is told as one sentence in its place, named, and replaces nothing`, () => {
      const foreign: InputItem = { type: 'compaction', encrypted_content: 'foreign' };
      const input = [user('Hi'), model('Yes?'), foreign, user('Go on.')];
      const { chat, droppedItems } = toChatRequest(request(...input), options);
      expect(chat.messages).to.deep.equal([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Yes?' },
        {
          role: 'user',
          content: '[An earlier part of this conversation was compacted elsewhere and cannot be read here.]',
        },
        { role: 'user', content: 'Go on.' },
      ]);
      expect(droppedItems).to.deep.equal(['compaction']);
    });
  }

  it('of somebody else is refused where the operator lets nothing be left out', () => {
    const foreign: InputItem = { type: 'compaction', encrypted_content: 'foreign' };
    expect(() => toChatRequest(request(user('Hi'), foreign), { ...OPTIONS, history: 'reject' }))
      .to.throw(ApiError, /input\[1\] holds "compaction"/)
      .with.property('param', 'input[1]');
  });
});

describe('whatever the history', () => {
  const anyItem = fc.constantFrom<InputItem>(
    user('words'),
    model('words'),
    { type: 'message', role: 'developer', content: 'words' },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
    look,
    seen,
    { ...seen, call_id: 'of no call' },
    sealed('S'),
  );
  const anyInput = fc.array(anyItem, { minLength: 1, maxLength: 12 }).map(withOwnCallIds);

  /** An output is that of the latest call, if there is one without. */
  function withOwnCallIds(items: InputItem[]): InputItem[] {
    let waiting: string | undefined;
    return items.map((item, index) => {
      if (item.type === 'function_call') return { ...item, call_id: (waiting = `call_${index}`) };
      if (item.type !== 'function_call_output' || item.call_id !== 'call_1') return item;
      const callId = waiting ?? 'of no call';
      waiting = undefined;
      return { ...item, call_id: callId };
    });
  }

  it('strict backends take the request for a summary', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { chat } = planCompaction({ model: 'm', input: [...input, TRIGGER] }, OPTIONS);
        expect(findComplaints(JSON.parse(JSON.stringify(chat)))).to.deep.equal([]);
        expect(chat.messages.at(-1)?.content).to.be.a('string').that.includes('[The conversation ends here.');
      }),
      runs(2000),
    );
  });

  it('strict backends take what goes on after it, which is shorter than what there was', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planCompactionOnTheWay({ model: 'm', input }, 1, OPTIONS);
        const resumed = plan?.resume?.('sealed:NEW');
        if (resumed === undefined) return;
        const { messages } = toChatRequest(resumed, OPTIONS).chat;
        expect(findComplaints({ model: 'm', messages })).to.deep.equal([]);
        expect(JSON.stringify(messages)).to.include('NEW').and.not.to.include('S\\n');
        // Done once, it is not to be done again at once.
        expect(planCompactionOnTheWay(resumed, 1, OPTIONS)).to.equal(undefined);
      }),
      runs(2000),
    );
  });
});
