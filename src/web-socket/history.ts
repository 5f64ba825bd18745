/** Keeps the latest response of each connection, with all items before it, in memory. */

import { ApiError } from '../core/errors.ts';
import type { Share, Shares } from '../access/shares.ts';
import type { Past, Turns } from '../requests/preparation/frame.ts';
import type { Holder } from '../accounts/caller.ts';

export interface History {
  /** Throws ApiError `previous_response_not_found` unless this response is the latest. */
  get(responseId: string): Past;
  /** The turns come after the response that this one continues. */
  set(responseId: string, turns: Turns, continuedId: string | undefined): void;
  /** Drops the history if this response is the latest. */
  delete(responseId: string | undefined): void;
  close(): void;
}

export interface HistoriesOptions {
  /** A larger history is dropped, and the client sends its full history once. */
  readonly maxBytes: number;
  /** Beyond its share a caller loses the histories that it used longest ago. */
  readonly shares: Shares;
}

interface Latest extends Past {
  readonly responseId: string;
  readonly owner: string;
  readonly share: Share;
}

export function createHistories({ maxBytes, shares }: HistoriesOptions): { open(holderNow: () => Holder): History } {
  // In the order of their last use.
  const latestOf = new Map<History, Latest>();

  return { open };

  function open(holderNow: () => Holder): History {
    const share = shares.open(holderNow);
    let isClosed = false;
    const history: History = {
      get(responseId) {
        const latest = latestOf.get(history);
        if (latest?.responseId !== responseId) throw notFound();
        const { turns, bytes } = latest;
        return { turns, bytes };
      },
      set(responseId, turns, continuedId) {
        // The client may leave while the end of its answer is recorded.
        if (isClosed) return;
        const owner = holderNow().name;
        const latest = latestOf.get(history);
        const before = latest !== undefined && latest.responseId === continuedId ? latest : EMPTY;
        drop(history);
        const bytes = turns.reduce((sum, turn) => sum + turn.length, before.bytes);
        // A history that was dropped while its continuation ran would be incomplete.
        if (bytes > maxBytes || (continuedId !== undefined && before === EMPTY)) return;
        if (!takeFor(owner, share, bytes)) return;
        latestOf.set(history, { responseId, turns: [...before.turns, ...turns], bytes, owner, share });
      },
      delete(responseId) {
        if (latestOf.get(history)?.responseId === responseId) drop(history);
      },
      close() {
        isClosed = true;
        drop(history);
      },
    };
    return history;
  }

  /** Returns whether there is room, after the owner has lost as many other histories as needed. */
  function takeFor(owner: string, share: Share, bytes: number): boolean {
    while (!hasTaken(share, bytes)) {
      const oldest = [...latestOf].find(([, latest]) => latest.owner === owner)?.[0];
      if (oldest === undefined) return false;
      drop(oldest);
    }
    return true;
  }

  function drop(history: History): void {
    latestOf.get(history)?.share.release();
    latestOf.delete(history);
  }
}

const EMPTY: Past = { turns: [], bytes: 0 };

function hasTaken(share: Share, bytes: number): boolean {
  try {
    share.take(bytes);
    return true;
  } catch {
    return false;
  }
}

function notFound(): ApiError {
  return new ApiError('previous_response_not_found', {
    param: 'previous_response_id',
    message:
      'This is not the latest response of this connection: only that one can be continued, and none after a failure. ' +
      'Send the full history in input instead.',
  });
}
