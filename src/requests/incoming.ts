/** What a transport hands in and how it is answered: all that the story of a request knows of HTTP and of WebSockets. */

import type { StopSignal } from '../core/stop-signal.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { CreateResponse, ErrorFields, RequestRecord, ResponseEvent } from '../contract/types.ts';
import type { Identity } from '../identity/identities.ts';
import type { StoredKey } from '../store/keys.ts';
import type { RequestFacts } from './facts.ts';
import type { ResponsePlan } from './prepare.ts';

/** Who asks, as the rest of the program knows it: never by the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** As it was when the request came in; absent where the gateway issues no keys. */
  readonly key?: StoredKey;
  /** What the backend gets to see: the caller's own key, or the gateway's. */
  readonly backendHeaders: Readonly<Record<string, string>>;
}

export interface JsonBody {
  /** The exact bytes after decompression, which identify a repeated request. */
  readonly bytes: Buffer;
  readonly value: unknown;
}

/** One request as it came in, and the way back to its client. */
export interface Incoming {
  readonly facts: RequestFacts;
  readonly caller: Caller;
  readonly idempotencyKey: string | undefined;
  readonly body: JsonBody;
  /** Where the client reaches this gateway, without a slash at the end. */
  baseUrl(): string;
  /** Whether any of the reply has been sent, so that a status can no longer be told. */
  hasReplyBegun(): boolean;
  /** Whether the client has the whole reply, or is gone. */
  isServed(): boolean;
  /** Calls the listener once, when the client has the whole reply or is gone; never where `isServed` is true already. */
  onceServed(listener: (hasWholeReply: boolean) => void): void;
  /** Sets a header of the reply, which has not begun. */
  setHeader(name: string, value: string): void;
  /** Sends the whole reply to a request that was made before, with the headers that were set. */
  sendDuplicate(record: RequestRecord, error: ErrorFields): void;
}

/** A request for a response. */
export interface IncomingCreate extends Incoming {
  /** What the record says of where it came in. */
  readonly endpoint: 'responses' | 'responses.compact';
  /** The response that this request continues; its items stand in the input already and have so many bytes. */
  readonly continues?: { readonly responseId: string; readonly bytes: number };
  /** Set where the request is only checked and answered without output: nothing is asked, nothing is recorded. */
  readonly isWarmUp?: boolean;
  /** Reads the JSON of the body as a request for a response. Throws ApiError. */
  validate(value: unknown): CreateResponse;
  openReply(translator: Translator, plan: ResponsePlan, signal: StopSignal): Reply;
}

/** The reply that the client sees. A stream and a JSON reply take the same events. */
export interface Reply {
  /** The backend has answered 2xx; these headers of its answer are for the client. */
  answered(headers: Readonly<Record<string, string>>): void;
  /** Takes events that are not the last. The promise, when there is one, resolves as soon as the client can take more. */
  write(events: readonly ResponseEvent[]): Promise<void> | undefined;
  /** Takes the last events and ends the reply. Throws the ApiError of a failure that the client has not been told of. */
  end(events: readonly ResponseEvent[]): void;
}
