import { expect } from 'chai';
import { toUniquePart } from '../../../src/core/ids.ts';
import {
  compactThresholdOf,
  currentTurnOf,
  inForceOf,
  keptLengthFor,
  keptMessages,
  leavesOut,
} from '../../../src/core/request/kept-input.ts';
import type { InputItem, InputMessage, InputPart } from '../../../src/contract/types.ts';

const UNIQUE = toUniquePart('0123456789abcdef0123456789abcdef');
const PLENTY = 64 * 1024;

const says = (role: InputMessage['role'], content: string | InputPart[]): InputItem => ({
  type: 'message',
  role,
  content,
});
const user = (content: string | InputPart[] = 'u') => says('user', content);
const model = says('assistant', 'a');
const developer = says('developer', 'd');
const thought: InputItem = { type: 'reasoning', summary: [] };
const call: InputItem = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const output: InputItem = { type: 'function_call_output', call_id: 'c', output: 'o' };
const tools: InputItem = { type: 'additional_tools', tools: [] };
const compaction: InputItem = { type: 'compaction', encrypted_content: 's' };
const update: InputItem = { type: 'configuration_update', reasoning: { effort: 'low' } };
const foreign = { type: 'mcp_list_tools' } as unknown as InputItem;
const image: InputPart = { type: 'input_image', image_url: 'https://example.com/a.png' };

const indexesOf = (items: readonly InputItem[], isIn: (index: number) => boolean) =>
  items.map((_, index) => index).filter(isIn);

describe('what is told of an input', () => {
  const cases: { name: string; items: InputItem[]; room?: number; told: number[] }[] = [
    { name: 'is all of it without a compaction', items: [user(), thought, call, output, model], told: [0, 1, 2, 3, 4] },
    {
      name: 'is, before a compaction, what the user and the instructions say',
      items: [developer, user(), thought, call, output, model, says('system', 's'), tools, compaction, user(), model],
      told: [0, 1, 6, 8, 9, 10],
    },
    {
      name: 'is of two compactions the later one',
      items: [user(), compaction, model, user(), compaction, model],
      told: [0, 3, 4, 5],
    },
    {
      name: 'is of the messages of the user the latest, as far as there is room',
      items: [user('123'), user('1234'), model, user('12345'), compaction],
      room: 9,
      told: [1, 3, 4],
    },
    {
      name: 'is nothing older than a message for which there is no room',
      items: [user('1'), user('12345'), user('1234'), compaction],
      room: 8,
      told: [2, 3],
    },
    {
      name: 'is every instruction, however little room there is',
      items: [says('developer', 'x'.repeat(100)), user('12'), compaction],
      room: 1,
      told: [0, 2],
    },
    {
      name: 'counts an image as some text',
      items: [user([{ type: 'input_text', text: '1' }, image]), user('1'), compaction],
      room: 4 * 1024 + 1,
      told: [1, 2],
    },
  ];
  for (const { name, items, room = PLENTY, told } of cases) {
    it(name, () => {
      expect(
        indexesOf(
          items,
          inForceOf(items, room, () => ''),
        ),
      ).to.deep.equal(told);
    });
  }
});

describe('the current turn', () => {
  const cases: { name: string; items: InputItem[]; start: number }[] = [
    { name: 'is a question with what it is about', items: [user(), model, user(), thought, model, user()], start: 3 },
    {
      name: 'is calls with their outputs',
      items: [user(), call, output, thought, call, call, output, output],
      start: 3,
    },
    {
      name: 'is calls with their outputs, where thoughts follow these',
      items: [user(), model, user(), call, output, thought],
      start: 3,
    },
    { name: 'is what the model was saying', items: [user(), call, output, model], start: 3 },
    { name: 'is all there is of a first question', items: [developer, user()], start: 0 },
    { name: 'does not reach over a compaction', items: [user(), model, compaction, user()], start: 3 },
    {
      name: 'reaches over what says nothing',
      items: [user(), thought, foreign, call, update, tools, foreign, output, foreign],
      start: 1,
    },
    { name: 'is nothing right behind a compaction', items: [user(), compaction], start: 2 },
    { name: 'is nothing of nothing', items: [], start: 0 },
  ];
  for (const { name, items, start } of cases) {
    it(name, () => {
      expect(currentTurnOf(items)).to.equal(start);
    });
  }

  for (const type of [
    'reasoning',
    'function_call',
    'custom_tool_call',
    'tool_search_call',
    'local_shell_call',
    'shell_call',
    'apply_patch_call',
  ] as const) {
    it(`begins with a ${type}, as with all that the model says`, () => {
      expect(currentTurnOf([user(), { ...call, type } as InputItem, output])).to.equal(1);
    });
  }
});

describe('a compaction', () => {
  const cases: { name: string; items: InputItem[]; room?: number; leaves: boolean }[] = [
    { name: 'leaves out what was called and brought', items: [user(), call, output, model, user()], leaves: true },
    { name: 'leaves out what the model said', items: [user(), model, user(), model, user()], leaves: true },
    {
      name: 'leaves nothing out of messages of the user',
      items: [developer, user(), tools, model, user()],
      leaves: false,
    },
    {
      name: 'leaves out those for which there is no room',
      items: [user('1234'), model, user()],
      room: 3,
      leaves: true,
    },
    { name: 'leaves nothing out of the first turn', items: [user()], leaves: false },
    { name: 'leaves nothing out of what says nothing', items: [user(), foreign, update, tools, user()], leaves: false },
    {
      name: 'leaves nothing out of what another has left',
      items: [user(), model, call, output, compaction, model, user()],
      leaves: false,
    },
    {
      name: 'leaves out what was said since another',
      items: [user(), model, compaction, model, user(), model, user()],
      leaves: true,
    },
  ];
  for (const { name, items, room = PLENTY, leaves } of cases) {
    it(name, () => {
      expect(leavesOut(items, currentTurnOf(items), room, () => '')).to.equal(leaves);
    });
  }
});

describe('what stands beside a compaction', () => {
  it('is what the user and the instructions said, in their order and as text', () => {
    const items = [
      developer,
      { ...user('one'), id: 'msg_own' } as InputItem,
      call,
      output,
      model,
      compaction,
      user([{ type: 'input_text', text: 'two' }, { type: 'text', text: '' }, image]),
    ];
    expect(keptMessages(items, 1000, UNIQUE)).to.deep.equal([
      message('developer', `msg_${UNIQUE}0000`, 'd'),
      message('user', 'msg_own', 'one'),
      message(
        'user',
        `msg_${UNIQUE}0006`,
        'two',
        '[What was attached here is not shown any more. The summary says what mattered of it.]',
      ),
    ]);
  });

  it('has no messages without a word', () => {
    expect(keptMessages([user(''), user([]), developer], 1000, UNIQUE)).to.have.length(1);
  });

  for (const { name, inputLength, kept } of [
    { name: 'takes 4 Ki of a short input', inputLength: 10, kept: 4 },
    { name: 'takes a quarter of a long one', inputLength: 4 * 9 * 1024, kept: 9 },
    { name: 'takes 64 Ki of one however long', inputLength: 1e9, kept: 64 },
  ]) {
    it(name, () => {
      const items = Array.from({ length: 100 }, () => user('x'.repeat(1024)));
      expect(keptMessages(items, inputLength, UNIQUE)).to.have.length(kept);
    });
  }

  function message(role: string, id: string, ...texts: readonly string[]): object {
    const content = texts.map((text) => ({ type: 'input_text', text }));
    return { type: 'message', id, status: 'completed', role, content };
  }
});

describe('the threshold of a request', () => {
  const request = { model: 'm', input: 'Hello' };

  for (const { name, entries, threshold } of [
    { name: 'is that of its compaction', entries: [{ type: 'compaction', compact_threshold: 5000 }], threshold: 5000 },
    {
      name: 'is not that of another kind',
      entries: [{ type: 'other', compact_threshold: 5000 }],
      threshold: undefined,
    },
    { name: 'is none where none is named', entries: [{ type: 'compaction' }], threshold: undefined },
    { name: 'is none of no entry', entries: [], threshold: undefined },
  ]) {
    it(name, () => {
      expect(compactThresholdOf({ ...request, context_management: entries })).to.equal(threshold);
    });
  }

  it('limits what is kept of the user to about a quarter of it', () => {
    expect([1000, 1e6, undefined].map(keptLengthFor)).to.deep.equal([1000, 64 * 1024, 64 * 1024]);
  });
});
