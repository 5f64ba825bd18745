/** A thread with the clients of large-bodies.system.ts and their backend, so that only the gateway runs in the thread that is measured. */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parentPort } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { openRpc } from '../../../src/rpc/rpc.ts';

export type World = {
  /** Returns the base URL of the backend. */
  readonly open: () => Promise<string>;
  /** Returns the end of the reply, and throws for any but a good one. */
  readonly send: (asked: Asked) => Promise<string>;
};

export interface Asked {
  readonly url: string;
  readonly key: string;
  readonly path: string;
  readonly bytes: number;
  readonly shape: Shape;
  readonly fields?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Over a WebSocket; twice, where the second frame continues the first one. */
  readonly frames?: 1 | 2;
}

/** What the model writes, in one chunk or in several. */
type AnswerShape = 'answer' | 'pieces' | 'letters' | 'tokens' | 'tokens at once' | 'details' | 'details at once';

export type Shape =
  | AnswerShape
  | 'text'
  | 'items'
  | 'messages'
  | 'instructions'
  | 'tools'
  | 'fields'
  | 'chat fields'
  | 'chat letters'
  | 'updates'
  | 'nested'
  | 'numbers'
  | 'objects'
  | 'calls';

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const WORDS = 'Some words, "quoted" and\nbroken, ';

const service: World = {
  async open() {
    const backend = createServer((req, res) => {
      const pieces: Buffer[] = [];
      req.on('data', (piece: Buffer) => pieces.push(piece));
      req.once('end', () => {
        const body = Buffer.concat(pieces);
        const [, shape, bytes] = /(\w[\w ]*) of (\d+) bytes/.exec(body.subarray(0, 1000).toString()) ?? [];
        const choices = shape === undefined ? [HELLO_CHOICE] : ANSWERS[shape as AnswerShape](Number(bytes));
        if (body.includes('"stream":true')) {
          const chunks = [
            ...choices.map((choice) => ({ choices: [choice] })),
            { choices: [{ delta: {}, finish_reason: 'stop' }] },
            { choices: [], usage: USAGE },
          ];
          res.writeHead(200, { 'content-type': 'text/event-stream' });
          for (const chunk of chunks) res.write(`data: ${JSON.stringify(chunk)}\n\n`);
          res.end('data: [DONE]\n\n');
        } else {
          const [{ delta: message, ...choice } = HELLO_CHOICE] = choices;
          const answer = { choices: [{ ...choice, message, finish_reason: 'stop' }], usage: USAGE };
          res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
        }
      });
    });
    backend.listen(0, '127.0.0.1');
    await once(backend, 'listening');
    return `http://127.0.0.1:${(backend.address() as AddressInfo).port}/v1`;
  },
  send: (asked) => (asked.frames === undefined ? post(asked) : speak(asked, asked.frames)),
};

if (parentPort === null) throw new Error('this is a thread of large-bodies.system.ts');
const { receive } = openRpc(parentPort.postMessage.bind(parentPort), service);
parentPort.on('message', receive);

async function post({ url, key, path, headers, ...asked }: Asked): Promise<string> {
  const plain = bodyOf(asked);
  // Not made smaller, because such a text would become more than 100 times as large.
  const body = headers?.['content-encoding'] === undefined ? plain : gzipSync(plain, { level: 0 });
  const sent = request(`${url}${path}`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
      ...headers,
    },
  });
  sent.end(body);
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  const told = await text(reply);
  if (reply.statusCode !== 200 || told.includes('response.failed'))
    throw new Error(`${reply.statusCode} ${told.slice(0, 300)}`);
  return told.slice(-300);
}

async function speak({ url, key, path, ...asked }: Asked, frames: 1 | 2): Promise<string> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers: { authorization: `Bearer ${key}` } });
  await once(ws, 'open');
  const first = await ask(bodyOf(asked));
  const id = /"id":"(resp_[^"]+)"/.exec(first)?.[1];
  const next = { type: 'response.create', model: 'm', input: 'And then?', previous_response_id: id };
  const last = frames === 1 ? first : await ask(Buffer.from(JSON.stringify(next)));
  ws.close();
  return last.slice(-300);

  async function ask(frame: Buffer): Promise<string> {
    const ended = new Promise<string>((resolve, reject) => {
      ws.on('message', (bytes: Buffer) => {
        const start = bytes.subarray(0, 200).toString();
        if (start.includes('"type":"error"')) reject(new Error(start));
        if (start.includes('"type":"response.completed"')) resolve(bytes.toString());
      });
    });
    ws.send(frame, { binary: false });
    return ended;
  }
}

function bodyOf({ bytes, shape, fields }: Pick<Asked, 'bytes' | 'shape' | 'fields'>): Buffer {
  return Buffer.from(JSON.stringify({ model: 'm', ...fields, ...SHAPES[shape](bytes) }));
}

const SHAPES: { readonly [S in Shape]: (bytes: number) => object } = {
  text: (bytes) => ({ input: wordsOf(bytes) }),
  items: (bytes) => ({ input: messagesOf(bytes) }),
  messages: (bytes) => ({ messages: messagesOf(bytes) }),
  instructions: (bytes) => ({ input: 'Hello', instructions: wordsOf(bytes) }),
  answer: askFor('answer'),
  pieces: askFor('pieces'),
  letters: askFor('letters'),
  'chat letters': (bytes) => ({ messages: [{ role: 'user', content: `letters of ${bytes} bytes` }] }),
  tokens: askFor('tokens'),
  'tokens at once': askFor('tokens at once'),
  details: askFor('details'),
  'details at once': askFor('details at once'),
  fields: (bytes) => ({ input: 'Hello', ...fieldsOf(bytes) }),
  'chat fields': (bytes) => ({ messages: [HELLO], logit_bias: fieldsOf(bytes) }),
  updates: (bytes) => ({
    input: [...many(bytes / 70, { type: 'configuration_update' }), HELLO],
    ...fieldsOf(bytes / 2),
  }),
  nested: (bytes) => ({
    input: [
      { type: 'mcp_call', arguments: `${'['.repeat(2000)}"${'x'.repeat(bytes - 4200)}"${']'.repeat(2000)}` },
      HELLO,
    ],
  }),
  // The first one has more digits than a number of JavaScript.
  numbers: (bytes) => ({ input: 'Hello', unknown: [2 ** 54, ...many(bytes / 2, 1)] }),
  objects: (bytes) => ({ input: 'Hello', unknown: many(bytes / 3, {}) }),
  calls: (bytes) => ({
    input: Array.from({ length: bytes / 75 }, (_, n) => ({
      type: 'function_call',
      call_id: 'c',
      name: 'f',
      arguments: `${n}`,
    })),
  }),
  // Nearly as many names and containers as a body may have.
  tools: (bytes) => ({
    input: 'Hello',
    tools: Array.from({ length: 500 }, (_, n) => ({
      type: 'function',
      name: `tool_${n}`,
      description: wordsOf(Math.max(0, bytes / 500 - 2000)),
      parameters: {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 80 }, (__, m) => [`parameter_${m}`, bytes > 1e6 ? [[]] : 1]),
        ),
      },
    })),
  }),
};

/** As a response and as a chat completion, each of which leaves out what is the other's. */
function askFor(shape: AnswerShape) {
  return (bytes: number) => {
    const asked = `${shape} of ${bytes} bytes`;
    return { input: asked, include: INCLUDE, messages: [{ role: 'user', content: asked }] };
  };
}

const INCLUDE = ['message.output_text.logprobs', 'reasoning.encrypted_content'];

interface Choice {
  readonly delta: object;
  readonly logprobs?: object;
}

const HELLO_CHOICE: Choice = { delta: { content: 'Hello' } };
const LETTER: Choice = { delta: { content: 'x' } };
const TOKEN = { token: ' word', logprob: -0.0001, bytes: [32, 119, 111, 114, 100], top_logprobs: [] };
const DETAIL = { type: 'reasoning.encrypted', data: 'x', index: 0 };

const ANSWERS: { readonly [S in AnswerShape]: (bytes: number) => readonly Choice[] } = {
  answer: (bytes) => [{ delta: { content: wordsOf(bytes) } }],
  pieces: (bytes) => (wordsOf(bytes).match(/[^]{1,1000}/g) ?? []).map((content) => ({ delta: { content } })),
  letters: (bytes) => many(bytes / jsonBytesOf(LETTER), LETTER),
  tokens: (bytes) => many(bytes / jsonBytesOf(TOKEN), tokensOf(1)),
  'tokens at once': (bytes) => [tokensOf(bytes / jsonBytesOf(TOKEN))],
  details: (bytes) => [...many(bytes / jsonBytesOf(DETAIL), detailsOf(1)), HELLO_CHOICE],
  'details at once': (bytes) => [detailsOf(bytes / jsonBytesOf(DETAIL)), HELLO_CHOICE],
};

function tokensOf(count: number): Choice {
  return { delta: { content: TOKEN.token.repeat(count) }, logprobs: { content: many(count, TOKEN) } };
}

function detailsOf(count: number): Choice {
  return { delta: { reasoning: 'x', reasoning_details: many(count, DETAIL) } };
}

function jsonBytesOf(value: object): number {
  return JSON.stringify(value).length + 1;
}

const HELLO = { role: 'user', content: 'Hello' };

function many<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

function fieldsOf(bytes: number): object {
  return Object.fromEntries(Array.from({ length: bytes / 9 }, (_, n) => [`${n.toString(36)}_`, 0]));
}

function messagesOf(bytes: number): object[] {
  const count = Math.min(9000, Math.ceil(bytes / 3400));
  const content = wordsOf(bytes / count - 40);
  return Array.from({ length: count }, () => ({ role: 'user', content }));
}

/** Returns text whose JSON has about so many bytes. */
function wordsOf(bytes: number): string {
  return WORDS.repeat(Math.ceil(bytes / (WORDS.length + 3)));
}
