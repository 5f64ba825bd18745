/**
 * A backend reads again only what has changed since the last turn, from the first changed byte on. So the messages of a
 * turn are those of the turn before, byte for byte, with new ones behind them.
 */

import type { ChatChunk, ChatRequest } from '../../../src/core/chat.ts';
import { DIALECTS, type DialectName } from '../../../src/core/dialects.ts';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';
import { validateCreateResponse } from '../../../src/requests/preparation/validate.ts';
import type { CreateResponse, KnownItem, ToolParam } from '../../../src/contract/types.ts';
import { expectLonger } from '../../support/chat-prefix.ts';
import { chunkOf, openMachine } from '../../support/machine.ts';
import { pairsOf } from '../../support/property.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

interface Turn {
  /** The items that the client adds, those of another model among them. */
  readonly adds: readonly object[];
  /** The message of the backend. Its fields come in this order. */
  readonly answer?: Readonly<Record<string, unknown>>;
  readonly fields?: Partial<CreateResponse>;
}

const PIXEL = 'data:image/png;base64,AAAA';
const user = (content: string) => ({ type: 'message', role: 'user', content });
const says = (content: string) => ({ type: 'message', role: 'assistant', content });
const developer = (content: string) => ({ type: 'message', role: 'developer', content });
const output = (id: string, text: unknown = 'rain') => ({ type: 'function_call_output', call_id: id, output: text });
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const calls = (...ids: readonly string[]) => ({
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const SIGNED = { extra_content: { google: { thought_signature: 'signature' } } };
const DETAILS = [{ type: 'reasoning.encrypted', id: 'a', data: 'state', format: 'google-gemini-v1', index: 0 }];
const image = { type: 'input_image', image_url: PIXEL };

/** All that a client may have in its history. Whatever it adds comes with the next turn. */
const KINDS: {
  readonly [Type in Exclude<KnownItem['type'], 'item_reference' | 'compaction_trigger'>]: readonly Turn[];
} = {
  message: [
    { adds: [says('I wait.'), user('Go.')] },
    { adds: [developer('Be brief.'), user('And?')] },
    { adds: [user('One.'), { type: 'message', role: 'system', content: 'Two.' }, user('Three.')] },
    { adds: [developer('Only this.')] },
  ],
  function_call: [{ adds: [user('Look.')], answer: calls('a', 'b') }, { adds: [output('b'), output('a')] }],
  function_call_output: [
    { adds: [user('Look.')], answer: calls('a', 'b') },
    { adds: [output('a', [image]), output('b', [{ type: 'input_text', text: 'A map:' }, image])] },
    { adds: [output('of no call'), { type: 'function_call_output', name: 'look', output: 'rain' }] },
  ],
  custom_tool_call: [
    { adds: [{ type: 'custom_tool_call', call_id: 'c', name: 'write', input: 'x' }, user('Well?')] },
    { adds: [{ type: 'custom_tool_call_output', call_id: 'of no call', output: 'done' }] },
  ],
  custom_tool_call_output: [
    {
      adds: [
        { type: 'custom_tool_call', call_id: 'c', name: 'write', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'c', output: [image] },
      ],
    },
  ],
  tool_search_call: [
    {
      adds: [
        { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'x' } },
        { type: 'tool_search_output', call_id: 's', execution: 'client', tools: [] },
      ],
    },
    { adds: [{ type: 'tool_search_call', execution: 'server', arguments: {} }, user('Well?')] },
  ],
  tool_search_output: [
    { adds: [{ type: 'tool_search_call', call_id: 's', execution: 'client', arguments: {} }, user('Hurry.')] },
    {
      adds: [
        { type: 'tool_search_call', call_id: 't', execution: 'client', arguments: {} },
        {
          type: 'tool_search_output',
          call_id: 't',
          execution: 'client',
          tools: [
            { type: 'function', name: 'look_up' },
            { type: 'namespace', name: 'far', tools: [{ type: 'function', name: 'off' }] },
          ],
        },
      ],
    },
  ],
  local_shell_call: [
    { adds: [{ type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'] } }, user('Hurry.')] },
  ],
  local_shell_call_output: [
    {
      adds: [
        { type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: 'l', output: 'a.txt' },
        { type: 'local_shell_call_output', output: 'b.txt' },
      ],
    },
  ],
  shell_call: [{ adds: [{ type: 'shell_call', call_id: 'h', action: { commands: ['ls'] } }, user('Hurry.')] }],
  shell_call_output: [
    {
      adds: [
        { type: 'shell_call', call_id: 'h', action: { commands: ['ls'] } },
        { type: 'shell_call_output', call_id: 'h', output: 'a.txt' },
      ],
    },
  ],
  apply_patch_call: [
    {
      adds: [{ type: 'apply_patch_call', call_id: 'p', operation: { type: 'delete_file', path: 'a' } }, user('Hurry.')],
    },
  ],
  apply_patch_call_output: [
    {
      adds: [
        { type: 'apply_patch_call', call_id: 'p', operation: { type: 'delete_file', path: 'a' } },
        { type: 'apply_patch_call_output', call_id: 'p', status: 'failed', output: 'No.' },
      ],
    },
  ],
  additional_tools: [
    {
      adds: [
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'listen' }] },
        user('Go.'),
      ],
    },
    {
      adds: [
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'look_up' }] },
        user('Go.'),
      ],
    },
  ],
  reasoning: [
    { adds: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }, says('Yes.'), user('Why?')] },
    {
      adds: [{ type: 'reasoning', content: 'Hm.' }, call('r'), output('r')],
      answer: { reasoning: 'Hm.', ...calls('s') },
    },
    { adds: [output('s')], answer: { reasoning_content: 'Aha.', content: 'So.' } },
  ],
  compaction: [
    { adds: [{ type: 'compaction', encrypted_content: 'sealed elsewhere' }, user('Go on.')] },
    { adds: [user('And on.')] },
  ],
  configuration_update: [
    { adds: [{ type: 'configuration_update', reasoning: { effort: 'high' } }, user('Think.')] },
    { adds: [{ type: 'configuration_update', text: { verbosity: 'low' } }, user('Now briefly.')] },
  ],
  agent_message: [
    { adds: [{ type: 'agent_message', content: [{ type: 'encrypted_content', encrypted_content: 'Help me.' }] }] },
    { adds: [{ type: 'agent_message', content: [{ type: 'input_text', text: 'Thanks.' }, image] }] },
  ],
};

/** What comes of it when they meet. */
const MEETINGS: Readonly<Record<string, readonly Turn[]>> = {
  'an output that comes after its call has been answered as one without': [
    { adds: [user('Look.')], answer: calls('a', 'b') },
    { adds: [output('a'), user('Never mind the other.')] },
    { adds: [output('b')] },
  ],
  'an output that comes after two turns': [
    { adds: [user('Look.')], answer: calls('a') },
    { adds: [user('Hurry.')] },
    { adds: [user('And?')], answer: calls('a') },
    { adds: [output('a', 'second')] },
    { adds: [output('a', 'first')] },
  ],
  'a message of the developer between calls and their outputs': [
    { adds: [user('Look.')], answer: calls('a') },
    { adds: [developer('Be brief.'), output('a')] },
  ],
  'a message of the developer behind outputs': [
    { adds: [user('Look.')], answer: calls('a') },
    { adds: [output('a', [image]), developer('Be brief.')] },
  ],
  'an answer of nothing': [{ adds: [user('Look.')], answer: { content: '' } }, { adds: [user('Hello?')] }],
  'an answer of nothing after an image': [
    { adds: [user('Look.')], answer: calls('a') },
    { adds: [output('a', [image])], answer: { content: '' } },
    { adds: [user('Hello?')] },
  ],
  'an answer of thoughts alone': [
    { adds: [user('Look.')], answer: { reasoning_content: 'Hm.' } },
    { adds: [user('Hello?')] },
  ],
  'state that comes after its calls': [
    { adds: [user('Look.')], answer: { ...calls('a', 'b'), reasoning: 'Hm.', reasoning_details: DETAILS } },
    { adds: [output('a'), output('b')], answer: { content: 'So.', reasoning_details: DETAILS } },
  ],
  'state that belongs to a call': [
    {
      adds: [user('Look.')],
      answer: { tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' }, ...SIGNED }] },
    },
    { adds: [output('a')], answer: calls('b') },
    { adds: [output('b')] },
  ],
  'call ids that are used again': [
    { adds: [user('Look.')], answer: calls('a') },
    { adds: [output('a')], answer: calls('a') },
    { adds: [output('a')], answer: calls('a', 'a') },
    { adds: [output('a')] },
  ],
  'call ids that no backend takes': [
    { adds: [call('?'.repeat(50)), call('?'.repeat(50)), output('?'.repeat(50))] },
    { adds: [call('!'), { ...call('!'), name: 'listen' }, output('!'), output('!')] },
  ],
  'calls that another server executed': [
    { adds: [{ type: 'web_search_call', action: { query: 'x' } }, says('Found.'), user('What?')] },
    { adds: [{ type: 'image_generation_call', result: 'AAAA' }, user('Again.')] },
    {
      adds: [
        { type: 'computer_call', action: { type: 'screenshot' } },
        { type: 'computer_call_output', output: {} },
      ],
    },
    {
      adds: [
        { type: 'computer_call', action: { type: 'screenshot' } },
        { type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: PIXEL } },
      ],
    },
  ],
  'what nobody can be told': [
    { adds: [{ type: 'mcp_list_tools', tools: [] }, { type: 'telepathy' }, user('Go.')] },
    {
      adds: [
        { ...user('Look:'), content: [{ type: 'input_text', text: 'Look:' }, { type: 'input_image' }] },
        says('Hm.'),
        user('Go.'),
      ],
    },
    { adds: [call('i'), output('i', [{ type: 'input_image', image_url: 'sandbox:/a.png' }])] },
  ],
  'another model, which has left its thoughts': [
    { adds: [user('Look.')], answer: { reasoning: 'Hm.', ...calls('a') } },
    { adds: [output('a')], fields: { model: 'other' }, answer: { content: 'So.' } },
    { adds: [user('And?')], fields: { model: 'other' } },
  ],
};

/** What a dialect that holds these choices itself need not leave out. */
const CHOICES: readonly (readonly Turn[])[] = [
  [
    { adds: [user('One.')], fields: { tool_choice: 'none' } },
    { adds: [user('Two.')], fields: { tool_choice: 'required' }, answer: calls('a') },
    { adds: [output('a')], fields: { parallel_tool_calls: false } },
  ],
  [{ adds: [user('Three.')], fields: { tool_choice: { type: 'function', name: 'look' } } }],
  [
    {
      adds: [user('Four.')],
      fields: { tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'look' }] } },
    },
  ],
];

const TOOLS: readonly ToolParam[] = [
  { type: 'function', name: 'look' },
  // Its name towards the backend is one that a tool has which comes later.
  { type: 'function', name: 'look.up' },
  { type: 'custom', name: 'write' },
  { type: 'tool_search', execution: 'client' },
];

const NAMES = Object.keys(DIALECTS) as DialectName[];

const BEGINNING: readonly Turn[] = [{ adds: [developer('You help.'), developer('Kindly.'), user('Hi.')] }];
const END: readonly Turn[] = [{ adds: [user('Thanks.')] }, { adds: [user('Bye.')] }];

const FORMS = ['stream', 'JSON'] as const;

describe('the chat request of a turn is a prefix of that of the next one', () => {
  const rows = Object.entries({ ...KINDS, ...MEETINGS }).flatMap(([name, turns]) =>
    FORMS.map((form) => ({ name, turns, form })),
  );
  for (const [{ name, turns, form }, pairs] of Map.groupBy(pairsOf(NAMES, rows), ([, row]) => row)) {
    it(`with ${name}, by ${form}`, () => {
      for (const [dialect] of pairs) expectPrefixes(turns, { dialect, form });
    });
  }

  for (const form of FORMS) {
    it(`with a summary of ours, by ${form}`, () => {
      const compacted: Turn = { adds: [{ type: 'compaction', encrypted_content: 'S' }, user('Go on.')] };
      for (const dialect of NAMES)
        expectPrefixes([compacted], { dialect, form, openCompaction: (sealed) => sealed }, 1);
    });

    it(`with a tool choice that the backend holds itself, by ${form}`, () => {
      for (const dialect of NAMES) {
        const { toolChoice } = DIALECTS[dialect];
        const held = toolChoice === 'allowed' ? 3 : toolChoice === 'named' ? 2 : toolChoice === 'words' ? 1 : 0;
        expectPrefixes(CHOICES.slice(0, held).flat(), { dialect, form });
      }
    });
  }
});

interface Way {
  readonly dialect: DialectName;
  readonly form: 'stream' | 'JSON';
  readonly openCompaction?: (sealed: string) => string;
}

/** Looks at the turns from this one on. Each model reads its own prefixes. */
function expectPrefixes(turns: readonly Turn[], way: Way, from = 0): void {
  const chats = converse([...BEGINNING, ...turns, ...END], way).slice(from);
  for (const [index, chat] of chats.entries()) {
    const before = chats.slice(0, index).findLast(({ model }) => model === chat.model);
    expectLonger(chat, before, way.dialect);
  }
}

function converse(turns: readonly Turn[], { form, ...settings }: Way): ChatRequest[] {
  const input: object[] = [];
  return turns.map(({ adds, answer = { content: 'Yes.' }, fields }) => {
    input.push(...adds);
    const body = { model: 'm', tools: TOOLS, include: ['reasoning.encrypted_content'], input, ...fields };
    const request = validateCreateResponse(JSON.parse(JSON.stringify({ ...body, stream: form === 'stream' })));
    const machine = openMachine(request, { ...settings, usedField: 'reasoning' });
    const events = [...machine.start(), ...machine.feed(toChunks(answer, form)), ...machine.end(true)];
    input.push(...expectWellFormed(events).output);
    return machine.chat;
  });
}

function toChunks(answer: NonNullable<Turn['answer']>, form: 'stream' | 'JSON'): ChatChunk[] {
  const finish = 'tool_calls' in answer ? 'tool_calls' : 'stop';
  if (form === 'JSON') {
    const message = { role: 'assistant', content: null, ...answer };
    return [chunkFromCompletion({ choices: [{ index: 0, message, finish_reason: finish }] })];
  }
  const deltas = Object.entries(answer).map(([name, value]) => ({
    [name]: name === 'tool_calls' ? (value as object[]).map((one, index) => ({ index, ...one })) : value,
  }));
  return [...deltas.map((delta) => chunkOf(delta)), chunkOf({}, finish)];
}
