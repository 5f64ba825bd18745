/**
 * A client that speaks to the gateway over a WebSocket, frame by frame.
 *
 *     const speaker = await speakTo(gateway.url);
 *     speaker.send({ type: 'response.create', model: 'm', input: 'Hello' });
 *     const frames = await speaker.answer();
 *     speaker.close(); await speaker.closed;
 */

import { once } from 'node:events';
import { Ajv } from 'ajv';
import { WebSocket, type ClientOptions } from 'ws';
import errorSchema from '../../schemas/error.json' with { type: 'json' };
import eventSchema from '../../schemas/event.json' with { type: 'json' };
import requestRecordSchema from '../../schemas/request-record.json' with { type: 'json' };
import responseSchema from '../../schemas/response.json' with { type: 'json' };
import webSocketDuplicateSchema from '../../schemas/web-socket-duplicate.json' with { type: 'json' };
import webSocketErrorSchema from '../../schemas/web-socket-error.json' with { type: 'json' };
import type { ResponseEvent, WebSocketError } from '../../src/contract/types.ts';
import type { WebSocketDuplicate } from '../../src/contract/record-types.ts';
import { TEST_KEY } from './gateway.ts';

type Frame = ResponseEvent | WebSocketError | WebSocketDuplicate;
export type Answer = readonly ResponseEvent[] | WebSocketError;

export interface ConnectionContext {
  readonly ws: WebSocket;
  /** An object as JSON; anything else as it is. */
  send(frame: object | string | Buffer): void;
  /** The next frame. Rejects when the connection closes before. */
  next(): Promise<Frame>;
  /** The answer to the oldest request: an error, or all events to the terminal one. */
  answer(): Promise<Answer>;
  /** Asks for a response and waits for the answer. */
  ask(request: object): Promise<Answer>;
  close(): void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface SpeakOptions extends ClientOptions {
  readonly apiKey?: string;
  readonly path?: string;
}

/** Opens a WebSocket. Every frame that comes is held against the schemas. */
export async function speakTo(url: string, options: SpeakOptions = {}): Promise<ConnectionContext> {
  const { apiKey = TEST_KEY, path = '/api/v1/responses', headers, ...others } = options;
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, {
    ...others,
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
  });
  const frames: Frame[] = [];
  let waiting: (() => void)[] = [];
  let isClosed = false;
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once('close', (code, reason) => {
      isClosed = true;
      wake();
      resolve({ code, reason: String(reason) });
    });
  });
  ws.on('message', (data: Buffer) => {
    frames.push(readFrame(String(data)));
    wake();
  });
  await once(ws, 'open');
  ws.on('error', () => undefined);

  const speaker: ConnectionContext = {
    ws,
    send(frame) {
      ws.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
    },
    async next() {
      while (frames.length === 0) {
        if (isClosed) throw new Error('the connection is closed');
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      return frames.shift() as ResponseEvent;
    },
    async answer() {
      const first = await speaker.next();
      if ('status' in first) return first as WebSocketError;
      const events = [first];
      while (!isTerminal(events.at(-1))) events.push((await speaker.next()) as ResponseEvent);
      return events;
    },
    ask(request) {
      speaker.send({ type: 'response.create', ...request });
      return speaker.answer();
    },
    close: () => ws.close(),
    closed,
  };
  return speaker;

  function wake(): void {
    for (const resolve of waiting) resolve();
    waiting = [];
  }
}

export function isTerminal(event: ResponseEvent | undefined): boolean {
  return /^response\.(?:completed|incomplete|failed)$/.test(event?.type ?? '');
}

const ajv = new Ajv({ strict: true, discriminator: true, allowUnionTypes: true, keywords: ['tsType'] });
ajv.addSchema([responseSchema, errorSchema, requestRecordSchema]);
const isEvent = ajv.compile<ResponseEvent>(eventSchema);
const isError = ajv.compile<WebSocketError>(webSocketErrorSchema);
const isDuplicate = ajv.compile<WebSocketDuplicate>(webSocketDuplicateSchema);

function readFrame(text: string): Frame {
  const frame: unknown = JSON.parse(text);
  if (isEvent(frame) || isError(frame) || isDuplicate(frame)) return frame;
  throw new Error(
    `no frame of the schema: ${text} ${ajv.errorsText(isEvent.errors)} ${ajv.errorsText(isError.errors)}`,
  );
}
