/** What a caller can do about an error. A code that is not here says it in its own message. */

/** @type {Readonly<Record<string, string>>} */
const ADVICE = {
  invalid_api_key: 'Forget the key, and enter a valid one.',
  insufficient_credits:
    'Lower the limit of output tokens, or ask the operator for credits. “Usage” shows what is left.',
  spend_limit_exceeded: 'Wait until the limit resets, or ask the operator to raise it. “Usage” shows when.',
  rate_limit_exceeded:
    'Wait, and send it again. “Usage” shows the limits of your key and its group; any other is the backend’s.',
  concurrency_limit_exceeded: 'Wait until one of your requests has ended, and send it again.',
  insufficient_quota: 'The operator has to check the account at the backend.',
  model_not_found: 'Choose another model from the list.',
  context_length_exceeded: 'Shorten the input, or compact the conversation.',
  content_filter: 'Rephrase it.',
  payload_too_large: 'Send less at once.',
  unsupported_tool: 'Remove the tool.',
  request_cancelled: 'It was cancelled. Send it again to run it once more.',
  upstream_error: 'Try again. If it keeps failing, the operator has to check the backend.',
  upstream_unreachable: 'The operator has to check whether the backend is running.',
  upstream_invalid_response: 'Try again. If it keeps failing, the operator has to check the backend.',
  upstream_timeout: 'Try again with less input, or with a lower limit of output tokens.',
  no_backend_available: 'Wait a few seconds, and send it again.',
  server_overloaded: 'Wait a few seconds, and send it again.',
  gateway_draining: 'Wait a few seconds, and send it again.',
  gateway_interrupted: 'Send it again.',
  store_unavailable: 'Wait a few seconds. If it keeps failing, the operator has to check the database.',
  client_disconnected: 'The client hung up before the end. Check its timeout.',
};
/** Failures that the page itself finds. @type {Readonly<Record<string, string>>} */
const ADVICE_OF_PAGE = {
  unreachable: 'Check whether the gateway is still running, and send it again.',
  cut: 'Look at the record under “Requests”: the request may have gone on.',
};
/** No record has a refusal by the gateway's own limits. @type {Readonly<Record<string, string>>} */
const ADVICE_OF_RECORD = {
  rate_limit_exceeded: 'The limit is the backend’s, not the gateway’s. Wait, and send it again.',
};

export const ERROR_CODES = Object.keys(ADVICE);

/** @type {(code: string) => string | null} */
export function adviceFor(code) {
  return ADVICE[code] ?? ADVICE_OF_PAGE[code] ?? null;
}

/** @type {(code: string) => string | null} */
export function adviceForRecord(code) {
  return ADVICE_OF_RECORD[code] ?? adviceFor(code);
}
