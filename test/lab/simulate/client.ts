/** A caller of the gateway without a socket, and what it was told. */

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { WebSocket } from 'ws';

/** What has arrived says the end, as far as the caller can see. */
export interface Told {
  readonly status: number;
  /** `completed`, `failed`, … of a stream; `error` of an error with a status; undefined before the end. */
  readonly end: string | undefined;
  readonly code: string | undefined;
  /** What breaks the form of a reply. */
  readonly faults: readonly string[];
}

export interface ClientOptions {
  readonly isSlow: boolean;
  /** Adds that the client reads, as far as it reads slowly. */
  readonly pend: (go: () => void) => () => void;
  /** The client has been told something more. */
  readonly onTold: () => void;
}

/** As much of a response of `node:http` as the gateway needs. */
export class Client extends Writable {
  readonly headers: Record<string, string> = {};
  statusCode = 200;
  headersSent = false;
  text = '';
  readonly req = {};
  /** No client is so slow here that it is given up. */
  readonly socket = null;
  readonly #options: ClientOptions;
  #takeBack = (): void => undefined;

  constructor(options: ClientOptions) {
    super({ highWaterMark: 64, decodeStrings: false });
    this.#options = options;
    this.on('error', () => undefined);
  }

  override _write(piece: string | Uint8Array, _encoding: string, done: () => void): void {
    const take = (): void => {
      this.headersSent = true;
      this.text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
      this.#options.onTold();
      done();
    };
    if (this.#options.isSlow) this.#takeBack = this.#options.pend(take);
    else take();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#takeBack();
    done(error);
  }

  setHeader(name: string, value: string): void {
    this.headers[name] = value;
  }

  getHeader(name: string): string | undefined {
    return this.headers[name];
  }

  writeHead(status: number, headers: Readonly<Record<string, string>> = {}): this {
    this.statusCode = status;
    Object.assign(this.headers, headers);
    this.headersSent = true;
    return this;
  }

  flushHeaders(): void {
    this.#options.onTold();
  }

  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }

  /** Its own connection, as the library `ws` has it. */
  asWebSocket(): { readonly ws: WebSocket; readonly socket: Socket } {
    let message = '';
    const ws = Object.assign(new EventEmitter(), {
      readyState: 1,
      send: (piece: string | Uint8Array, { fin }: { readonly fin: boolean }, sent?: (error?: Error) => void) => {
        message += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
        if (!fin) return;
        this.write(`${message}\n`, (error) => sent?.(error ?? undefined));
        message = '';
      },
      close: () => void this.end(),
      terminate: () => void this.destroy(),
    });
    this.once('close', () => {
      ws.readyState = 3;
      ws.emit('close');
    });
    return { ws: ws as unknown as WebSocket, socket: this as unknown as Socket };
  }
}

type Message = {
  readonly type?: string;
  readonly status?: number | string;
  readonly response?: { readonly status: string; readonly error: { readonly code: string } | null };
  readonly error?: { readonly code?: string } | null;
  readonly sequence_number?: number;
};

const ENDS = /^response\.(completed|incomplete|failed)$/;

/** Reads what this client was told over HTTP in JSON. */
export function readJson({ statusCode: status, text, writableEnded }: Client): Told {
  const nothing = { status, end: undefined, code: undefined, faults: [] };
  if (!writableEnded || text === '') return nothing;
  const { error } = JSON.parse(text) as Message;
  if (status !== 200) return { ...nothing, end: 'error', code: error?.code };
  const { status: how } = JSON.parse(text) as { readonly status: string };
  return { ...nothing, end: how };
}

/** Reads a stream of Responses events, or the frames of a WebSocket. */
export function readEvents(client: Client, isFrames: boolean): Told {
  const { statusCode, text } = client;
  if (!isFrames && statusCode !== 200) return readJson(client);
  const messages = isFrames ? toFrames(text) : toEvents(text);
  const faults: string[] = [];
  let end: string | undefined;
  let code: string | undefined;
  let isDone = false;
  let sequence = 0;
  let status = statusCode;
  for (const message of messages) {
    if (message === '[DONE]') {
      if (isDone || end === undefined) faults.push('[DONE] out of its place');
      isDone = true;
      continue;
    }
    const { type = '', response, error } = message;
    if (end !== undefined || isDone) faults.push(`${type} after the end`);
    // An error frame takes the place of an HTTP error; in a stream it stands before response.failed.
    if (typeof message.status === 'number') [status, end, code] = [message.status, 'error', error?.code];
    else if (message.sequence_number !== sequence++) faults.push(`${type} has the wrong number`);
    if (ENDS.test(type)) [end, code] = [response?.status, response?.error?.code];
    if (type === 'error' && end === undefined) code = error?.code;
  }
  if (client.writableFinished && !isFrames && (end === undefined || !isDone)) faults.push('the stream just ended');
  return { status, end, code: end === 'cancelled' ? 'request_cancelled' : code, faults };
}

function toFrames(text: string): Message[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((frame) => JSON.parse(frame) as Message);
}

function toEvents(text: string): (Message | '[DONE]')[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data === undefined) return [];
      return data === '[DONE]' ? '[DONE]' : (JSON.parse(data) as Message);
    });
}

/** Reads a chat completion. Its form is that of the backend. */
export function readChat({ statusCode: status, text, headers, writableEnded }: Client): Told {
  const code = /"code":\s*"([a-z_]+)"/.exec(text)?.[1];
  const nothing = { status, end: undefined, code, faults: [] };
  const isStream = headers['content-type']?.includes('event-stream') === true;
  const isOver = isStream ? text.includes('[DONE]') : writableEnded && text !== '';
  if (status !== 200) return { ...nothing, end: isOver ? 'error' : undefined };
  if (text.includes('"error"')) return { ...nothing, end: code === 'request_cancelled' ? 'cancelled' : 'failed' };
  return { ...nothing, end: isOver ? 'completed' : undefined };
}
