import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { ERRORS, type ApiError } from '../core/errors.ts';
import { toRequestId } from '../core/ids.ts';
import type { ResponseEvent, WebSocketError } from '../contract/types.ts';
import type { Incoming } from '../requests/incoming.ts';
import { headersOf } from '../http/error-handler.ts';
import type { EventStream, EventStreamOptions } from '../http/responses/event-stream.ts';
import { untilWritable } from '../http/stalled-client.ts';
import type { RequestFacts } from '../requests/facts.ts';

/** The way back to the client of one request that came over a WebSocket. */
export interface FrameReply extends Omit<Incoming, 'caller' | 'idempotencyKey' | 'body'> {
  /** Begins the events of a response: one JSON object in each frame, and nothing else. */
  openStream(options: FrameStreamOptions): EventStream;
  /** An error frame, which is the whole reply. */
  fail(error: ApiError): void;
  /** The status of the reply; undefined until it has begun. */
  status(): number | undefined;
  /** The id of the request as the reply names it: a duplicate has the id of the first. */
  requestId(): string;
  /** Resolves when the client has the whole reply, with true, or is gone. */
  untilServed(): Promise<boolean>;
}

export type FrameStreamOptions = Pick<EventStreamOptions, 'signal' | 'eventMs' | 'keepAliveEvents'>;

export interface FrameReplyOptions {
  readonly ws: WebSocket;
  readonly socket: Socket;
  readonly facts: RequestFacts;
  readonly baseUrl: string;
}

const FOR_NOBODY: EventStream = { write: () => undefined, end: () => undefined };

/** What tells an error, with these headers beside those that belong to it. */
export function toErrorFrame(error: ApiError, headers: WebSocketError['headers'] = {}): WebSocketError {
  const told = { ...headers, ...headersOf(error) };
  return { type: 'error', status: error.status, error: error.toBody().error, headers: told };
}

/** The next reply over this connection, of which there is one at a time. */
export function openFrameReply({ ws, socket, facts, baseUrl }: FrameReplyOptions): FrameReply {
  const headers: Record<string, string> = { 'x-request-id': toRequestId(facts.unique) };
  const listeners: ((hasWholeReply: boolean) => void)[] = [];
  let status: number | undefined;
  /** Frames which the connection has not taken yet. */
  let unsent = 0;
  let isWhole = false;
  let isServed = false;
  const onClose = (): void => settle(false);
  ws.once('close', onClose);

  return {
    facts,
    baseUrl: () => baseUrl,
    status: () => status,
    requestId: () => headers['x-request-id'] ?? '',
    hasReplyBegun: () => status !== undefined,
    isServed: () => isServed || ws.readyState !== WebSocket.OPEN,
    onceServed: (listener) => void listeners.push(listener),
    async untilServed() {
      if (!isServed) await new Promise<void>((resolve) => listeners.push(() => resolve()));
      return isWhole && unsent === 0;
    },
    setHeader(name, value) {
      headers[name] = value;
    },
    sendDuplicate(request, error) {
      reply({ type: 'error', status: ERRORS.duplicate_request.status, error, headers, request });
    },
    fail(error) {
      // Half of a response must not look like a whole one.
      const isCut = status !== undefined;
      reply(toErrorFrame(error, headers));
      if (isCut) ws.close(1011);
    },
    openStream,
  };

  function openStream({ signal, eventMs, keepAliveEvents }: FrameStreamOptions): EventStream {
    if (isServed) return FOR_NOBODY;
    const silence = setTimeout(() => {
      // A client that does not read needs no sign of life, and must not cost memory.
      if (!socket.writableNeedDrain) for (const event of keepAliveEvents()) send(event, 200);
      silence.refresh();
    }, eventMs);

    return {
      write(events) {
        if (events.length === 0 || isServed) return undefined;
        silence.refresh();
        sendAll(events);
        return socket.writableNeedDrain ? untilWritable(socket, signal) : undefined;
      },
      end(events) {
        clearTimeout(silence);
        if (!isServed) sendAll(events);
        finish();
      },
    };
  }

  function sendAll(events: readonly ResponseEvent[]): void {
    socket.cork();
    for (const event of events) send(event, 200);
    socket.uncork();
  }

  function reply(frame: WebSocketError): void {
    send(frame, frame.status);
    finish();
  }

  function send(frame: object, statusOfFrame: number): void {
    // What is sent into a connection that closes reaches nobody.
    if (ws.readyState === WebSocket.OPEN) status = statusOfFrame;
    unsent += 1;
    ws.send(JSON.stringify(frame), onSent);
  }

  function onSent(error?: Error | null): void {
    if (error !== undefined && error !== null) {
      settle(false);
      return;
    }
    unsent -= 1;
    if (isWhole && unsent === 0) settle(true);
  }

  function finish(): void {
    isWhole = true;
    if (unsent === 0) settle(true);
  }

  function settle(hasWholeReply: boolean): void {
    if (isServed) return;
    isServed = true;
    ws.off('close', onClose);
    if (!hasWholeReply) facts.errorCode ??= 'client_disconnected';
    for (const listener of listeners) listener(hasWholeReply);
  }
}
