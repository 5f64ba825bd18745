/** Keeps the latest response of each connection, with all items before it, in memory. */

import { ApiError } from '../core/errors.ts';
import { isList, readJson } from '../core/json.ts';

export interface History {
  /** Throws ApiError `previous_response_not_found` unless this response is the latest. */
  get(responseId: string): { readonly items: unknown[]; readonly bytes: number };
  /** `items` come after the response that this one continues. */
  set(responseId: string, items: readonly unknown[], continuedId: string | undefined): void;
  /** Drops the history if this response is the latest. */
  delete(responseId: string | undefined): void;
  close(): void;
}

export interface HistoriesOptions {
  /** A larger history is dropped, and the client sends its full history once. */
  readonly maxBytes: number;
  /** The least recently used histories are dropped first. */
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
        // A history that was dropped while its continuation ran would be incomplete.
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
