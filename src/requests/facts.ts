/**
 * What is known of one request. The rooms note it where they learn of it, and at the end it is told once, to everybody who
 * keeps count: the log line, the metrics and the trace. Nothing here is content, and nothing here is a key.
 */

import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import type { UniquePart } from '../core/ids.ts';
import type { Usage } from '../contract/types.ts';
import type { Endpoint } from './endpoints.ts';

export interface RequestFacts {
  /** Of the ids of its reply, and of its record and response, if it comes to have them. */
  readonly unique: UniquePart;
  readonly endpoint: Endpoint;
  readonly method: string;
  /** As `performance.now()` counts, like the other moments here. */
  readonly startedAtMs: number;
  readonly log: Logger;
  readonly trace: RequestTrace;
  /** As the caller named it, once it is known to be a name. */
  model: string | undefined;
  /** Whether the caller wants a stream, or, where nobody looks into the request, gets one. */
  stream: boolean;
  /** The part of a key that may be shown; of keys which the gateway issues itself. */
  keyPrefix: string | undefined;
  /** `answered` means with a status of 2xx. */
  backend: 'not asked' | 'asked' | 'answered';
  /** When the backend's first output was there. */
  firstOutputAtMs: number | undefined;
  /** How many chunks the backend has sent. */
  chunks: number;
  usage: Usage | null;
  /** What was left out of the request, by the header that names it in the reply. */
  leftOut: Readonly<Record<string, string>> | undefined;
  /** Why the request failed, whoever is told of it and in whatever form. */
  errorCode: ErrorCode | undefined;
}

/** The place of a request in a trace that spans several programs. */
export interface RequestTrace {
  /** The call to the backend begins; returns the headers that tell the backend of the trace, none when there is no trace. */
  callBackend(facts: RequestFacts): Readonly<Record<string, string>>;
  end(facts: RequestFacts, end: RequestEnd): void;
}

/**
 * `duplicate`, `cancelled` and `aborted` (the client went away) say it themselves. `rejected`: by us, before the backend was
 * asked. `failed`: everything else that did not go as the caller wished, the backend's own refusals among it.
 */
export type RequestOutcome = 'answered' | 'rejected' | 'failed' | 'duplicate' | 'cancelled' | 'aborted';

export interface RequestEnd {
  readonly outcome: RequestOutcome;
  /** What was sent, or would have been: 499, as proxies say it, when the client went away before anything was. */
  readonly status: number;
  readonly durationMs: number;
  /** All that went over the wire for it. */
  readonly bytes: number;
  readonly requestId: string;
}

/** Is told of every request when it begins and when it is over. */
export interface RequestObserver {
  begin(facts: RequestFacts): void;
  end(facts: RequestFacts, end: RequestEnd): void;
}

/** Whether it was the gateway or the backend that failed, and not the caller, whatever status had been sent by then. */
export function isFault({ errorCode }: RequestFacts, { status }: RequestEnd): boolean {
  return status >= 500 || (errorCode !== undefined && ERRORS[errorCode].status >= 500);
}

/** Notes that one more read of the backend's answer is there, and whether any output has come by now. */
export function noteRead(
  facts: Pick<RequestFacts, 'chunks' | 'firstOutputAtMs'>,
  chunks: number,
  hasOutput: boolean,
): void {
  facts.chunks += chunks;
  if (hasOutput) facts.firstOutputAtMs ??= performance.now();
}

/** Notes that the backend is asked now. Returns the headers that tell it of the trace. */
export function noteBackendCall(facts: RequestFacts): Readonly<Record<string, string>> {
  facts.backend = 'asked';
  return facts.trace.callBackend(facts);
}
