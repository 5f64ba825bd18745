/** Each room adds what it learns about a request. The facts have no content and no key. */

import type { BackendSpec } from '../core/routes.ts';
import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import type { UniquePart } from '../core/ids.ts';
import type { GroupId } from '../contract/ids.ts';
import type { Usage } from '../contract/types.ts';
import type { PromptTurn } from '../core/books/store.ts';
import type { Endpoint } from './endpoints.ts';

export interface RequestFacts {
  readonly unique: UniquePart;
  readonly endpoint: Endpoint;
  readonly method: string;
  /** As `performance.now()` counts; so do the other times here. */
  readonly startedAtMs: number;
  readonly log: Logger;
  readonly trace: RequestTrace;
  model: string | undefined;
  stream: boolean;
  /** The part of a managed key that may be shown. */
  keyPrefix: string | undefined;
  group: string | undefined;
  /** In whose statistics the request counts. */
  counted: CountedCaller | undefined;
  /** `answered` means with a 2xx status. */
  backend: 'not asked' | 'asked' | 'answered';
  /** Whether a try at a backend was made. A request that waits in the queue was not sent. */
  wasSent: boolean;
  /** The name of the backend that was asked last; absent where there is only one. */
  upstream: string | undefined;
  firstOutputAtMs: number | undefined;
  chunks: number;
  usage: Usage | null;
  /** How the prompt goes on from the turn before; undefined where nothing is known. */
  prompt: PromptReading | undefined;
  /** What its cached tokens would have cost beyond their price, in millionths of the currency; null without a price. */
  savedMicro: number | null;
  /** Its key is the reply header that names what was left out, or a field of the reply. */
  leftOut: Readonly<Record<string, string>> | undefined;
  /** The finish reason of the backend, if nobody knows what it means. */
  unknownFinish: string | undefined;
  errorCode: ErrorCode | undefined;
  /** The client got its reply before the record was final on disk. */
  isToldEarly: boolean;
}

export interface PromptReading {
  readonly turn: PromptTurn;
  /** So many tokens of the input a backend had read in the turn before, with the same words before them. */
  readonly reachableTokens: number;
  /** Whether another backend had. */
  readonly changedBackend: boolean;
}

/** The head of a reply. Its headers can be set until it has begun. */
export interface ReplyHead {
  readonly facts: RequestFacts;
  readonly hasReplyBegun: () => boolean;
  readonly setHeader: (name: string, value: string) => void;
}

export interface CountedCaller {
  readonly name: string;
  readonly groupId: GroupId | null;
  /** Whether neither the gateway nor the backend has accepted the key until now. */
  readonly isStranger: () => boolean;
}

export interface RequestTrace {
  /** Returns the headers that continue the trace; empty without a trace. */
  callBackend(facts: RequestFacts): Readonly<Record<string, string>>;
  end(facts: RequestFacts, end: RequestEnd): void;
}

/** `rejected` means that the backend was not asked. `failed` includes the backend's refusals. */
export type RequestOutcome = 'answered' | 'rejected' | 'failed' | 'duplicate' | 'cancelled' | 'aborted';

export interface RequestEnd {
  readonly outcome: RequestOutcome;
  /** Is 499 if the client disconnected before a status was sent. */
  readonly status: number;
  readonly durationMs: number;
  readonly bytes: number;
  readonly requestId: string;
}

export interface RequestObserver {
  begin?(facts: RequestFacts): void;
  end(facts: RequestFacts, end: RequestEnd): void;
}

/** Whether the gateway or the backend failed, and not the caller. */
export function isFault({ errorCode }: RequestFacts, { status }: RequestEnd): boolean {
  return status >= 500 || (errorCode !== undefined && ERRORS[errorCode].status >= 500);
}

export function noteRead(facts: RequestFacts, chunks: number, hasOutput: boolean): void {
  facts.chunks += chunks;
  if (hasOutput) facts.firstOutputAtMs ??= performance.now();
}

/** Notes that the backend is asked. Returns the headers that continue the trace. */
export function noteBackendCall(facts: RequestFacts): Readonly<Record<string, string>> {
  facts.backend = 'asked';
  return facts.trace.callBackend(facts);
}

/** Notes the backend that is asked now. The caller sees which of several it is only if it may. */
export function noteUpstream(
  { facts, hasReplyBegun, setHeader }: ReplyHead,
  { name, isOnly }: BackendSpec,
  isExposed: boolean,
): void {
  facts.wasSent = true;
  if (isOnly) return;
  facts.upstream = name;
  if (isExposed && !hasReplyBegun()) setHeader('x-upstream', name);
}

export function noteCaller(facts: RequestFacts, { identity: [name], key, holder }: NotedCaller): void {
  facts.keyPrefix = key?.prefix;
  facts.group = key?.group?.name;
  facts.counted = { name, groupId: key?.group?.groupId ?? null, isStranger: () => holder().isStranger };
}

interface NotedCaller {
  readonly identity: readonly [string, ...string[]];
  readonly key?: {
    readonly prefix: string;
    readonly group: { readonly groupId: GroupId; readonly name: string } | null;
  };
  readonly holder: () => { readonly isStranger: boolean };
}
