/**
 * A chat backend with a script: a real HTTP server on 127.0.0.1, since only a real socket tells the truth about aborts,
 * cuts and slow readers.
 *
 *     const backend = await startScriptedBackend();
 *     backend.reply({ json: completion }, { sse: [chunk, chunk] });      // one reply per request, in order
 *     backend.always(async ({ sse, wait, cut }) => { … });               // every request that finds the queue empty
 *     backend.requests[0]?.body; await backend.requests[0]?.closed; await backend.close();
 */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON, or the text when it is not JSON. */
  readonly body: unknown;
  readonly text: string;
  readonly receivedAtMs: number;
  /** Numbers the connections from 0, so a test can see one being used again. */
  readonly connection: number;
  /** Resolves with the time (as `performance.now()` counts) when this exchange was over, and whether the client went first. */
  readonly closed: Promise<Closing>;
}

export interface Closing {
  readonly atMs: number;
  /** The client closed its socket before the reply had ended. */
  readonly aborted: boolean;
}

type Bytes = string | Uint8Array;

/** What a script works with. Every `write` waits until the bytes have left for the kernel, and says false once the client is gone. */
export interface Stage {
  readonly request: ReceivedRequest;
  readonly res: ServerResponse;
  /** Sends status and headers at once; the default is 200 with `text/event-stream`. */
  readonly start: (status?: number, headers?: Readonly<Record<string, string>>) => void;
  readonly write: (bytes: Bytes) => Promise<boolean>;
  /** Each value as one event; a string goes as it is, so `sse('[DONE]')` ends a stream. */
  readonly sse: (...data: readonly unknown[]) => Promise<boolean>;
  /** In pieces of so many bytes, with a pause after each. */
  readonly drip: (bytes: Bytes, options: { readonly pieceBytes: number; readonly everyMs: number }) => Promise<boolean>;
  /** Ends early when the client goes away. */
  readonly wait: (ms: number) => Promise<void>;
  /** Until the client goes away. */
  readonly hang: () => Promise<void>;
  /** The connection breaks here: by a plain end of the stream of bytes, or by a reset. */
  readonly cut: (how?: 'close' | 'reset') => void;
  readonly end: (bytes?: Bytes) => void;
}

export type Script = (stage: Stage) => Promise<void> | void;

export type Reply =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly text: Bytes; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  | {
      readonly sse: readonly unknown[];
      /** Whether `[DONE]` follows; it does by default. */
      readonly done?: boolean;
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | Script;

export interface ScriptedBackend {
  /** With its `/v1`. */
  readonly baseUrl: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** The exchanges that are over, in the order of their end. */
  readonly closed: readonly (Closing & { readonly request: ReceivedRequest })[];
  /** The bytes of all bodies that were handed to the kernel. */
  readonly bytesSent: number;
  /** Connections open at this moment. */
  readonly connections: number;
  /** Queues replies, one for each of the next requests. */
  reply(...replies: readonly Reply[]): void;
  /** Answers the requests which find no queued reply; a 500 by default. */
  always(reply: Reply): void;
  /** Resolves with the request of this number, counted from 1, as soon as it has come in. */
  request(count: number): Promise<ReceivedRequest>;
  /** Breaks what is open and throws the first error that a script threw. */
  close(): Promise<void>;
}

/** Without a port it listens on any that is free. A request of which `takesReply` says no leaves the queued replies to the others. */
export async function startScriptedBackend(
  port = 0,
  takesReply: (request: ReceivedRequest) => boolean = () => true,
  host = '127.0.0.1',
): Promise<ScriptedBackend> {
  const requests: ReceivedRequest[] = [];
  const closed: (Closing & { request: ReceivedRequest })[] = [];
  const queue: Reply[] = [];
  const scriptErrors: unknown[] = [];
  const sockets = new WeakMap<object, number>();
  const expected: { count: number; resolve: (request: ReceivedRequest) => void }[] = [];
  let standing: Reply = { json: { error: { message: 'no reply is scripted' } }, status: 500 };
  let connectionCount = 0;
  let openConnections = 0;
  let bytesSent = 0;

  const server = createServer((req, res) => {
    answer(req, res).catch((error: unknown) => {
      scriptErrors.push(error);
      res.destroy();
    });
  });
  server.on('connection', (socket) => {
    sockets.set(socket, connectionCount++);
    openConnections++;
    socket.on('close', () => openConnections--);
  });

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const ending = Promise.withResolvers<Closing>();
    const text = await readBody(req);
    if (text === undefined) return;
    const request: ReceivedRequest = {
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      body: parsed(text),
      text,
      receivedAtMs: performance.now(),
      connection: sockets.get(req.socket) ?? -1,
      closed: ending.promise,
    };
    res.on('close', () => {
      const closing = { atMs: performance.now(), aborted: !res.writableFinished };
      closed.push({ ...closing, request });
      ending.resolve(closing);
    });
    requests.push(request);
    for (const waiter of expected) if (waiter.count === requests.length) waiter.resolve(request);
    const queued = takesReply(request) ? queue.shift() : undefined;
    const script = toScript(queued ?? standing);
    await script(createStage(request, res, (bytes) => (bytesSent += bytes)));
  }

  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');

  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    port: address.port,
    requests,
    closed,
    get bytesSent() {
      return bytesSent;
    },
    get connections() {
      return openConnections;
    },
    reply: (...replies) => void queue.push(...replies),
    always: (reply) => void (standing = reply),
    request(count) {
      const request = requests[count - 1];
      if (request !== undefined) return Promise.resolve(request);
      return new Promise((resolve) => expected.push({ count, resolve }));
    },
    async close() {
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
      if (scriptErrors.length > 0) throw scriptErrors[0];
    },
  };
}

/** Undefined when the client went away in the middle of its request. */
async function readBody(req: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of req) pieces.push(piece as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function toScript(reply: Reply): Script {
  if (typeof reply === 'function') return reply;
  const { status = 200, headers = {} } = reply;
  return async (stage) => {
    if ('sse' in reply) {
      stage.start(status, { 'content-type': 'text/event-stream', ...headers });
      await stage.sse(...reply.sse, ...(reply.done === false ? [] : ['[DONE]']));
      stage.end();
      return;
    }
    const bytes = 'json' in reply ? JSON.stringify(reply.json) : reply.text;
    const type = 'json' in reply ? { 'content-type': 'application/json' } : {};
    const length = { 'content-length': String(Buffer.byteLength(bytes)) };
    stage.start(status, { ...type, ...length, ...headers });
    await stage.write(bytes);
    stage.end();
  };
}

function createStage(request: ReceivedRequest, res: ServerResponse, count: (bytes: number) => void): Stage {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  // Writing to a client that has gone is no error of the script.
  res.on('error', () => {});

  const stage: Stage = {
    request,
    res,
    start(status = 200, headers = { 'content-type': 'text/event-stream' }) {
      res.writeHead(status, headers);
      res.flushHeaders();
    },
    write(bytes) {
      if (gone.signal.aborted) return Promise.resolve(false);
      if (!res.headersSent) stage.start();
      return new Promise((resolve) => {
        const onGone = (): void => resolve(false);
        gone.signal.addEventListener('abort', onGone, { once: true });
        res.write(bytes, (error) => {
          gone.signal.removeEventListener('abort', onGone);
          if (!error) count(Buffer.byteLength(bytes));
          resolve(!error);
        });
      });
    },
    sse(...data) {
      return stage.write(
        data.map((item) => `data: ${typeof item === 'string' ? item : JSON.stringify(item)}\n\n`).join(''),
      );
    },
    async drip(bytes, { pieceBytes, everyMs }) {
      const whole = Buffer.from(bytes);
      for (let at = 0; at < whole.length; at += pieceBytes) {
        if (!(await stage.write(whole.subarray(at, at + pieceBytes)))) return false;
        await stage.wait(everyMs);
      }
      return true;
    },
    wait: (ms) => delay(ms, undefined, { signal: gone.signal }).catch(() => {}),
    async hang() {
      if (!gone.signal.aborted) await once(gone.signal, 'abort');
    },
    cut(how = 'close') {
      if (how === 'reset') res.socket?.resetAndDestroy();
      else res.socket?.destroy();
    },
    end(bytes) {
      if (bytes === undefined) res.end();
      else res.end(bytes);
    },
  };
  return stage;
}
