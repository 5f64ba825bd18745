import { randomBytes } from 'node:crypto';
import { askForModels } from './ask-models.ts';
import type { Reachable } from '../core/routes.ts';

const TIMEOUT_MS = 3000;

export type KeyCheck =
  | { readonly kind: 'refused' | 'taken' | 'unreachable' }
  | { readonly kind: 'unclear'; readonly status: number };

interface ProbeOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Sends a made-up key to the backend's `/models`. Never throws, and takes at most 3 s. */
export async function tryMadeUpKey(
  backend: Reachable,
  { timeoutMs = TIMEOUT_MS, signal }: ProbeOptions = {},
): Promise<KeyCheck> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await askForModels(
      backend,
      {
        headers: { authorization: `Bearer ${makeUpKey()}`, accept: 'application/json' },
        timeoutMs,
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      },
      ({ status }) => toKeyCheck(status),
    );
  } catch {
    return { kind: 'unreachable' };
  }
}

/** Returns a random key. */
export function makeUpKey(): string {
  return `probe-${randomBytes(24).toString('base64url')}`;
}

function toKeyCheck(status: number): KeyCheck {
  if (status === 401 || status === 403) return { kind: 'refused' };
  return status >= 200 && status < 300 ? { kind: 'taken' } : { kind: 'unclear', status };
}

/**
 * Resolves with a sentence for the operator if the backend does not check keys, or if that is not
 * known. Never throws, and takes at most 3 s.
 */
export async function probeKeys(backend: Reachable, options: ProbeOptions = {}): Promise<string | undefined> {
  const check = await tryMadeUpKey(backend, options);
  switch (check.kind) {
    case 'refused':
      return undefined;
    case 'taken':
      return (
        'The backend listed its models for a made-up key. If it takes any key for completions too, whoever uses the same ' +
        'key sees the same request records, and anybody who reaches this gateway can use it: AUTH_MODE=static has keys of its own.'
      );
    case 'unreachable':
      return 'The backend could not be reached at the start; requests are refused with upstream_unreachable until it can be.';
    case 'unclear':
      return describeUnclear(check.status);
  }
}

function describeUnclear(status: number): string {
  if (status === 404 || status === 405) {
    return `The backend answered ${status} to GET /models, so it could not be seen whether it checks keys. Is UPSTREAM_BASE_URL right, with its /v1?`;
  }
  return `The backend answered ${status} to GET /models, so it could not be seen whether it checks keys.`;
}
