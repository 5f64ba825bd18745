/** What is asked, in both formats. */

import type { Ask } from '../dialects.ts';

export type AskBody = NonNullable<Ask['body']>;

export function showBytes(bytes: number): string {
  return bytes < 1e6 ? `${bytes / 1e3} kB` : `${bytes / 1e6} MB`;
}

const CODE =
  'export function find(name: string): Entry | undefined {\n\treturn entries.get(`${name}`) ?? fail("no \\"entry\\"");\n}\n';
const LOG = '12:00:01.123 INFO  server started on port 8080, 17 routes, cache is warm, nothing else to do\n';
const CHINESE = '网关把响应格式的请求变成聊天请求，再把聊天的片段变回事件，并且为每个请求保存一条记录。\n';
const OUTPUTS = [CODE, LOG, CODE, CHINESE, LOG];
const OUTPUT_BYTES = 4000;
const CALL = JSON.stringify({
  command: ['bash', '-lc', 'sed -n "1,120p" src/entries.ts'],
  workdir: '/work',
  timeout_ms: 10_000,
});

/** What Codex, opencode and the Agents SDK send: instructions, tools, and turns of a thought, a call and its output. */
export function agentHistory(bytes: number): AskBody {
  const instructions =
    'You are a coding agent. Keep changes small, "quote" what you read,\nand run the tests.\n'.repeat(120);
  const functions = Array.from({ length: 10 }, (_, index) => ({
    name: `tool_${index}`,
    description: 'Runs a command in the workspace and returns what it prints. Output beyond the limit is cut.',
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        ['command', 'workdir', 'timeout_ms', 'justification'].map((name) => [
          name,
          { type: 'string', description: `The ${name} of the call, as the shell takes it.` },
        ]),
      ),
      required: ['command'],
      additionalProperties: false,
    },
  }));
  const question = 'Please mend the search for entries, and show me what you changed.';
  const input: object[] = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: question }] }];
  const messages: object[] = [
    { role: 'system', content: instructions },
    { role: 'user', content: question },
  ];
  for (let turn = 0, left = bytes; left > 0; turn += 1) {
    const id = `call_${turn}`;
    const kind = OUTPUTS[turn % OUTPUTS.length] ?? LOG;
    const output = `${turn}\n${kind.repeat(Math.ceil(Math.min(left, OUTPUT_BYTES) / Buffer.byteLength(kind)))}`;
    const said = `Looking at part ${turn} of the file.`;
    input.push(
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said }] },
      { type: 'function_call', call_id: id, name: `tool_${turn % 10}`, arguments: CALL },
      { type: 'function_call_output', call_id: id, output },
    );
    const called = { id, type: 'function', function: { name: `tool_${turn % 10}`, arguments: CALL } };
    messages.push(
      { role: 'assistant', content: said, tool_calls: [called] },
      { role: 'tool', tool_call_id: id, content: output },
    );
    left -= Buffer.byteLength(output) + 400;
  }
  return {
    responses: { instructions, input, tools: functions.map((tool) => ({ type: 'function', ...tool, strict: false })) },
    chat: { messages, tools: functions.map((tool) => ({ type: 'function', function: tool })) },
  };
}

/** A picture whose text has so many bytes. */
export function image(bytes: number): AskBody {
  const url = `data:image/png;base64,${Buffer.alloc((bytes * 3) / 4, 'a picture').toString('base64')}`;
  const text = 'What is this?';
  return {
    responses: {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text },
            { type: 'input_image', image_url: url },
          ],
        },
      ],
    },
    chat: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    },
  };
}
