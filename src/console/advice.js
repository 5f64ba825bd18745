/** What a caller can do about an error. A code that is not here says it in its own message. */

/** @type {Readonly<Record<string, string>>} */
const ADVICE = {
  invalid_api_key: 'Forget the key, and enter one that holds.',
  insufficient_credits:
    'Set a lower limit of output tokens, or ask the operator for credits. “Usage” shows what is left.',
  spend_limit_exceeded: 'Wait until the limit opens again, or ask the operator to raise it. “Usage” shows when.',
  rate_limit_exceeded: 'Wait, and send it again. “Usage” shows the limits of the key and of its group.',
  concurrency_limit_exceeded: 'Wait until one of your requests has ended, and send it again.',
  insufficient_quota: 'The operator has to look at the account of the backend.',
  model_not_found: 'Choose another model from the list.',
  context_length_exceeded: 'Shorten the input, or compact the conversation.',
  content_filter: 'Say it in other words.',
  payload_too_large: 'Send less at once.',
  unsupported_tool: 'Take the tool out.',
  request_cancelled: 'It was cancelled. Send it again to run it once more.',
  upstream_error: 'Try again. If it stays, the operator has to look at the backend.',
  upstream_unreachable: 'The operator has to look whether the backend runs.',
  upstream_invalid_response: 'Try again. If it stays, the operator has to look at the backend.',
  upstream_timeout: 'Try again with less input, or with a lower limit of output tokens.',
  no_backend_available: 'Wait some seconds, and send it again.',
  server_overloaded: 'Wait some seconds, and send it again.',
  gateway_draining: 'Wait some seconds, and send it again.',
  gateway_interrupted: 'Send it again.',
  store_unavailable: 'Wait some seconds. If it stays, the operator has to look at the database.',
  client_disconnected: 'The client went away before the end. Look at its time-out.',
  unreachable: 'Look whether the gateway still runs, and send it again.',
  cut: 'Look at the record under “Requests”: the request may have gone on.',
};

/**
 * @param {string} code
 * @returns {string | null}
 */
export function adviceFor(code) {
  return ADVICE[code] ?? null;
}
