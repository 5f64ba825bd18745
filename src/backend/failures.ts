/** Whatever a backend answers instead of a completion, as the error that the caller gets (contract, section 5). */

import { ApiError, type ErrorCode } from '../core/errors.ts';
import { saysContextOverflow } from './context-overflow.ts';
import { type ErrorBody, readErrorBody } from './error-body.ts';
import { passedOnHeaders, type ReplyHeaders } from './reply-headers.ts';
import { toSafeText } from './safe-text.ts';

/** Whose key the backend sees: the caller's own (`passthrough`), or the gateway's (`static`, `managed`). */
export type KeyOwner = 'caller' | 'gateway';

export interface FailedAnswer {
  /** The HTTP status; below 300 it says nothing, and the body's own `status` or `code` counts. */
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: string;
  readonly keyOwner: KeyOwner;
  /** What was sent to the backend and must not come back. */
  readonly secrets: readonly string[];
}

export interface BackendFailure {
  readonly error: ApiError;
  /** Set when only the operator can help: a sentence for the log, in our own words. */
  readonly operatorProblem?: string;
}

interface Finish {
  readonly code: ErrorCode;
  /** Where it differs from the one in the table. */
  readonly status?: number;
  /** Set when the fault is the operator's: the backend's words are not for the caller then. */
  readonly fault?: OperatorFault;
}

interface OperatorFault {
  readonly message: string;
  readonly operatorProblem: string;
}

/** The codes of those 4xx which have a row of their own. The others keep their status, with `invalid_request`. */
const CODE_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'invalid_api_key',
  402: 'insufficient_credits',
  403: 'forbidden',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limit_exceeded',
};

const TIMEOUTS = new Set([408, 504, 522, 524, 598]);
const OVERLOADS = new Set([503, 529]);

const ABOUT_MODEL = /\bmodels?\b|\bdeployment|\bengine\b|no (?:endpoints|allowed providers)/i;
/** A server, a proxy or a framework which does not know the path. */
const ABOUT_PATH =
  /invalid url|unexpected endpoint|unknown (?:request )?(?:url|path|endpoint)|no route|route .*not found|cannot post|^not[ _]found\.?$/i;
/** The same, unless it is about a model after all. */
const PERHAPS_ABOUT_PATH = /(?:path|page|file|resource|endpoint) (?:was )?not found/i;

/** Names of the chat format, and what the caller knows the same thing by. */
const PARAMS: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
};

/** Says what a failed answer means for the caller, and what the operator should know of it. Throws nothing. */
export function failureOf(answer: FailedAnswer): BackendFailure {
  const words = readErrorBody(answer.body);
  const status = answer.status < 300 ? (words.status ?? 502) : answer.status;
  const verdict = judge(status, words, answer.keyOwner);
  const { code, fault } = verdict;
  const param = fault === undefined ? toParam(words.param) : '';
  const deterministic = code === 'context_length_exceeded' || (status >= 300 && !isTransient(status));
  return {
    error: new ApiError(code, {
      message: fault?.message ?? toMessage(words, answer),
      ...(verdict.status !== undefined && { status: verdict.status }),
      ...(param !== '' && { param }),
      headers: { ...passedOnHeaders(answer.headers), ...(deterministic && { 'x-should-retry': 'false' }) },
    }),
    ...(fault !== undefined && { operatorProblem: fault.operatorProblem }),
  };
}

/** Whether the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status >= 500 || TRANSIENT.has(status);
}

const TRANSIENT = new Set([408, 409, 425, 429]);

function judge(status: number, words: ErrorBody, keyOwner: KeyOwner): Finish {
  if (keyOwner === 'gateway' && concernsOurAccount(status, words)) {
    return { code: 'upstream_error', fault: accountFault(status) };
  }
  // llama.cpp has said this with 500 as well, and asking again would not help.
  if ((status === 400 || status === 413 || status === 422 || status >= 500) && saysContextOverflow(words)) {
    return { code: 'context_length_exceeded' };
  }
  // LM Studio says this with a 200.
  if (/unexpected endpoint/i.test(words.message)) return { code: 'upstream_error', fault: pathFault(status) };
  if (status < 400) return { code: 'upstream_invalid_response', fault: redirectFault(status) };
  if (status === 404) return judgeNotFound(words);
  // 405 is what a server says to a POST on a path it has for something else; 499 is how proxies note that we went away.
  if (status === 405) return { code: 'upstream_error', fault: pathFault(status) };
  if (TIMEOUTS.has(status)) return { code: 'upstream_timeout' };
  if (OVERLOADS.has(status)) return { code: 'upstream_error', status: 503 };
  if (status === 499 || status >= 500) return { code: 'upstream_error' };
  return { code: CODE_BY_STATUS[status] ?? 'invalid_request', status };
}

/** OpenAI tells an account without money by 429, which is no limit that waiting would help with. */
function concernsOurAccount(status: number, words: ErrorBody): boolean {
  return (
    status === 401 || status === 402 || status === 403 || (status === 429 && words.codes.includes('insufficient_quota'))
  );
}

function judgeNotFound(words: ErrorBody): Finish {
  const { form, message } = words;
  if (form !== 'html' && message !== '' && !ABOUT_PATH.test(message)) {
    if (ABOUT_MODEL.test(`${words.codes.join(' ')} ${message}`)) return { code: 'model_not_found' };
    if (form === 'openai' && !PERHAPS_ABOUT_PATH.test(message)) return { code: 'not_found' };
  }
  return { code: 'upstream_error', fault: pathFault(404) };
}

function accountFault(status: number): OperatorFault {
  return {
    message: "The backend refused the gateway's own key or account.",
    operatorProblem: `The backend answered ${status} to the gateway's own key: check UPSTREAM_API_KEY and its account.`,
  };
}

function pathFault(status: number): OperatorFault {
  return {
    message: 'The backend has no chat completions at the address that the gateway is set to.',
    operatorProblem: `The backend answered ${status} to the path of chat completions: check UPSTREAM_BASE_URL (with its /v1).`,
  };
}

function redirectFault(status: number): OperatorFault {
  return {
    message: 'The backend answered with a redirect, which is not followed.',
    operatorProblem: `The backend answered with a redirect (${status}): set UPSTREAM_BASE_URL to the address it leads to.`,
  };
}

function toMessage(words: ErrorBody, { status, secrets }: FailedAnswer): string {
  const message = toSafeText(words.message, secrets);
  if (message !== '') return message;
  if (status < 300) return 'The backend reported an error and gave no explanation.';
  return `The backend answered with status ${status} and no explanation.`;
}

function toParam(param: string): string {
  if (!/^[\w.[\]-]{1,200}$/.test(param)) return '';
  const head = /^\w+/.exec(param)?.[0] ?? '';
  return PARAMS[head] ?? param;
}
