import { randomBytes } from 'node:crypto';
import { request } from 'undici';

const TIMEOUT_MS = 3000;

/**
 * Tries a made-up key on the backend's `/models`, as a gateway in passthrough mode depends on the backend to tell callers
 * apart. Resolves with what the operator should know, in one sentence, or undefined. Never throws, and takes 3 s at most.
 */
export async function probeKeys(baseUrl: string, { timeoutMs = TIMEOUT_MS } = {}): Promise<string | undefined> {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`;
  try {
    const { statusCode, body } = await request(url, {
      headers: { authorization: `Bearer probe-${randomBytes(24).toString('base64url')}`, accept: 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
      // A connection of its own, which is closed with it.
      reset: true,
    });
    body.on('error', () => {}).destroy();
    return describe(statusCode);
  } catch {
    return 'The backend could not be reached at the start; requests are refused with upstream_unreachable until it can be.';
  }
}

function describe(status: number): string | undefined {
  if (status === 401 || status === 403) return undefined;
  if (status >= 200 && status < 300) {
    return (
      'The backend listed its models for a made-up key. If it takes any key for completions too, whoever uses the same ' +
      'key sees the same request records, and anybody who reaches this gateway can use it: AUTH_MODE=static has keys of its own.'
    );
  }
  if (status === 404 || status === 405) {
    return `The backend answered ${status} to GET /models, so it could not be seen whether it checks keys. Is UPSTREAM_BASE_URL right, with its /v1?`;
  }
  return `The backend answered ${status} to GET /models, so it could not be seen whether it checks keys.`;
}
