import type { ApiError } from '../core/errors.ts';
import type { Refusal } from './answer.ts';
import { contentType } from './answer-reader.ts';
import { type BackendFailure, failureOf, type SettingNames } from './failures.ts';
import { ownSecretsOf, quotes, secretsOf } from './own-key.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import type { KeyOwner } from './request-headers.ts';

export interface JudgeOptions {
  readonly keyOwner: KeyOwner;
  readonly settings?: SettingNames;
  /** Gets a sentence for the log, which contains nothing of request or answer. */
  readonly onOperatorProblem?: (problem: string) => void;
}

/** An answer, and the headers that the backend was asked with. */
interface Answered {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly sentHeaders: Readonly<Record<string, string>>;
}

/** A refusal in the words of the backend. */
export interface RelayedRefusal {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
  readonly error: ApiError;
}

/** Returns what a failed answer means, and tells the operator what only the operator can mend. */
export function judge(
  { sentHeaders, ...answer }: Answered & { readonly body: string },
  options: JudgeOptions,
): BackendFailure {
  const { keyOwner, settings, onOperatorProblem } = options;
  const secrets = secretsOf(sentHeaders);
  const failure = failureOf({ ...answer, keyOwner, secrets, ...(settings !== undefined && { settings }) });
  if (failure.operatorProblem !== undefined) onOperatorProblem?.(failure.operatorProblem);
  return failure;
}

/** Returns a refusal whose body the client may see: whole, in JSON, and without our key. Throws the error of any other. */
export function refusalForClient(
  { bytes, isWhole }: Refusal,
  { status, headers, sentHeaders }: Answered,
  options: JudgeOptions,
): RelayedRefusal {
  const { error, operatorProblem } = judge({ status, headers, sentHeaders, body: bytes.toString() }, options);
  const isQuoted = quotes(bytes, ownSecretsOf(sentHeaders, options));
  if (operatorProblem !== undefined || !isWhole || !isJson(headers) || isQuoted) throw error;
  return { status, headers, body: bytes, error };
}

export function isJson(headers: ReplyHeaders): boolean {
  return /^application\/(?:[^/]+\+)?json$/.test(contentType(headers));
}
