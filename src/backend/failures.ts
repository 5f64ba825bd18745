import { ApiError, type ErrorCode } from '../core/errors.ts';
import { isContextOverflow } from './context-overflow.ts';
import { type ErrorBody, readErrorBody } from './error-body.ts';
import { passedOnHeaders, type ReplyHeaders } from './reply-headers.ts';
import type { KeyOwner } from './request-headers.ts';
import { toSafeText } from './safe-text.ts';

/** Where the operator has set the key and the address of a backend. */
export interface SettingNames {
  readonly key: string;
  readonly address: string;
  /** Of a proxy that reads what passes, and that may answer by itself. */
  readonly proxy?: string;
}

/** Of the only backend. */
export const ONLY_SETTINGS: SettingNames = { key: 'UPSTREAM_API_KEY', address: 'UPSTREAM_BASE_URL' };

export interface FailedAnswer {
  /** Below 300 the `status` or `code` in the body counts. */
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: string;
  readonly keyOwner: KeyOwner;
  readonly secrets: readonly string[];
  readonly settings?: SettingNames;
}

export interface BackendFailure {
  readonly error: ApiError;
  readonly operatorProblem?: string;
}

interface Finish {
  readonly code: ErrorCode;
  readonly status?: number;
  /** Set if the settings are wrong: the caller then does not see the backend's message. */
  readonly fault?: OperatorFault;
}

interface OperatorFault {
  readonly message: string;
  readonly operatorProblem: (settings: SettingNames) => string;
}

/** The other 4xx keep their status with `invalid_request`. */
const CODE_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'invalid_api_key',
  402: 'insufficient_credits',
  403: 'forbidden',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limit_exceeded',
  // Groq's flex tier has no capacity left.
  498: 'rate_limit_exceeded',
};

const TIMEOUTS = new Set([408, 504, 522, 524, 598]);
const OVERLOADS = new Set([503, 529]);

const ABOUT_MODEL = /\bmodels?\b|\bdeployment|\bengine\b|no (?:endpoints|allowed providers)/i;
const ABOUT_PATH =
  /invalid url|unexpected endpoint|unknown (?:request )?(?:url|path|endpoint)|no route|route .{0,200}not found|cannot post|^not[ _]found\.?$/i;
const PERHAPS_ABOUT_PATH = /(?:path|page|file|resource|endpoint) (?:was )?not found/i;

const PARAMS: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
};

/** Returns what a failed answer means for the caller and for the operator. Never throws. */
export function failureOf(answer: FailedAnswer): BackendFailure {
  const words = readErrorBody(answer.body);
  const status = answer.status < 300 ? (words.status ?? statusIn(words.codes)) : answer.status;
  const judged = judge(status, words, answer.keyOwner);
  const { code, fault } = judged;
  const param = fault === undefined ? toParam(toSafeText(words.param, answer.secrets)) : '';
  return {
    error: new ApiError(code, {
      message: fault?.message ?? toMessage(words, answer),
      ...(judged.status !== undefined && { status: judged.status }),
      ...(param !== '' && { param }),
      headers: { ...passedOnHeaders(answer.headers), ...retryHeader(status, code) },
    }),
    ...(fault !== undefined && { operatorProblem: fault.operatorProblem(answer.settings ?? ONLY_SETTINGS) }),
  };
}

/** In a 200 many services only name what has happened (QuantumNous/new-api#6643). */
function statusIn(codes: readonly string[]): number {
  return codes.map((code) => STATUS_BY_CODE.get(code.toLowerCase())).find((status) => status !== undefined) ?? 502;
}

/** The words of OpenAI, Anthropic and Google. */
const STATUS_BY_CODE: ReadonlyMap<string, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['resource_exhausted', 429],
  ['insufficient_quota', 429],
  ['overloaded_error', 503],
  ['invalid_request_error', 400],
  ['invalid_argument', 400],
]);

/** Returns whether the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status >= 500 || TRANSIENT.has(status);
}

const TRANSIENT = new Set([408, 409, 425, 429, 498]);
/** Clients differ in what they make of these. A failure that keeps its idempotency key says otherwise. */
const SAID_TO_BE_TRANSIENT = new Set([408, 425, 498, 529]);
/** Nothing but another request helps, whatever the status. */
const DETERMINISTIC = new Set<ErrorCode>([
  'context_length_exceeded',
  'content_filter',
  'insufficient_quota',
  'invalid_request',
]);

function retryHeader(status: number, code: ErrorCode): { readonly 'x-should-retry'?: 'true' | 'false' } {
  if (SAID_TO_BE_TRANSIENT.has(status)) return { 'x-should-retry': 'true' };
  const isFinal = DETERMINISTIC.has(code) ? status !== 409 : status >= 300 && !isTransient(status);
  return isFinal ? { 'x-should-retry': 'false' } : {};
}

function judge(status: number, words: ErrorBody, keyOwner: KeyOwner): Finish {
  if (keyOwner === 'gateway' && concernsOurAccount(status, words)) {
    return { code: 'upstream_error', fault: accountFault(status) };
  }
  // llama.cpp has sent this with a 500, and a retry cannot succeed.
  if ((status === 400 || status === 413 || status === 422 || status >= 500) && isContextOverflow(words)) {
    return { code: 'context_length_exceeded' };
  }
  // llama.cpp sends this with a 500.
  if (/(?:image|audio) input is not supported/i.test(words.message)) return { code: 'invalid_request', status: 400 };
  if ((status === 400 || status === 422) && words.codes.some((code) => FILTERS.has(code)))
    return { code: 'content_filter' };
  if (status === 429 && words.codes.includes('insufficient_quota')) return { code: 'insufficient_quota' };
  // LM Studio sends this with a 200.
  if (/unexpected endpoint/i.test(words.message)) return { code: 'upstream_error', fault: pathFault(status) };
  if (status < 400) return { code: 'upstream_invalid_response', fault: redirectFault(status) };
  if (status === 404) return judgeNotFound(words);
  // A server answers 405 to a POST on a path for something else. Proxies note 499 when the gateway
  // disconnects.
  if (status === 405) return { code: 'upstream_error', fault: pathFault(status) };
  if (TIMEOUTS.has(status)) return { code: 'upstream_timeout' };
  if (OVERLOADS.has(status)) return { code: 'upstream_error', status: 503 };
  if (status === 499 || status >= 500) return { code: 'upstream_error' };
  return { code: CODE_BY_STATUS[status] ?? 'invalid_request', status };
}

/** Azure has the second one inside. */
const FILTERS = new Set(['content_filter', 'ResponsibleAIPolicyViolation']);

/** OpenAI sends 429 for an account without money, where waiting does not help. */
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
    operatorProblem: ({ key, proxy }) =>
      `The backend answered ${status} to the gateway's own key: check ${key} and its account` +
      (proxy === undefined ? '.' : `, or ask whether the proxy of ${proxy} has answered in its place.`),
  };
}

function pathFault(status: number): OperatorFault {
  return {
    message: 'The backend has no chat completions at the configured address.',
    operatorProblem: ({ address }) =>
      `The backend answered ${status} to the path of chat completions: check ${address} (with its /v1).`,
  };
}

function redirectFault(status: number): OperatorFault {
  return {
    message: 'The backend answered with a redirect, which is not followed.',
    operatorProblem: ({ address }) =>
      `The backend answered with a redirect (${status}): set ${address} to the address it leads to.`,
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
