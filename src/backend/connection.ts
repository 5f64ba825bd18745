/** One request to the backend through undici: its bytes at the reader's pace, its timers, and its end in every way it can end. */

import type { Dispatcher } from 'undici';
import { ApiError } from '../core/errors.ts';
import { connectionFailure, type ExchangePhase } from './connection-failures.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import type { StopSignal } from '../core/stop-signal.ts';

export interface ExchangeOptions {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null asks by GET. */
  readonly body: string | Buffer | null;
  /** Its abort closes the socket at once, and everything that waits here throws its reason. */
  readonly signal: StopSignal;
  /** Until the reader says what it waits for next. */
  readonly firstByteTimeoutMs: number;
}

export interface Exchange {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** All the bytes that came since the last time; undefined at the clean end. Throws ApiError, or the signal's reason. */
  take(): Uint8Array | typeof NOTHING_YET | undefined;
  /** Calls the listener once, as soon as there is something to take, the end and failures too. One listens at a time. */
  onceReadable(listener: () => void): void;
  /** As `take`, and waits for it. */
  read(): Promise<Uint8Array | undefined>;
  /** From now on so much time may pass between two reads from the network, while the reader keeps up. */
  limitSilence(timeoutMs: number): void;
  /** From now on so much time may pass altogether. */
  limitTotal(timeoutMs: number): void;
  /** Nothing more is wanted. The connection can be used again when the backend ends its reply soon. */
  release(): void;
  /** Closes the socket at once. */
  abort(): void;
}

/** What is taken when nothing has come since the last time. */
export const NOTHING_YET = Symbol('nothing yet');

/** What may wait in this process for a slow reader; past that the socket is not read, and the backend has to wait. */
const MAX_WAITING_BYTES = 128 * 1024;
/** What a reply may still bring after its `[DONE]`, for the connection to be worth keeping. */
const LINGER_MS = 1000;
const MAX_LINGERING_BYTES = 64 * 1024;
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Sends the request and resolves with the status and headers of its answer. Throws ApiError, or the signal's reason. */
export function openExchange(dispatcher: Dispatcher, options: ExchangeOptions): Promise<Exchange> {
  options.signal.throwIfAborted();
  const exchange = new UndiciExchange(options);
  const { path, headers, body } = options;
  dispatcher.dispatch({ method: body === null ? 'GET' : 'POST', path, headers, body }, exchange);
  return exchange.opened;
}

/** What `take` makes of what comes to the exchange, as soon as there is anything. Throws what `take` throws. */
export async function whenTaken<T>(exchange: Exchange, take: () => T | typeof NOTHING_YET): Promise<T> {
  for (;;) {
    const taken = take();
    if (taken !== NOTHING_YET) return taken;
    await new Promise<void>((resolve) => exchange.onceReadable(resolve));
  }
}

type Ending = { readonly kind: 'clean' } | { readonly kind: 'failed'; readonly reason: unknown };

/** undici asks for a handler object, so this is one of the few classes. Its `on…` methods are undici's, the others the reader's. */
class UndiciExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly opened: Promise<Exchange>;
  status = 0;
  headers: ReplyHeaders = {};

  readonly #signal: StopSignal;
  readonly #onAbort = (): void => this.#giveUp(this.#signal.reason);
  readonly #resolveOpened: (exchange: Exchange) => void;
  readonly #rejectOpened: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #ending: Ending | undefined;
  #released = false;
  #lingeringBytes = 0;

  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #paused = false;
  #wakeReader: (() => void) | undefined;

  #timer: NodeJS.Timeout | undefined;
  #timeoutMs: number;
  #refreshing = false;

  constructor({ signal, firstByteTimeoutMs }: ExchangeOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
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
    // Given up while the connection was being made: nothing has been written yet, and nothing will be.
    if (this.#ending === undefined) this.#timer?.refresh();
    else this.#closeSocket();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    if (status < 200) return;
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
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) {
      this.#paused = true;
      controller.pause();
      // The silence is ours now.
      if (this.#refreshing) this.#stopTimer();
    } else if (this.#refreshing) {
      this.#timer?.refresh();
    }
    this.#wake();
  }

  onResponseEnd(): void {
    this.#end({ kind: 'clean' });
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#end({ kind: 'failed', reason: connectionFailure(error, this.#phase()) });
  }

  take(): Uint8Array | typeof NOTHING_YET | undefined {
    if (this.#waitingBytes > 0) return this.#takeWaiting();
    if (this.#ending === undefined) return NOTHING_YET;
    if (this.#ending.kind === 'failed') throw this.#ending.reason;
    return undefined;
  }

  onceReadable(listener: () => void): void {
    if (this.#wakeReader !== undefined) throw new Error('the exchange is being read already');
    if (this.#waitingBytes > 0 || this.#ending !== undefined) listener();
    else this.#wakeReader = listener;
  }

  read(): Promise<Uint8Array | undefined> {
    return whenTaken(this, () => this.take());
  }

  limitSilence(timeoutMs: number): void {
    if (!this.#released) this.#limit(timeoutMs, true);
  }

  limitTotal(timeoutMs: number): void {
    if (!this.#released) this.#limit(timeoutMs, false);
  }

  release(): void {
    if (this.#ending !== undefined || this.#released) return;
    this.#released = true;
    this.#drop();
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#limit(LINGER_MS, false);
    this.#resume();
  }

  abort(): void {
    if (this.#released) return;
    // Most exchanges have ended by then, and to make an error with its stack took 4 % of the time of a JSON request.
    if (this.#ending !== undefined) this.#drop();
    else this.#giveUp(new ApiError('upstream_error', { message: 'The exchange was given up.' }));
  }

  #wake(): void {
    const listener = this.#wakeReader;
    this.#wakeReader = undefined;
    listener?.();
  }

  #takeWaiting(): Uint8Array {
    const [first] = this.#waiting;
    const bytes = first !== undefined && this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#drop();
    this.#resume();
    return bytes;
  }

  #drop(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  /** Never after the end: the connection may belong to another exchange by then. */
  #resume(): void {
    if (!this.#paused || this.#ending !== undefined) return;
    this.#paused = false;
    if (this.#refreshing) this.#startTimer();
    this.#controller?.resume();
  }

  #limit(timeoutMs: number, refreshing: boolean): void {
    if (this.#ending !== undefined) return;
    this.#timeoutMs = timeoutMs;
    this.#refreshing = refreshing;
    this.#stopTimer();
    if (!(this.#paused && refreshing)) this.#startTimer();
  }

  #startTimer(): void {
    this.#stopTimer();
    this.#timer = setTimeout(() => this.#expire(), Math.min(this.#timeoutMs, MAX_TIMEOUT_MS));
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
  }

  #expire(): void {
    if (this.#released) return this.#closeSocket();
    const message = this.#refreshing
      ? 'The backend went silent in the middle of its answer.'
      : 'The backend did not begin to answer in time.';
    this.#fail(new ApiError('upstream_timeout', { message }));
  }

  /** What is still waiting is not wanted any more. */
  #giveUp(reason: unknown): void {
    this.#drop();
    this.#fail(reason);
  }

  /** The end that starts here, and not at the backend. */
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
    this.#wake();
  }

  #closeSocket(): void {
    this.#controller?.abort(new Error('the exchange is over'));
  }

  #phase(): ExchangePhase {
    if (this.#controller === undefined) return 'connecting';
    return this.status === 0 ? 'waiting' : 'answering';
  }
}
