import { ApiError, toApiError } from '../core/errors.ts';

/** Returns what a failure says of the backend. After `refused` nothing can have run. */
export function blameOf(thrown: unknown): 'none' | 'refused' | 'failed' {
  if (!(thrown instanceof ApiError)) return 'none';
  const { code, status } = thrown;
  if (code === 'upstream_unreachable' || status === 429) return 'refused';
  if (!code.startsWith('upstream_')) return 'none';
  return status === 503 ? 'refused' : 'failed';
}

/** A backend that refuses the operator's own key has run nothing either, and the error says not to retry. */
export function mayHaveRun(thrown: unknown): boolean {
  const { headers } = toApiError(thrown);
  return blameOf(thrown) === 'failed' && headers['x-should-retry'] !== 'false';
}
