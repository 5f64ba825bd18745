/**
 * What a transport hands in, and how it is answered. Only the transports know about HTTP and
 * WebSockets.
 */

import type { StopSignal } from '../core/stop-signal.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { CreateResponse, ErrorFields, RequestRecord, ResponseEvent } from '../contract/types.ts';
import type { Identity } from '../identity/identities.ts';
import type { StoredKey } from '../store/keys.ts';
import type { RequestFacts } from './facts.ts';
import type { ResponsePlan } from './prepare.ts';

/** Who sends the request. It never holds the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** As it was when the request arrived; absent where the gateway issues no keys. */
  readonly key?: StoredKey;
  /** The caller's own key for the backend, or the gateway's. */
  readonly backendHeaders: Readonly<Record<string, string>>;
}

export interface JsonBody {
  /** The bytes after decompression. Their hash identifies a repeated request. */
  readonly bytes: Buffer;
  readonly value: unknown;
}

/** One request, and the way back to its client. */
export interface Incoming {
  readonly facts: RequestFacts;
  readonly caller: Caller;
  readonly idempotencyKey: string | undefined;
  readonly body: JsonBody;
  /** The URL at which the client reaches this gateway, without a trailing slash. */
  baseUrl(): string;
  /** Whether any of the reply has been sent, so that it is too late for a status. */
  hasReplyBegun(): boolean;
  /** Whether the client has the whole reply, or has disconnected. */
  isServed(): boolean;
  /**
   * Calls the listener once, when the client has the whole reply or has disconnected; never if
   * `isServed` is true already.
   */
  onceServed(listener: (hasWholeReply: boolean) => void): void;
  /** Sets a header of a reply that has not begun. */
  setHeader(name: string, value: string): void;
  /** Sends the reply to a duplicate, with the headers that were set. */
  sendDuplicate(record: RequestRecord, error: ErrorFields): void;
}

export interface IncomingCreate extends Incoming {
  /** The endpoint in the record. */
  readonly endpoint: 'responses' | 'responses.compact';
  /**
   * The response that this request continues. The input includes its items already, which have so
   * many bytes.
   */
  readonly continues?: { readonly responseId: string; readonly bytes: number };
  /**
   * The request is checked and answered without output: the backend is not asked, and there is no
   * record.
   */
  readonly isWarmUp?: boolean;
  /** Returns the body as a request for a response. Throws ApiError. */
  validate(value: unknown): CreateResponse;
  openReply(translator: Translator, plan: ResponsePlan, signal: StopSignal): Reply;
}

/** A stream and a JSON reply take the same events. */
export interface Reply {
  /** Called when the backend has answered 2xx, with the headers of its answer for the client. */
  answered(headers: Readonly<Record<string, string>>): void;
  /**
   * Takes events that do not end the response. A returned promise resolves when the client can take
   * more.
   */
  write(events: readonly ResponseEvent[]): Promise<void> | undefined;
  /**
   * Takes the last events and ends the reply. Throws the ApiError of a failure that can still be
   * sent as a status.
   */
  end(events: readonly ResponseEvent[]): void;
}
