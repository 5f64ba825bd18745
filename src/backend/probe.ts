import { randomBytes } from 'node:crypto';
import { request } from 'undici';

const TIMEOUT_MS = 3000;

/** What a backend does with a key that nobody gave out: refuses it, takes it, or answers something that does not tell. */
export type KeyCheck =
  | { readonly kind: 'refused' | 'taken' | 'unreachable' }
  | { readonly kind: 'unclear'; readonly status: number };

interface ProbeOptions {
  readonly timeoutMs?: number;
  /** Its abort gives up, which counts as unreachable. */
  readonly signal?: AbortSignal;
}

/** Tries a made-up key on the backend's `/models`. Never throws, and takes 3 s at most. */
export async function tryMadeUpKey(
  baseUrl: string,
  { timeoutMs = TIMEOUT_MS, signal }: ProbeOptions = {},
): Promise<KeyCheck> {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`;
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const { statusCode, body } = await request(url, {
      headers: { authorization: `Bearer ${makeUpKey()}`, accept: 'application/json' },
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      // A connection of its own, which is closed with it.
      reset: true,
    });
    body.on('error', () => {}).destroy();
    return toKeyCheck(statusCode);
  } catch {
    return { kind: 'unreachable' };
  }
}

/** A key that nobody can have given out. */
export function makeUpKey(): string {
  return `probe-${randomBytes(24).toString('base64url')}`;
}

function toKeyCheck(status: number): KeyCheck {
  if (status === 401 || status === 403) return { kind: 'refused' };
  return status >= 200 && status < 300 ? { kind: 'taken' } : { kind: 'unclear', status };
}

/**
 * As a gateway in passthrough mode depends on the backend to tell callers apart, says in one sentence what the operator should
 * know of that, or resolves with undefined. Never throws, and takes 3 s at most.
 */
export async function probeKeys(baseUrl: string, options: ProbeOptions = {}): Promise<string | undefined> {
  const check = await tryMadeUpKey(baseUrl, options);
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
