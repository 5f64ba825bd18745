/** A tiny MCP server over stdin and stdout. It has one tool, which repeats a word. */

import { createInterface } from 'node:readline';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly word?: string } };
}

const PROBE = {
  name: 'ns_probe',
  description: 'Hears a word.',
  inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message;
  // What has no id is a notification, and wants no answer.
  if (message.id !== undefined) {
    console.log(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...toReply(message) }));
  }
}

function toReply({ method, params }: Message): object {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'probe', version: '1.0.0' },
        },
      };
    case 'tools/list':
      return { result: { tools: [PROBE] } };
    case 'tools/call':
      return { result: { content: [{ type: 'text', text: `probe heard ${params?.arguments?.word}` }] } };
    default:
      return { error: { code: -32601, message: `There is no ${method}.` } };
  }
}
