/**
 * An acceptance that was not answered in time is undone later. Until then another process finds its
 * record, although the request will never run. So a record counts as a duplicate only if its owner
 * confirms that it runs. Owners are asked when a duplicate of another process turns up, and not
 * before: a sign for each request would cost each request another write. Whoever finds what a
 * recovery has closed confirms it, so that its owner, which may only have been paused, cannot undo it
 * any more.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '../../core/errors.ts';
import type { RequestId } from '../../contract/ids.ts';
import type { BatchQueue } from './batch-queue.ts';
import { toUnavailable } from './failures.ts';
import { isUnconfirmed, type AskedRow, type RecordRow } from '../rows/records.ts';

export interface Confirmations {
  /** Notes that this process was told that the request is accepted. */
  add(requestId: RequestId): void;
  remove(requestId: RequestId): void;
  /** Whether the request was accepted here and has no end that is written. */
  isUnfinished(requestId: RequestId): boolean;
  /**
   * Returns the record if it stays, undefined if it was undone. Throws ApiError `store_unavailable`
   * if neither is known in time.
   */
  confirmed(record: RecordRow): Promise<RecordRow | undefined>;
  /** Confirms what other processes ask this one about. */
  answer(asked: readonly AskedRow[]): void;
}

/** An owner in another process that is not told at once looks every half second. */
const LOOK_EVERY_MS = 20;

export function createConfirmations(queue: BatchQueue): Confirmations {
  const accepted = new Set<RequestId>();
  const asking = new Map<RequestId, Promise<RecordRow | undefined>>();

  async function ask(requestId: RequestId): Promise<RecordRow | undefined> {
    const deadlineMs = performance.now() + queue.answerWithinMs;
    for (let times = 0; ; times += 1) {
      const found = await queue.call(['findAny', requestId], { isLookup: true });
      if (found === null) return undefined;
      if (!isUnconfirmed(found)) return found;
      if (performance.now() >= deadlineMs) throw notConfirmed();
      if (times === 0) await queue.call(['doubt', requestId]);
      else await delay(LOOK_EVERY_MS);
    }
  }

  return {
    add: (requestId) => void accepted.add(requestId),
    remove: (requestId) => void accepted.delete(requestId),
    isUnfinished: (requestId) => accepted.has(requestId),
    async confirmed(record) {
      const { requestId } = record;
      if (!isUnconfirmed(record) || accepted.has(requestId)) return record;
      let answer = asking.get(requestId);
      if (answer === undefined) {
        answer = ask(requestId).finally(() => asking.delete(requestId));
        asking.set(requestId, answer);
      }
      return answer;
    },
    answer(asked) {
      const own = asked.flatMap(({ requestId, isDoubted }) =>
        isDoubted && accepted.has(requestId) ? [requestId] : [],
      );
      // The next look finds again what could not be written.
      if (own.length > 0) queue.call(['confirm', own]).catch(() => undefined);
    },
  };
}

function notConfirmed(): ApiError {
  return toUnavailable(
    'the owner of the first request has not confirmed it',
    'Whether the first request with this Idempotency-Key was accepted is not known yet. Try again.',
  );
}
