import { ApiError, toApiError } from '../../core/errors.ts';

/**
 * What a failure is about: the request itself, the connection to the backend, the model there, or the answer, which the request
 * may have spoilt as well as the backend.
 */
export type Blame = 'request' | 'connection' | 'model' | 'answer';

export function blameOf(thrown: unknown): Blame {
  if (!(thrown instanceof ApiError)) return 'request';
  const { code, status } = thrown;
  if (code === 'upstream_unreachable') return 'connection';
  if (status === 429) return 'model';
  return code.startsWith('upstream_') ? 'answer' : 'request';
}

/** Whether the gateway could not ask the backend at all, which says nothing of it. */
export function wasNotAsked(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.code === 'server_overloaded';
}

/** Whether the backend has refused the request before anything ran, so that another one may be asked. */
export function hasRefused(thrown: unknown): boolean {
  const blame = blameOf(thrown);
  return blame === 'connection' || blame === 'model' || (blame === 'answer' && toApiError(thrown).status === 503);
}

/** A backend that refuses the operator's own key has run nothing either, and the error says not to retry. */
export function mayHaveRun(thrown: unknown): boolean {
  const { headers } = toApiError(thrown);
  return blameOf(thrown) === 'answer' && !hasRefused(thrown) && headers['x-should-retry'] !== 'false';
}
