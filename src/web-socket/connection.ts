import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { watchBytes } from '../wire/pace.ts';
import { readPiece } from '../wire/event-loop.ts';
import { WebSocket } from 'ws';
import { ApiError, toApiError } from '../core/errors.ts';
import { toRequestId, type NewUniquePart } from '../core/ids.ts';
import type { RequestId } from '../contract/ids.ts';
import type { Load } from '../access/load.ts';
import type { Share } from '../access/shares.ts';
import type { Caller } from '../accounts/caller.ts';
import { yieldToEventLoop } from '../requests/soon.ts';
import type { Observe, Observed } from '../telemetry/observe.ts';
import { noteFailure } from '../requests/noted-failure.ts';
import { watchStall } from '../access/stalled-client.ts';
import { readControl } from './frames.ts';
import { openFrameReader, type FrameReader, type FrameReaderOptions } from './frame-reader.ts';
import { openFrameReply, toErrorFrame, type FrameReply } from './frame-reply.ts';

/** `ws` closes what it cannot read on; its owner can send a last frame before that. */
export class ClosingWebSocket extends WebSocket {
  beforeClose: ((code: number) => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    if (code !== undefined && this.readyState === WebSocket.OPEN) this.beforeClose?.(code);
    super.close(code, reason);
  }
}

export interface Opened {
  readonly ws: ClosingWebSocket;
  readonly socket: Socket;
  readonly holder: Caller['holder'];
  readonly baseUrl: string;
  readonly log: Logger;
  readonly traceHeaders: IncomingHttpHeaders;
}

export interface Frame {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
  readonly share: Share;
}

export interface ConnectionOptions {
  /** Throws the ApiError of a failure that has not been sent. */
  readonly serveFrame: (frame: Frame, reply: FrameReply) => Promise<void>;
  /** Counts a message that could not be read. */
  readonly countUnread: (reason: ApiError) => Promise<void>;
  readonly cancel: (requestId: RequestId) => Promise<void>;
  readonly observe: Observe;
  readonly newUniquePart: NewUniquePart;
  readonly load: Load;
  readonly webSocketIdleTimeoutMs: number;
  readonly webSocketMaxAgeMs: number;
  /** A silent client is pinged after this time, so that proxies keep the connection open. */
  readonly keepaliveCommentMs: number;
  readonly maxBodyBytes: number;
  readonly clientStallMs: number;
}

export interface Connection {
  /** Closes the connection when its requests are answered, at once if there are none. */
  leave(): void;
  terminate(): void;
}

const MAX_WAITING = 16;
/** Further frames are refused. Beyond this number nothing is read until there is room. */
const MAX_REFUSED = 64;
/** In one turn of the event loop. */
const REFUSED_AT_ONCE = 6;

interface Waiting {
  readonly observed: Observed;
  readonly frame: Frame | ApiError;
}

/**
 * Answers the frames of one connection in order, errors too: a client takes what it reads for the
 * answer to its oldest request.
 */
export function openConnection(opened: Opened, options: ConnectionOptions): Connection {
  const { ws, socket, log, baseUrl, holder } = opened;
  const { observe, newUniquePart, load } = options;
  const reading = load.bodyBytes.open(holder);
  const waiting: Waiting[] = [];
  let isServing = false;
  /** What can be cancelled, once, and again if that has failed. */
  let running: { readonly requestId: RequestId; isCancelled: boolean } | undefined;
  let isLeaving = false;
  let isOld = false;

  let idle = openIdle();
  const age = setTimeout(() => {
    isOld = true;
    if (!isServing) rest();
  }, options.webSocketMaxAgeMs);
  const ping = setInterval(() => {
    if (!socket.writableNeedDrain) ws.ping();
  }, options.keepaliveCommentMs);

  let stopWatching: (() => void) | undefined;
  const frames = readFrames({ ws, socket, maxBytes: options.maxBodyBytes, takeBytes, afterRead: watchHalfRead });
  const stopStallWatch = watchStall(
    () => socket,
    options.clientStallMs,
    () => ws.terminate(),
  );
  ws.on('message', (data: Buffer, isBinary) => receive(frames.message() ?? data, isBinary));
  ws.beforeClose = (code) => {
    const reason = UNREADABLE.get(code);
    if (reason !== undefined) refuse(reason(options));
  };
  ws.once('close', () => {
    clearTimeout(idle);
    clearTimeout(age);
    clearInterval(ping);
    stopStallWatch();
    stopWatch();
    frames.stop();
    reading.release();
  });

  return {
    leave() {
      isLeaving = true;
      if (!isServing) rest();
    },
    terminate: () => ws.terminate(),
  };

  /** Counts what comes in load, like a body that arrives. */
  function takeBytes(bytes: number): boolean {
    if (!isOpen()) return false;
    try {
      reading.take(bytes);
      return true;
    } catch (thrown) {
      refuse(toApiError(thrown));
      close(1013);
      ws.pause();
      return false;
    }
  }

  /** Holds a message to the pace of a body, from the bytes on that came just now. */
  function watchHalfRead(bytes = 0): void {
    if (!frames.isHalfRead() || !isOpen()) {
      stopWatch();
      return;
    }
    stopWatching ??= watchBytes({
      bytesBefore: socket.bytesRead - bytes,
      bytesNow: () => socket.bytesRead,
      isPaused: () => ws.isPaused || socket.isPaused(),
      onSlow() {
        refuse(new ApiError('request_timeout', { message: 'The message came too slowly.' }));
        frames.stop();
        ws.beforeClose = undefined;
        close(1008);
      },
    });
  }

  function stopWatch(): void {
    stopWatching?.();
    stopWatching = undefined;
  }

  function receive(bytes: Buffer, isBinary: boolean): void {
    stopWatch();
    reading.release();
    if (readControl(bytes) === 'response.cancel' && running?.isCancelled === false) {
      const cancelled = running;
      cancelled.isCancelled = true;
      // The response ends with `response.failed`. A cancel that was late has no answer of its own.
      options.cancel(cancelled.requestId).catch((err: unknown) => {
        cancelled.isCancelled = false;
        log.error({ err }, 'a cancel over a WebSocket failed');
      });
      return;
    }
    waiting.push({ observed: begin(), frame: admit(bytes, isBinary) });
    if (waiting.length >= MAX_REFUSED) ws.pause();
    if (!isServing) void serveAll();
  }

  function begin(): Observed {
    return observe({
      unique: newUniquePart(),
      endpoint: 'responses',
      method: 'GET',
      headers: opened.traceHeaders,
      log,
    });
  }

  function admit(bytes: Buffer, isBinary: boolean): Frame | ApiError {
    if (waiting.length >= MAX_WAITING) return tooManyWaiting();
    let share: Share | undefined;
    try {
      share = load.enter(holder);
      share.take(bytes.length);
      return { bytes, isBinary, share };
    } catch (error) {
      share?.release();
      return toApiError(error);
    }
  }

  async function serveAll(): Promise<void> {
    isServing = true;
    clearTimeout(idle);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await (next.frame instanceof ApiError ? refuseAll(next) : answer(next));
      if (ws.isPaused && isOpen() && waiting.length < MAX_WAITING) {
        ws.resume();
        frames.resume();
        watchHalfRead();
      }
      // Thousands of frames that are refused at once would hold up all other connections.
      if (waiting.length > 0) await yieldToEventLoop();
    }
    isServing = false;
    if (isOpen()) idle = openIdle();
    rest();
  }

  /** Refusals that follow each other go out in one write, since a write is half of their work. */
  async function refuseAll(first: Waiting): Promise<void> {
    socket.cork();
    const answers = [answer(first)];
    while (answers.length < REFUSED_AT_ONCE && waiting[0]?.frame instanceof ApiError) {
      answers.push(answer(waiting[0]));
      waiting.shift();
    }
    socket.uncork();
    await Promise.all(answers);
  }

  async function answer({ observed: { facts, end }, frame }: Waiting): Promise<void> {
    const bytesBefore = socket.bytesWritten;
    const takeBytes = (bytes: number): void => {
      if (!(frame instanceof ApiError)) frame.share.take(bytes);
    };
    const reply = openFrameReply({ ws, socket, facts, baseUrl, takeBytes });
    try {
      if (frame instanceof ApiError) throw frame;
      if (reply.isServed()) throw new ApiError('client_disconnected');
      if (isOld) throw new ApiError('websocket_connection_limit_reached');
      const serving = { requestId: toRequestId(facts.unique), isCancelled: false };
      running = serving;
      await options.serveFrame(frame, { ...reply, isCancelled: () => serving.isCancelled });
    } catch (thrown) {
      const isSteer = !(frame instanceof ApiError) && readControl(frame.bytes) === 'response.steer';
      reply.fail(noteFailure(thrown, facts), isSteer ? 'response.steer.failed' : 'error');
    }
    running = undefined;
    const bytes = socket.bytesWritten - bytesBefore;
    await reply.untilServed();
    if (!(frame instanceof ApiError)) frame.share.release();
    end({ status: reply.status(), bytes, requestId: reply.requestId() });
  }

  function refuse(reason: ApiError): void {
    // A key that is no longer one has no minute.
    options.countUnread(reason).catch(() => undefined);
    void answer({ observed: begin(), frame: reason });
  }

  function rest(): void {
    if (isOld) {
      ws.send(JSON.stringify(toErrorFrame(new ApiError('websocket_connection_limit_reached'))));
      close(1000);
    } else if (isLeaving) {
      close(1001);
    }
  }

  function openIdle(): NodeJS.Timeout {
    return setTimeout(() => close(1000), options.webSocketIdleTimeoutMs);
  }

  function isOpen(): boolean {
    return ws.readyState === WebSocket.OPEN;
  }

  function close(code: number): void {
    ws.close(code, WHY_CLOSED[code]);
  }
}

/** RFC 6455, section 7.4.1, and the registry it names. */
const WHY_CLOSED: Readonly<Record<number, string>> = {
  1000: 'the connection is over',
  1001: 'the gateway is shutting down',
  1008: 'a message came too slowly',
  1013: 'the gateway has too much to do',
};

/** Stands between the socket and `ws`, which reads it by one listener. */
function readFrames({
  ws,
  socket,
  afterRead,
  ...options
}: Pick<Opened, 'ws' | 'socket'> &
  Pick<FrameReaderOptions, 'maxBytes' | 'takeBytes'> & { readonly afterRead: (bytes: number) => void }): FrameReader {
  const listeners = socket.listeners('data');
  const pass = (bytes: Buffer): void => {
    for (const listener of listeners) Reflect.apply(listener, socket, [bytes]);
  };
  const reader = openFrameReader({ ...options, pass, isPaused: () => ws.isPaused });
  socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
    reader.read(bytes);
    afterRead(bytes.length);
    if (!reader.isCollecting()) return;
    socket.pause();
    readPiece(() => {
      if (!ws.isPaused) socket.resume();
    });
  });
  ws.on('error', () => reader.stop());
  return reader;
}

/** After a frame that cannot be read, nothing can be read. */
const UNREADABLE = new Map<number, (limits: ConnectionOptions) => ApiError>([
  [1002, () => new ApiError('invalid_request', { message: 'This is not a valid WebSocket frame.' })],
  [1007, () => new ApiError('invalid_json', { message: 'The frame is not valid UTF-8.' })],
  [1008, () => new ApiError('payload_too_large', { message: 'The frame came in too many pieces.' })],
  [
    1009,
    ({ maxBodyBytes }) =>
      new ApiError('payload_too_large', { message: `A frame may have at most ${maxBodyBytes} bytes.` }),
  ],
]);

function tooManyWaiting(): ApiError {
  return new ApiError('rate_limit_exceeded', {
    message: `At most ${MAX_WAITING} requests may wait on one connection. Wait for an answer, or open more connections.`,
  });
}
