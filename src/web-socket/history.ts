/**
 * What the connections remember, each of its latest response: the items before it and its own, for a request that continues
 * it. In the memory of this process alone, and gone with the connection.
 */

import { ApiError } from '../core/errors.ts';
import { isList, readJson } from '../core/json.ts';

export interface Chain {
  /** All items up to the response, parsed anew. Throws ApiError `previous_response_not_found` for any but the latest. */
  recall(responseId: string): { readonly items: unknown[]; readonly bytes: number };
  /** From now on this response is the latest; `items` are what came after the one it continues, if it does. */
  keep(responseId: string, items: readonly unknown[], continuedId: string | undefined): void;
  /** A continuation of this response has failed. Does nothing where another is the latest. */
  forget(responseId: string | undefined): void;
  close(): void;
}

export interface ChainsOptions {
  /** Of one chain. What grows beyond is forgotten, and the client sends its full history once. */
  readonly maxBytes: number;
  /** Of all chains together; those which were used longest ago go first. */
  readonly maxTotalBytes?: number;
}

interface Latest {
  readonly responseId: string;
  /** The items of each turn, as JSON. */
  readonly turns: readonly Buffer[];
  readonly bytes: number;
}

const MAX_TOTAL_BYTES = 256 * 1024 * 1024;

/** Begins with none. */
export function createChains({ maxBytes, maxTotalBytes = MAX_TOTAL_BYTES }: ChainsOptions): { open(): Chain } {
  // In the order of their last use.
  const latestOf = new Map<Chain, Latest>();
  let totalBytes = 0;

  return { open };

  function open(): Chain {
    const chain: Chain = {
      recall(responseId) {
        const latest = latestOf.get(chain);
        if (latest?.responseId !== responseId) throw notFound();
        return { items: latest.turns.flatMap(itemsOf), bytes: latest.bytes };
      },
      keep(responseId, items, continuedId) {
        const latest = latestOf.get(chain);
        const turn = Buffer.from(JSON.stringify(items));
        const before = latest !== undefined && latest.responseId === continuedId ? latest : EMPTY;
        drop(chain);
        const bytes = before.bytes + turn.length;
        // Forgotten while its continuation ran: what is left would be half a conversation.
        if (bytes > maxBytes || (continuedId !== undefined && before === EMPTY)) return;
        latestOf.set(chain, { responseId, turns: [...before.turns, turn], bytes });
        totalBytes += bytes;
        for (const oldest of latestOf.keys()) {
          if (totalBytes <= maxTotalBytes) break;
          drop(oldest);
        }
      },
      forget(responseId) {
        if (latestOf.get(chain)?.responseId === responseId) drop(chain);
      },
      close: () => drop(chain),
    };
    return chain;
  }

  function drop(chain: Chain): void {
    totalBytes -= latestOf.get(chain)?.bytes ?? 0;
    latestOf.delete(chain);
  }
}

const EMPTY: Omit<Latest, 'responseId'> = { turns: [], bytes: 0 };

function itemsOf(turn: Buffer): unknown[] {
  const items = readJson(turn.toString());
  return isList(items) ? items : [];
}

function notFound(): ApiError {
  return new ApiError('previous_response_not_found', {
    param: 'previous_response_id',
    message:
      'This connection remembers no response with this id: only its latest can be continued, and none after a failure. ' +
      'Send the full history in input instead.',
  });
}
