/** A tiny MCP server over stdin and stdout. Its tools repeat a word, and show a pixel. */

import { createInterface } from 'node:readline';
import { PIXEL } from './pixel.ts';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: { readonly word?: string };
  };
}

const TOOLS = [
  {
    name: 'ns_probe',
    description: 'Hears a word.',
    inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  },
  // Behind the name of its server this is too long for many a backend.
  {
    name: `ns_${'long_'.repeat(11)}name`,
    description: 'Hears a word too.',
    inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  },
  { name: 'ns_picture', description: 'Shows a pixel.', inputSchema: { type: 'object', properties: {} } },
];

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
      return { result: { tools: TOOLS } };
    case 'tools/call':
      return { result: { content: [toContent(params)] } };
    default:
      return { error: { code: -32601, message: `There is no ${method}.` } };
  }
}

function toContent(params: Message['params']): object {
  if (params?.name === 'ns_picture') return { type: 'image', data: PIXEL, mimeType: 'image/png' };
  return { type: 'text', text: `probe heard ${params?.arguments?.word}` };
}
