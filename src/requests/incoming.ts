/** Only the transports know about HTTP and WebSockets. */

import type { RelayedAnswer } from '../backend/chat.ts';
import type { RelayedRefusal } from '../backend/refusal.ts';
import type { Caller } from '../accounts/caller.ts';
import type { ApiError } from '../core/errors.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { RoutedBackend } from '../core/routes.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { ErrorFields, RequestRecord, ResponseEvent } from '../contract/types.ts';
import type { ReplyHead } from '../telemetry/facts.ts';
import type { NewTurns } from './item-memory.ts';
import type { ChatPlan, ResponsePlan } from './plan.ts';

export interface Body {
  /** Decompressed. Their hash identifies a repeated request. Empty while a thread prepares them. */
  bytes: Buffer;
  /** Their SHA-256, if it has been made. */
  digest?: Uint8Array;
  /** As `JsonSize` has them. */
  fieldEnds?: readonly number[];
}

/** What is asked, and by whom. */
export interface CallerBody {
  readonly caller: Caller;
  readonly body: Body;
}

/** The way back to the client. */
export interface ReplyChannel extends ReplyHead {
  baseUrl(): string;
  /** Whether the client has the whole reply, or has disconnected. */
  isServed(): boolean;
  /** Calls the listener once. If `isServed` is true already, it may never be called. */
  onceServed(listener: (hasWholeReply: boolean) => void): void;
  /** Whether the client has cancelled its request, where it can do so before there is a record. */
  isCancelled?(): boolean;
  /** Without an error, the reply does not have the record's own either. */
  sendDuplicate(status: number, record: RequestRecord, error: ErrorFields | undefined): void;
}

export interface Incoming extends CallerBody, ReplyChannel {
  readonly idempotencyKey: string | undefined;
}

export interface IncomingCreate extends Incoming {
  readonly endpoint: 'responses' | 'responses.compact';
  /** The input already includes the items of this response. */
  readonly continues?: { readonly responseId: string };
  /** Keeps the response for the next request of a connection. Is called when the answer is whole, and before its end is told. */
  readonly keep?: (response: NewTurns) => void;
  /** The backend is not asked, and there is no record. */
  readonly isWarmUp?: boolean;
  /**
   * Validates and translates the request; with a backend of another kind for that one. Throws the
   * ApiError of a request that is not valid, or that cannot go there.
   */
  prepare(backend?: RoutedBackend): Promise<ResponsePlan>;
  /** The signal aborts when the request must end. Only `telling.ts` opens and writes what is returned. */
  openReply(translator: Translator, plan: ResponsePlan, signal: StopSignal): EventReply;
}

/** How a transport sends a response. */
export interface EventReply {
  /** How long a stream waits for the backend before it begins, in milliseconds; absent for JSON, which is sent at the end. */
  readonly headerHoldMs?: number;
  /** Begins the reply. Returns undefined if the client has disconnected. */
  open(headers: Readonly<Record<string, string>>): EventSink | undefined;
}

export interface EventSink {
  /** A returned promise resolves when the client can take more. */
  write(events: readonly ResponseEvent[]): Promise<void> | undefined;
  end(events: readonly ResponseEvent[]): void;
}

/** What a stream of events is written from, over any transport. */
export interface EventStreamOptions {
  readonly translator: Translator;
  readonly signal: StopSignal;
  /** Some clients measure silence by events, and ignore comments. */
  readonly eventMs: number;
  /** Takes the place of what the responses of the events repeat of a large request. */
  readonly echo: Uint8Array | undefined;
}

export interface IncomingChat extends Incoming {
  /** As `IncomingCreate` has it. */
  prepare(backend?: RoutedBackend): Promise<ChatPlan>;
  /** Only `telling.ts` calls it. */
  readonly reply: ByteReply;
}

/** How a transport passes on the answer of a backend. */
export interface ByteReply {
  open(answer: RelayedAnswer, signal: StopSignal): ByteSink;
  refuse(refusal: RelayedRefusal): void;
}

export interface ByteSink {
  /** A returned promise resolves when the client can take more. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** Says that a stream is over whose backend has not said so after the finish reason. */
  finish(): void;
  /** Cuts the reply off. Throws the error if it can still be sent as a status. */
  fail(error: ApiError): void;
}
