import { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
// To load all of undici takes a sixth of the CPU of a start. It does not export its pool by itself.
import UndiciPool from 'undici/lib/dispatcher/pool.js';
import { ApiError } from '../core/errors.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { connectionFailure, proxyFailure, timedOut, type ConnectionPhase } from './connection-failures.ts';
import { createOutbound, type OutboundOptions, type Relayed } from './outbound.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import { createReuse, createReusedClient, MAX_AGE_MS, type Reuse } from './reuse.ts';

/** Parts that follow each other are not joined, since they may be large. */
export type RequestBody = string | Buffer | readonly Uint8Array[];

export interface ConnectionOptions {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | null;
  /** Its abort has no effect once the backend has ended its answer. */
  readonly signal: StopSignal;
  /** Applies until `limitSilence` or `limitTotal` is called. */
  readonly firstByteTimeoutMs: number;
}

/**
 * Gets undefined at the clean end. While a promise that it has returned is pending, nothing more is
 * read. An error that it throws ends the connection.
 */
export type TakeBytes = (bytes: Uint8Array | undefined) => Promise<void> | undefined;

export interface BackendConnection {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /**
   * Resolves after the clean end, or after `release`. Rejects with an ApiError, with the reason of
   * the signal, or with what `take` throws.
   */
  pipe(take: TakeBytes): Promise<void>;
  /** Limits the time between two reads; the time in which the reader is busy does not count. */
  limitSilence(timeoutMs: number): void;
  /** Limits the time to the end; it starts again each time the reader has been busy. */
  limitTotal(timeoutMs: number): void;
  /** Drops the rest of the answer. The connection can be used again if the answer ends soon. */
  release(): void;
  abort(): void;
}

const PIECE_BYTES = 2 * 1024 * 1024;
/** Node makes 32 reads of 64 KiB in one turn of the event loop. After so much others have their turn. */
const TURN_BYTES = 128 * 1024;
const LINGER_MS = 1000;
const MAX_LINGERING_BYTES = 64 * 1024;
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export interface PoolOptions extends OutboundOptions {
  /** What is known of other connections to this backend. */
  readonly reuse?: Reuse;
}

export type BackendPool = Pool & Relayed;

/** Opens the connections to one backend. Each request has its own limits of time. */
export function openPool(origin: string, { reuse = createReuse(), ...options }: PoolOptions): BackendPool {
  const { connect, relay } = createOutbound(origin, options);
  const pool = new UndiciPool(origin, {
    factory: (url, options) => createReusedClient(url, options, reuse),
    connections: null,
    // One request per connection: its abort closes a socket, and its pause holds up no other
    // request.
    pipelining: 1,
    allowH2: false,
    clientTtl: MAX_AGE_MS,
    connect: (_target, callback) => connect(callback),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return Object.assign(pool, { relay });
}

/** Resolves with the status and headers of the answer. Throws ApiError, or the signal's reason. */
export function openConnection(
  pool: Dispatcher & Partial<Relayed>,
  options: ConnectionOptions,
): Promise<BackendConnection> {
  options.signal.throwIfAborted();
  const connection = new UndiciConnection(options);
  const { relay } = pool;
  const { body } = options;
  const path = relay === undefined ? options.path : relay.origin + options.path;
  const headers = relay === undefined ? options.headers : { ...options.headers, ...relay.headers };
  const sent =
    body === null ? { method: 'GET' as const, body, headers } : { method: 'POST' as const, ...toSent(body, headers) };
  pool.dispatch({ path, ...sent }, connection);
  return connection.opened;
}

/** Returns the whole answer; undefined for one of more bytes. Throws as `pipe` does. */
export async function readWhole(connection: BackendConnection, maxBytes: number): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  await connection.pipe((bytes = new Uint8Array()) => {
    pieces.push(bytes);
    length += bytes.length;
    if (length > maxBytes) connection.release();
    return undefined;
  });
  return length > maxBytes ? undefined : Buffer.concat(pieces);
}

/** A large body is written in pieces as the backend reads them, so that others have their turn between them. */
function toSent(
  body: RequestBody,
  headers: ConnectionOptions['headers'],
): Pick<Dispatcher.RequestOptions, 'body' | 'headers'> {
  if (typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= PIECE_BYTES)) return { body, headers };
  const parts = Buffer.isBuffer(body) ? [body] : body;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const pieces = Readable.from(parts.flatMap(piecesOf));
  return { body: pieces, headers: { ...headers, 'content-length': String(length) } };
}

function piecesOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / PIECE_BYTES) }, (_, index) =>
    bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
  );
}

type Ending = { readonly kind: 'clean' } | { readonly kind: 'failed'; readonly reason: unknown };

interface Reader {
  readonly take: TakeBytes;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** undici asks for a handler object: it calls the `on…` methods, the reader calls the others. */
class UndiciConnection implements BackendConnection, Dispatcher.DispatchHandler {
  readonly opened: Promise<BackendConnection>;
  status = 0;
  headers: ReplyHeaders = {};

  readonly #signal: StopSignal;
  readonly #onAbort = (): void => this.#giveUp(this.#signal.reason);
  /**
   * undici calls `onResponseData` once per HTTP chunk. A backend may send each event as one, so a
   * burst of 200 would be 200 writes to the client.
   */
  readonly #passRead = (): void => {
    if (this.#released || this.#waiting.length === 0) return;
    if (!this.#isBusy && this.#limits === 'silence') this.#timer?.refresh();
    this.#bytesInTurn += this.#waiting.reduce((sum, { length }) => sum + length, 0);
    if (this.#isOver()) setImmediate(this.#beginTurn);
    this.#flow();
    if (this.#released || this.#ending !== undefined) return;
    if (this.#isBusy || this.#isOver()) this.#controller?.pause();
  };
  readonly #beginTurn = (): void => {
    this.#bytesInTurn = 0;
    if (!this.#isBusy) this.#controller?.resume();
  };
  readonly #resolveOpened: (connection: BackendConnection) => void;
  readonly #rejectOpened: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #ending: Ending | undefined;
  #released = false;
  #lingeringBytes = 0;

  #reader: Reader | undefined;
  /** Is true without a reader too, so that the bytes wait for one. */
  #isBusy = true;
  #waiting: Buffer[] = [];
  #bytesInTurn = 0;

  #reads = 0;
  #timer: NodeJS.Timeout | undefined;
  #timeoutMs: number;
  /** Only the first byte is waited for while the reader is busy. */
  #limits: 'first byte' | 'silence' | 'total' = 'first byte';

  constructor({ signal, firstByteTimeoutMs }: ConnectionOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<BackendConnection>();
    this.opened = promise;
    this.#resolveOpened = resolve;
    this.#rejectOpened = reject;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
    this.#timeoutMs = firstByteTimeoutMs;
    this.#startTimer();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // A request that was given up while the connection was being made is never written.
    if (this.#ending === undefined) this.#timer?.refresh();
    else this.#closeSocket();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    if (status < 200) return;
    if (status === 407) return this.#fail(connectionFailure(proxyFailure(status), 'connecting'));
    this.status = status;
    this.headers = headers;
    this.#resolveOpened(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#released) {
      this.#lingeringBytes += bytes.length;
      if (this.#lingeringBytes > MAX_LINGERING_BYTES) this.#closeSocket();
      return;
    }
    if (this.#ending !== undefined) return;
    this.#reads += 1;
    this.#waiting.push(bytes);
    if (this.#waiting.length === 1) queueMicrotask(this.#passRead);
  }

  onResponseEnd(): void {
    this.#end({ kind: 'clean' });
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#end({ kind: 'failed', reason: connectionFailure(error, this.#phase()) });
  }

  pipe(take: TakeBytes): Promise<void> {
    if (this.#reader !== undefined) throw new Error('the connection has a reader already');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#reader = { take, resolve, reject };
    this.#goOn();
    return promise;
  }

  limitSilence(timeoutMs: number): void {
    if (!this.#released) this.#limit(timeoutMs, 'silence');
  }

  limitTotal(timeoutMs: number): void {
    if (!this.#released) this.#limit(timeoutMs, 'total');
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#waiting = [];
    this.#signal.removeEventListener('abort', this.#onAbort);
    if (this.#ending === undefined) {
      this.#limit(LINGER_MS, 'total');
      this.#controller?.resume();
    }
  }

  abort(): void {
    if (!this.#released)
      this.#giveUp(new ApiError('upstream_error', { message: 'The request to the backend was given up.' }));
  }

  #pass(bytes: Buffer | undefined): void {
    try {
      const busy = this.#reader?.take(bytes);
      if (busy === undefined) {
        if (this.#released) this.#reader?.resolve();
        return;
      }
      this.#isBusy = true;
      if (this.#limits !== 'first byte' && !this.#released) this.#stopTimer();
      busy.then(
        () => this.#goOn(),
        (error: unknown) => this.#leave(error),
      );
    } catch (error) {
      this.#leave(error);
    }
  }

  #goOn(): void {
    this.#isBusy = false;
    if (this.#released) {
      this.#reader?.resolve();
      return;
    }
    this.#flow();
    if (this.#isBusy || this.#ending !== undefined || this.#released) return;
    if (this.#limits !== 'first byte') this.#startTimer();
    if (!this.#isOver()) this.#controller?.resume();
  }

  /** Whether the turn of this connection is over. Its client may take what was read at once, which begins no other. */
  #isOver(): boolean {
    return this.#bytesInTurn >= TURN_BYTES;
  }

  #flow(): void {
    if (!this.#isBusy && this.#waiting.length > 0) this.#pass(this.#takeWaiting());
    if (this.#isBusy || this.#released || this.#ending === undefined) return;
    if (this.#ending.kind === 'failed') this.#reader?.reject(this.#ending.reason);
    else this.#passEnd();
  }

  #takeWaiting(): Buffer | undefined {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting.length === 1 ? waiting[0] : Buffer.concat(waiting);
  }

  #passEnd(): void {
    if (this.#reader === undefined) return;
    const { take, resolve, reject } = this.#reader;
    try {
      const busy = take(undefined);
      if (busy === undefined) resolve();
      else busy.then(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  /** A released connection may still be used again. */
  #leave(error: unknown): void {
    if (this.#released) this.#reader?.reject(error);
    else this.#giveUp(error);
  }

  #limit(timeoutMs: number, limits: 'silence' | 'total'): void {
    if (this.#ending !== undefined) return;
    this.#timeoutMs = timeoutMs;
    this.#limits = limits;
    this.#stopTimer();
    if (!this.#isBusy || this.#released) this.#startTimer();
  }

  #startTimer(): void {
    this.#stopTimer();
    const timer = setTimeout(() => this.#expire(timer), Math.min(this.#timeoutMs, MAX_TIMEOUT_MS));
    this.#timer = timer;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Reads what has arrived before it fails: the process may have stood still, and not the backend.
   */
  #expire(timer: NodeJS.Timeout): void {
    const reads = this.#reads;
    setImmediate(() => {
      if (this.#timer !== timer) return;
      if (this.#limits === 'silence' && this.#reads !== reads) this.#startTimer();
      else this.#giveUpWaiting();
    });
  }

  #giveUpWaiting(): void {
    if (this.#released) return this.#closeSocket();
    this.#fail(timedOut(this.#limits === 'first byte' ? 'waiting' : 'answering'));
  }

  #giveUp(reason: unknown): void {
    this.#waiting = [];
    if (this.#ending === undefined) this.#fail(reason);
    else this.#ending = { kind: 'failed', reason };
    this.#reader?.reject(reason);
  }

  #fail(reason: unknown): void {
    if (this.#ending !== undefined) return;
    this.#end({ kind: 'failed', reason });
    this.#closeSocket();
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#stopTimer();
    this.#signal.removeEventListener('abort', this.#onAbort);
    if (ending.kind === 'failed') this.#rejectOpened(ending.reason);
    this.#flow();
  }

  #closeSocket(): void {
    this.#controller?.abort(new Error('the request to the backend is over'));
  }

  #phase(): ConnectionPhase {
    if (this.#controller === undefined) return 'connecting';
    return this.status === 0 ? 'waiting' : 'answering';
  }
}
