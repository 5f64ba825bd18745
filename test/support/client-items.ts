import { FOREIGN_ITEMS, HOSTED_CALLS } from './foreign-items.ts';

interface ClientItem {
  readonly type?: string;
  readonly [field: string]: unknown;
}

const PIXEL = 'data:image/png;base64,AAAA';
const tool = { type: 'function', name: 'found', parameters: { type: 'object', properties: {} } };

/** What clients leave in a history, in the shapes of the `openai` package and of Codex. The outputs stand behind their calls. */
export const CLIENT_ITEMS: readonly ClientItem[] = [
  { type: 'message', role: 'developer', content: 'Be brief.' },
  { role: 'system', content: [{ type: 'input_text', text: 'Be kind.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: PIXEL, detail: 'auto' }] },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      { type: 'output_text', text: 'I look.', annotations: [] },
      { type: 'refusal', refusal: 'No.' },
    ],
  },
  { type: 'agent_message', author: '/root', recipient: '/sub', content: [{ type: 'input_text', text: 'Look.' }] },
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAAAABo' },
  { type: 'additional_tools', role: 'developer', tools: [tool] },
  { type: 'configuration_update', reasoning: { effort: 'low' } },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', namespace: 'eyes', arguments: '{"at":"cats"}' },
  {
    type: 'function_call_output',
    call_id: 'call_1',
    output: [
      { type: 'input_text', text: 'rain' },
      { type: 'input_image', image_url: PIXEL },
    ],
  },
  { type: 'function_call_output', name: 'look', output: 'sun' },
  { type: 'custom_tool_call', call_id: 'call_2', name: 'exec', input: 'text("looked")' },
  { type: 'custom_tool_call_output', call_id: 'call_2', output: 'looked' },
  { type: 'tool_search_call', call_id: 'call_3', execution: 'client', arguments: { query: 'cats' } },
  { type: 'tool_search_output', call_id: 'call_3', execution: 'client', status: 'completed', tools: [tool] },
  {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'call_4',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  },
  { type: 'local_shell_call_output', id: 'call_4', output: 'a.md' },
  { type: 'local_shell_call', call_id: null, status: 'completed', action: { type: 'exec', command: ['ls'], env: {} } },
  { type: 'shell_call', call_id: 'call_5', status: 'completed', action: { commands: ['ls'], timeout_ms: null } },
  {
    type: 'shell_call_output',
    call_id: 'call_5',
    output: [{ stdout: 'a.md', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
  {
    type: 'apply_patch_call',
    call_id: 'call_6',
    status: 'completed',
    operation: { type: 'delete_file', path: 'a.md' },
  },
  { type: 'apply_patch_call_output', call_id: 'call_6', status: 'completed', output: null },
];

/** An item of each type that a history may have, but for those that only their own server can read. */
export const EVERY_ITEM: readonly ClientItem[] = [...CLIENT_ITEMS, ...HOSTED_CALLS, ...FOREIGN_ITEMS];
