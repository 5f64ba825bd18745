/** One request to the backend through undici: its bytes as they come, its timers, and its end in every way it can end. */

import type { Dispatcher } from 'undici';
import { ApiError } from '../core/errors.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { connectionFailure, type ConnectionPhase } from './connection-failures.ts';
import type { ReplyHeaders } from './reply-headers.ts';

export interface ConnectionOptions {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null asks by GET. */
  readonly body: string | Buffer | null;
  /** Its abort closes the socket at once, and what waits here rejects with its reason. */
  readonly signal: StopSignal;
  /** Holds until `limitSilence` or `limitTotal` is called. */
  readonly firstByteTimeoutMs: number;
}

/**
 * Takes the bytes of one read in the turn in which they arrive, and undefined once at the clean end. Where it returns a
 * promise, nothing more is read from the network until that resolves. What it throws ends the connection.
 */
export type TakeBytes = (bytes: Uint8Array | undefined) => Promise<void> | undefined;

export interface BackendConnection {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /**
   * Hands on the body, to be called once. Resolves after the clean end, or after `release`. Rejects with an ApiError, with the
   * reason of the signal, or with what `take` throws.
   */
  pipe(take: TakeBytes): Promise<void>;
  /** From now on so much time may pass between two reads from the network, while the reader keeps up. */
  limitSilence(timeoutMs: number): void;
  /** From now on so much time may pass altogether, while the reader keeps up. */
  limitTotal(timeoutMs: number): void;
  /**
   * Nothing more is wanted, says the reader while it takes bytes. The connection can be used again when the backend ends its
   * reply soon.
   */
  release(): void;
  /** Closes the socket at once. */
  abort(): void;
}

/** What a reply may still bring after its `[DONE]`, for the connection to be worth keeping. */
const LINGER_MS = 1000;
const MAX_LINGERING_BYTES = 64 * 1024;
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Sends the request. Resolves with the status and headers of its answer. Throws ApiError, or the signal's reason. */
export function openConnection(dispatcher: Dispatcher, options: ConnectionOptions): Promise<BackendConnection> {
  options.signal.throwIfAborted();
  const connection = new UndiciConnection(options);
  const { path, headers, body } = options;
  dispatcher.dispatch({ method: body === null ? 'GET' : 'POST', path, headers, body }, connection);
  return connection.opened;
}

type Ending = { readonly kind: 'clean' } | { readonly kind: 'failed'; readonly reason: unknown };

/** Who takes the bytes, and the promise that it was given. */
interface Reader {
  readonly take: TakeBytes;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** undici asks for a handler object, so this is one of the few classes. Its `on…` methods are undici's, the others the reader's. */
class UndiciConnection implements BackendConnection, Dispatcher.DispatchHandler {
  readonly opened: Promise<BackendConnection>;
  status = 0;
  headers: ReplyHeaders = {};

  readonly #signal: StopSignal;
  readonly #onAbort = (): void => this.#giveUp(this.#signal.reason);
  readonly #resolveOpened: (connection: BackendConnection) => void;
  readonly #rejectOpened: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #ending: Ending | undefined;
  #released = false;
  #lingeringBytes = 0;

  #reader: Reader | undefined;
  /** Between the moment in which the reader asks to wait and its promise. Without a reader the bytes wait too. */
  #isBusy = true;
  #waiting: Buffer[] = [];

  #reads = 0;
  #timer: NodeJS.Timeout | undefined;
  #timeoutMs: number;
  /** What the timer limits. Silence, and the rest of an answer, are the backend's only while the reader keeps up. */
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
    if (this.#ending !== undefined) return;
    this.#reads += 1;
    if (this.#isBusy) {
      this.#waiting.push(bytes);
      controller.pause();
      return;
    }
    if (this.#limits === 'silence') this.#timer?.refresh();
    this.#give(bytes);
    if (this.#isBusy) controller.pause();
  }

  onResponseEnd(): void {
    this.#end({ kind: 'clean' });
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#end({ kind: 'failed', reason: connectionFailure(error, this.#phase()) });
  }

  pipe(take: TakeBytes): Promise<void> {
    if (this.#reader !== undefined) throw new Error('the connection is being read already');
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
    if (this.#released) return;
    // Most connections have ended by then, and to make an error with its stack took 4 % of the time of a JSON request.
    if (this.#ending !== undefined) this.#waiting = [];
    else this.#giveUp(new ApiError('upstream_error', { message: 'The request to the backend was given up.' }));
  }

  /** Hands the bytes to the reader. Does not throw. */
  #give(bytes: Buffer | undefined): void {
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
    this.#controller?.resume();
  }

  /** Hands on what has come while the reader was busy, and the end behind it. */
  #flow(): void {
    while (!this.#isBusy && this.#waiting.length > 0) this.#give(this.#waiting.shift());
    if (this.#isBusy || this.#ending === undefined || this.#reader === undefined) return;
    if (this.#released) return;
    if (this.#ending.kind === 'failed') this.#reader.reject(this.#ending.reason);
    else this.#giveEnd();
  }

  #giveEnd(): void {
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

  /** The reader has thrown: it wants nothing more. */
  #leave(error: unknown): void {
    this.#waiting = [];
    this.#reader?.reject(error);
    if (!this.#released) this.#fail(error);
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
    this.#timer = setTimeout(() => this.#expire(), Math.min(this.#timeoutMs, MAX_TIMEOUT_MS));
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /** A process that stood still reads what has arrived meanwhile before it takes the backend for silent. */
  #expire(): void {
    const reads = this.#reads;
    setImmediate(() => {
      if (this.#limits === 'silence' && this.#reads !== reads) this.#timer?.refresh();
      else this.#giveUpWaiting();
    });
  }

  #giveUpWaiting(): void {
    if (this.#released) return this.#closeSocket();
    const message =
      this.#limits === 'first byte'
        ? 'The backend did not begin to answer in time.'
        : 'The backend went silent in the middle of its answer.';
    this.#fail(new ApiError('upstream_timeout', { message }));
  }

  /** What is still waiting is not wanted any more. */
  #giveUp(reason: unknown): void {
    this.#waiting = [];
    this.#fail(reason);
    // A reader that is busy is not waited for.
    this.#reader?.reject(reason);
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
