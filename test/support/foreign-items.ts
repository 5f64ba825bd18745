interface ForeignItem {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What other servers leave in a history, in the shapes of the `openai` package and of Codex, and no model is told of here. */
export const FOREIGN_ITEMS: readonly ForeignItem[] = [
  { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'cats', tools: [{ name: 'look', input_schema: {} }] },
  { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'cats', name: 'look', arguments: '{}' },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
  { type: 'program', id: 'prog_1', call_id: 'call_prog', code: 'look()', fingerprint: 'f' },
  { type: 'program_output', id: 'progo_1', call_id: 'call_prog', result: 'rain', status: 'completed' },
  { type: 'multi_agent_call', call_id: 'call_multi', action: 'wait_agent', arguments: '{}' },
  { type: 'multi_agent_call_output', call_id: 'call_multi', action: 'wait_agent', output: [] },
  { type: 'context_compaction', encrypted_content: 'gAAAAABo' },
  { type: 'agent_reasoning', text: 'Hmm.' },
  { type: 'tool_search_call', call_id: null, execution: 'server', arguments: { query: 'cats' }, status: 'completed' },
  { type: 'tool_search_output', call_id: null, execution: 'server', tools: [], status: 'completed' },
  { type: 'ghost_snapshot', ghost_commit: { id: 'abc' } },
  { type: 'of_tomorrow', anything: { at: ['all', null] } },
];

/** Calls that another server executed. */
export const HOSTED_CALLS: readonly ForeignItem[] = [
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'cats' } },
  { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['cats'], results: null },
  { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', container_id: 'cntr_1', outputs: null },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
  {
    type: 'computer_call',
    id: 'cu_1',
    call_id: 'call_cu',
    status: 'completed',
    action: { type: 'screenshot' },
    pending_safety_checks: [],
  },
  {
    type: 'computer_call_output',
    call_id: 'call_cu',
    output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' },
  },
  {
    type: 'mcp_call',
    id: 'mcp_1',
    status: 'completed',
    server_label: 'cats',
    name: 'look',
    arguments: '{}',
    output: 'rain',
    error: null,
  },
];
