/** Only the transports know about HTTP and WebSockets. */

import type { StopSignal } from '../core/stop-signal.ts';
import type { RoutedBackend } from '../core/routes.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { ErrorFields, RequestRecord, ResponseEvent } from '../contract/types.ts';
import type { Identity } from '../identity/identities.ts';
import type { StoredKey } from '../store/keys.ts';
import type { RequestFacts } from './facts.ts';
import type { ResponsePlan } from './plan.ts';

/** It never holds the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** Is absent where the gateway issues no keys. */
  readonly key?: StoredKey;
  /** The caller's key as a bearer, where the backend gets that. */
  readonly backendHeaders: Readonly<Record<string, string>>;
  /** Says for whom a share is taken now. A stranger can be accepted meanwhile. */
  readonly holder: () => Holder;
  /** Is called when the backend begins to answer. Is absent where it does not see the caller's key. */
  readonly noteAccepted?: () => void;
}

/** The one who has a share: a caller, or the network of callers that were never accepted. */
export interface Holder {
  readonly name: string;
  readonly isStranger: boolean;
}

export interface Body {
  /**
   * They are decompressed. Their hash identifies a repeated request. While a large request is
   * prepared they are empty.
   */
  bytes: Buffer;
}

export interface Incoming {
  readonly facts: RequestFacts;
  readonly caller: Caller;
  readonly idempotencyKey: string | undefined;
  readonly body: Body;
  baseUrl(): string;
  hasReplyBegun(): boolean;
  /** Whether the client has the whole reply, or has disconnected. */
  isServed(): boolean;
  /** Calls the listener once; never if `isServed` is true already. */
  onceServed(listener: (hasWholeReply: boolean) => void): void;
  setHeader(name: string, value: string): void;
  /** Without an error, the reply does not have the record's own either. */
  sendDuplicate(status: number, record: RequestRecord, error: ErrorFields | undefined): void;
}

export interface IncomingCreate extends Incoming {
  readonly endpoint: 'responses' | 'responses.compact';
  /** The input already includes the items of this response. */
  readonly continues?: { readonly responseId: string };
  /** The backend is not asked, and there is no record. */
  readonly isWarmUp?: boolean;
  /**
   * Validates and translates the request; with a backend of another kind for that one. Throws the
   * ApiError of a request that is not valid, or that cannot go there.
   */
  prepare(backend?: RoutedBackend): Promise<ResponsePlan>;
  openReply(translator: Translator, plan: ResponsePlan, run: ReplyGate): Reply;
}

/** Says when a reply may begin and when it must end. */
export interface ReplyGate {
  /** Aborts with the ApiError for which the request ends early. */
  readonly signal: StopSignal;
  /**
   * Set while the record is being written or a cancel is being decided; nothing may be told before.
   * Rejects if the request must end.
   */
  readonly whenDecided: () => Promise<void> | undefined;
}

/** A stream and a JSON reply take the same events. */
export interface Reply {
  answered(headers: Readonly<Record<string, string>>): void;
  /** A returned promise resolves when the client can take more. */
  write(events: readonly ResponseEvent[]): Promise<void> | undefined;
  /** Throws the ApiError of a failure that can still be sent as a status. */
  end(events: readonly ResponseEvent[]): void;
}
