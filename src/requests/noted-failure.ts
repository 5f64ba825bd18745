import { isTransient } from '../backend/failures.ts';
import { toApiError, type ApiError } from '../core/errors.ts';
import type { RequestFacts } from '../telemetry/facts.ts';

/** Adds the error to the facts of the request. An internal error is also logged. */
export function noteFailure(thrown: unknown, facts: RequestFacts): ApiError {
  const error = toApiError(thrown);
  facts.errorCode = error.code;
  if (error.code === 'internal_error') facts.log.error({ err: error.cause }, 'the gateway failed');
  return error;
}

/**
 * Returns the headers of an error, with a hint whether to retry. What is `decided` by the record
 * counts most.
 */
export function headersOf(error: ApiError, decided?: string): Readonly<Record<string, string>> {
  const hint = decided ?? error.headers['x-should-retry'] ?? (isDeterministic(error) ? 'false' : undefined);
  return hint === undefined ? error.headers : { ...error.headers, 'x-should-retry': hint };
}

/** The SDKs retry every 409 by themselves, so that a cancelled request would start again. */
function isDeterministic({ code, status }: ApiError): boolean {
  return code === 'request_cancelled' || code === 'duplicate_request' || !isTransient(status);
}
