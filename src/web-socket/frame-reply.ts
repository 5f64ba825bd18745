import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { ApiError } from '../core/errors.ts';
import { toRequestId } from '../core/ids.ts';
import type { ResponseEvent, WebSocketError } from '../contract/types.ts';
import type { WebSocketDuplicate } from '../contract/record-types.ts';
import type { EventSink, EventStreamOptions, ReplyChannel } from '../requests/incoming.ts';
import { headersOf } from '../requests/noted-failure.ts';
import { createPiecesWriter, type Pieces } from '../wire/json-pieces.ts';
import { countUnread, awaitWritable, heldBytesOf } from '../access/stalled-client.ts';
import type { RequestFacts } from '../telemetry/facts.ts';

export interface FrameReply extends ReplyChannel {
  openStream(options: EventStreamOptions): EventSink;
  fail(error: ApiError, type?: WebSocketError['type']): void;
  /** Undefined before the reply begins. */
  status(): number | undefined;
  /** A duplicate has the id of the original. */
  requestId(): string;
  /** Resolves with true when the client has the whole reply, with false if it has disconnected. */
  untilServed(): Promise<boolean>;
}

export interface FrameReplyOptions {
  readonly ws: WebSocket;
  readonly socket: Socket;
  readonly facts: RequestFacts;
  readonly baseUrl: string;
  /** Counts an answer that its client does not read. */
  readonly takeBytes: (bytes: number) => void;
}

const FOR_NOBODY: EventSink = { write: () => undefined, end: () => undefined };

/** Returns the error frame, with these headers and those of the error. */
export function toErrorFrame(error: ApiError, headers: WebSocketError['headers'] = {}): WebSocketError {
  const allHeaders = { ...headers, ...headersOf(error, headers['x-should-retry']) };
  return { type: 'error', status: error.status, error: error.toBody().error, headers: allHeaders };
}

/** Opens the reply to the next request. There is one at a time. */
export function openFrameReply({ ws, socket, facts, baseUrl, takeBytes }: FrameReplyOptions): FrameReply {
  const headers: Record<string, string> = { 'x-request-id': toRequestId(facts.unique) };
  const listeners: ((hasWholeReply: boolean) => void)[] = [];
  let status: number | undefined;
  let unsent = 0;
  let isWhole = false;
  let isServed = false;
  const noteUnread = countUnread(takeBytes, () => ws.terminate());
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
    sendDuplicate(duplicateStatus, request, error) {
      const frame = { status: duplicateStatus, headers, request };
      reply(error === undefined ? { type: 'duplicate', ...frame } : { type: 'error', ...frame, error });
    },
    fail(error, type = 'error') {
      // A response that is cut off must not look complete.
      const isCut = status !== undefined;
      reply({ ...toErrorFrame(error, headers), type });
      if (isCut) ws.close(1011);
    },
    openStream,
  };

  function openStream({ translator, signal, eventMs, echo }: EventStreamOptions): EventSink {
    if (isServed) return FOR_NOBODY;
    const pieces = createPiecesWriter(echo);
    const untilWritable = awaitWritable(socket, signal);
    const silence = setTimeout(() => {
      // A client that does not read needs no keep-alive, which would only fill memory.
      if (!socket.writableNeedDrain) sendAll(translator.keepAlive());
      silence.refresh();
    }, eventMs);

    return {
      write(events) {
        if (events.length === 0 || isServed) return undefined;
        silence.refresh();
        sendAll(events);
        if (!socket.writableNeedDrain) return undefined;
        noteUnread(heldBytesOf(translator));
        return untilWritable();
      },
      end(events) {
        clearTimeout(silence);
        if (!isServed) sendAll(events);
        if (socket.writableNeedDrain) noteUnread(heldBytesOf(translator));
        finish();
      },
    };

    function sendAll(events: readonly ResponseEvent[]): void {
      socket.cork();
      for (const event of events) send(pieces.event(event) ?? [JSON.stringify(event)], 200);
      socket.uncork();
    }
  }

  function reply(frame: WebSocketError | WebSocketDuplicate): void {
    send([JSON.stringify(frame)], frame.status);
    finish();
  }

  /** Each piece is a fragment of one message, so that long ones are not copied. */
  function send(frame: Pieces, statusOfFrame: number): void {
    // A closing connection drops what is sent.
    if (ws.readyState === WebSocket.OPEN) status = statusOfFrame;
    unsent += 1;
    const last = frame.length - 1;
    for (const [index, piece] of frame.entries()) {
      ws.send(piece, { binary: false, fin: index === last }, index === last ? onSent : undefined);
    }
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
