/**
 * The latest response of each connection with all items before it, for a request that continues it.
 * It is in the memory of this process, and dropped with the connection.
 */

import { ApiError } from '../core/errors.ts';
import { isList, readJson } from '../core/json.ts';

export interface History {
  /**
   * Returns all items up to the response. Throws ApiError `previous_response_not_found` unless it
   * is the latest.
   */
  get(responseId: string): { readonly items: unknown[]; readonly bytes: number };
  /** Makes this response the latest. `items` are the ones after the response that it continues. */
  set(responseId: string, items: readonly unknown[], continuedId: string | undefined): void;
  /** Drops the history if this response is the latest. Called when a continuation has failed. */
  delete(responseId: string | undefined): void;
  close(): void;
}

export interface HistoriesOptions {
  /**
   * The limit of one history. A larger one is dropped, and the client sends its full history once.
   */
  readonly maxBytes: number;
  /** The limit of all histories; the least recently used are dropped first. */
  readonly maxTotalBytes?: number;
}

interface Latest {
  readonly responseId: string;
  readonly turns: readonly Buffer[];
  readonly bytes: number;
}

const MAX_TOTAL_BYTES = 256 * 1024 * 1024;

export function createHistories({ maxBytes, maxTotalBytes = MAX_TOTAL_BYTES }: HistoriesOptions): { open(): History } {
  // In the order of their last use.
  const latestOf = new Map<History, Latest>();
  let totalBytes = 0;

  return { open };

  function open(): History {
    const history: History = {
      get(responseId) {
        const latest = latestOf.get(history);
        if (latest?.responseId !== responseId) throw notFound();
        return { items: latest.turns.flatMap(itemsOf), bytes: latest.bytes };
      },
      set(responseId, items, continuedId) {
        const latest = latestOf.get(history);
        const turn = Buffer.from(JSON.stringify(items));
        const before = latest !== undefined && latest.responseId === continuedId ? latest : EMPTY;
        drop(history);
        const bytes = before.bytes + turn.length;
        // The history was dropped while its continuation ran, so the rest would be incomplete.
        if (bytes > maxBytes || (continuedId !== undefined && before === EMPTY)) return;
        latestOf.set(history, { responseId, turns: [...before.turns, turn], bytes });
        totalBytes += bytes;
        for (const oldest of latestOf.keys()) {
          if (totalBytes <= maxTotalBytes) break;
          drop(oldest);
        }
      },
      delete(responseId) {
        if (latestOf.get(history)?.responseId === responseId) drop(history);
      },
      close: () => drop(history),
    };
    return history;
  }

  function drop(history: History): void {
    totalBytes -= latestOf.get(history)?.bytes ?? 0;
    latestOf.delete(history);
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
      'This is not the latest response of this connection: only that one can be continued, and none after a failure. ' +
      'Send the full history in input instead.',
  });
}
