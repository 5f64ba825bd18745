/**
 * What is known about one request. Each room adds what it learns, and at the end the log line, the
 * metrics and the trace read it. It holds no content and no key.
 */

import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import type { UniquePart } from '../core/ids.ts';
import type { Usage } from '../contract/types.ts';
import type { Endpoint } from './endpoints.ts';

export interface RequestFacts {
  /** The part that the ids of its reply, its record and its response share. */
  readonly unique: UniquePart;
  readonly endpoint: Endpoint;
  readonly method: string;
  /** As `performance.now()` counts; so do the other times here. */
  readonly startedAtMs: number;
  readonly log: Logger;
  readonly trace: RequestTrace;
  /** As the caller named it. Set once it is known to be a string. */
  model: string | undefined;
  /** Whether the caller wants a stream; for what is passed through, whether it gets one. */
  stream: boolean;
  /** The part of a managed key that may be shown. */
  keyPrefix: string | undefined;
  /** `answered` means with a 2xx status. */
  backend: 'not asked' | 'asked' | 'answered';
  firstOutputAtMs: number | undefined;
  chunks: number;
  usage: Usage | null;
  /** What was left out of the request, by the reply header that names it. */
  leftOut: Readonly<Record<string, string>> | undefined;
  /** Why the request failed, even if the client could not be informed. */
  errorCode: ErrorCode | undefined;
}

/** The place of a request in a distributed trace. */
export interface RequestTrace {
  /**
   * Starts the span of the backend call. Returns the headers that continue the trace; empty without
   * a trace.
   */
  callBackend(facts: RequestFacts): Readonly<Record<string, string>>;
  end(facts: RequestFacts, end: RequestEnd): void;
}

/**
 * `rejected` means refused by the gateway before the backend was asked. `aborted` means that the
 * client disconnected. `failed` includes the backend's own refusals.
 */
export type RequestOutcome = 'answered' | 'rejected' | 'failed' | 'duplicate' | 'cancelled' | 'aborted';

export interface RequestEnd {
  readonly outcome: RequestOutcome;
  /** The status that was sent; 499 if the client disconnected before one was. */
  readonly status: number;
  readonly durationMs: number;
  /** The bytes of the whole reply on the wire. */
  readonly bytes: number;
  readonly requestId: string;
}

/** Is called at the begin and the end of every request. */
export interface RequestObserver {
  begin(facts: RequestFacts): void;
  end(facts: RequestFacts, end: RequestEnd): void;
}

/**
 * Whether the gateway or the backend failed, and not the caller, whatever status was sent by then.
 */
export function isFault({ errorCode }: RequestFacts, { status }: RequestEnd): boolean {
  return status >= 500 || (errorCode !== undefined && ERRORS[errorCode].status >= 500);
}

/** Notes a read of the backend's answer, and whether there is output by now. */
export function noteRead(
  facts: Pick<RequestFacts, 'chunks' | 'firstOutputAtMs'>,
  chunks: number,
  hasOutput: boolean,
): void {
  facts.chunks += chunks;
  if (hasOutput) facts.firstOutputAtMs ??= performance.now();
}

/** Notes that the backend is asked now. Returns the headers that continue the trace. */
export function noteBackendCall(facts: RequestFacts): Readonly<Record<string, string>> {
  facts.backend = 'asked';
  return facts.trace.callBackend(facts);
}
