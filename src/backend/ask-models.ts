import { openConnection, openPool, type BackendConnection } from './connection.ts';
import type { Reachable } from '../core/routes.ts';
import { egressOf, toEndpoint } from './outbound.ts';

export interface ModelsAsking {
  readonly headers: Readonly<Record<string, string>>;
  /** Of the connection, and then of the whole answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Asks a backend for its models, and gives the answer to `use`. Lists are rare, and a connection that is kept for the next one may be
 * about to close, so each has one of its own. Throws ApiError without an answer in time, the signal's reason, or what `use` throws.
 */
export async function askForModels<Result>(
  backend: Reachable,
  { headers, timeoutMs, signal }: ModelsAsking,
  use: (answer: BackendConnection) => Promise<Result> | Result,
): Promise<Result> {
  const { origin, path } = toEndpoint(backend.baseUrl, 'models');
  const pool = openPool(origin, { connectTimeoutMs: timeoutMs, ...egressOf(backend) });
  try {
    return await use(await openConnection(pool, { path, headers, body: null, signal, firstByteTimeoutMs: timeoutMs }));
  } finally {
    void pool.destroy();
  }
}
