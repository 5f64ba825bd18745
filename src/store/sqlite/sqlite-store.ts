import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestId } from '../../core/ids.ts';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import {
  StoreOpenError,
  type Identity,
  type Idempotency,
  type RecordPage,
  type RecordQuery,
  type Store,
  type StoreLog,
  type StoredRecord,
} from '../store.ts';
import type { Failure } from './failures.ts';
import type { ListStep } from './lists.ts';
import { createLane, type Care, type Lane, type LaneLimits } from './lane.ts';
import type { IdempotencyRow } from './lifecycle.ts';
import { takeOwnerLock, type OwnerLock } from './owner-lock.ts';
import { PRUNE_STEP } from './retention.ts';
import { SEQ, toDraftRow, toOutcomeRow, toRecord, type RecordRow } from './rows.ts';
import { startInline, startThread, type RemoteEngine, type StartWorker } from './thread.ts';

export interface SqliteStore extends Store {
  /** Runs a pragma on the connection of the store and returns its first value. For the operator's commands, and for tests. */
  pragma(source: string): Promise<unknown>;
}

export interface SqliteStoreOptions {
  /** Undefined keeps everything in memory. */
  readonly file: string | undefined;
  readonly clock: () => number;
  readonly log: StoreLog;
  /** For tests that end the thread. */
  readonly startWorker?: StartWorker;
  /** Others than the usual ones, for tests. */
  readonly limits?: Partial<LaneLimits>;
}

const LOOKUP: Care = { isLookup: true };

/** How long a write that was tried for one readiness check answers for others, so that strangers cannot keep the disk busy. */
const PROBE_HOLDS_MS = 200;

/** Pruning takes at most this share of the time of the database. */
const PRUNE_SHARE = 0.2;

/** Opens the store on SQLite, making folder, file and tables where they are missing. Throws StoreOpenError. */
export async function openSqliteStore({ clock, log, limits, ...options }: SqliteStoreOptions): Promise<SqliteStore> {
  const health = createHealth(log);
  const { engine, lock } = await start(options, log);
  const lane = createLane({ engine, ...health, limits });
  let probe: { readonly outcome: Promise<unknown>; readonly startedAtMs: number } | undefined;

  return {
    async accept(draft) {
      const earlier = toCandidates(draft.caller, draft.idempotency).slice(1);
      const undo = ['discard', draft.requestId, clock()] as const;
      const repeated = await lane.call(['accept', toDraftRow(draft), earlier], { undo });
      return repeated === null ? { kind: 'accepted' } : { kind: 'duplicate', record: toRecord(repeated) };
    },
    async finish(requestId, outcome) {
      return toFound(await lane.call(['finish', toOutcomeRow(requestId, outcome)], { isKept: true }));
    },
    async discard(requestId) {
      await lane.call(['discard', requestId, clock()], { isKept: true });
    },
    async requestCancel(caller, requestId) {
      const found = await lane.call(['requestCancel', caller, requestId, clock()]);
      return found === null ? undefined : { kind: found[0], record: toRecord(found[1]) };
    },
    async find(caller, requestId) {
      return toFound(await lane.call(['find', caller, requestId], LOOKUP));
    },
    async findDuplicate(caller, idempotency) {
      return toFound(await lane.call(['findDuplicate', toCandidates(caller, idempotency)], LOOKUP));
    },
    async findByIdempotencyKey(caller, key) {
      return toFound(await lane.call(['findByIdempotencyKey', pair(caller, key)], LOOKUP));
    },
    list: (caller, query) => list(lane, caller, query),
    async recover() {
      let closed = 0;
      for (;;) {
        const some = await lane.call(['recoverSome', clock()]);
        if (some === 0) return closed;
        closed += some;
      }
    },
    prune: (beforeMs) => prune(lane, beforeMs),
    async checkWritable() {
      const nowMs = performance.now();
      if (probe === undefined || nowMs - probe.startedAtMs > PROBE_HOLDS_MS) {
        probe = { outcome: lane.call(['probeWrite']), startedAtMs: nowMs };
      }
      await probe.outcome;
    },
    pragma: (source) => lane.call(['pragma', source], LOOKUP),
    async close() {
      const unwritten = await lane.close();
      if (unwritten > 0) log.warn({ unwritten }, 'the store was closed with calls it could not serve');
      await engine.close();
      lock?.release();
    },
  };
}

interface Started {
  readonly engine: RemoteEngine;
  readonly lock: OwnerLock | undefined;
}

async function start(
  { file, startWorker }: Omit<SqliteStoreOptions, 'clock' | 'log' | 'limits'>,
  log: StoreLog,
): Promise<Started> {
  if (file === undefined) {
    const owner = randomBytes(8).toString('hex');
    return { engine: startInline({ file, owner }), lock: undefined };
  }
  let lock: OwnerLock | undefined;
  try {
    makePrivateFolder(dirname(file));
    createPrivateFile(file);
    // SQLite resolves links for the files beside the database; the locks must be found in the same place.
    const realFile = realpathSync(file);
    lock = takeOwnerLock(realFile);
    const engine = await startThread({
      engine: { file: realFile, owner: lock.owner },
      onDeath: (message) => log.warn({ reason: message }, 'the thread of the store died and is started again'),
      ...(startWorker === undefined ? {} : { startWorker }),
    });
    return { engine, lock };
  } catch (error) {
    lock?.release();
    if (error instanceof StoreOpenError) throw error;
    const why = error instanceof Error ? error.message : 'unknown reason';
    throw new StoreOpenError(`The database ${file} cannot be opened: ${why}.`, { cause: error });
  }
}

/** Says once that writing fails, and once that it works again, however many calls are hit meanwhile. */
function createHealth(log: StoreLog) {
  let failedAtMs: number | undefined;
  return {
    onFailure({ reason, message }: Failure): void {
      if (failedAtMs === undefined) log.warn({ reason, message }, 'the store cannot be written');
      failedAtMs = performance.now();
    },
    onSuccess(): void {
      // On a full disk small writes succeed between failing ones: a moment without failures is the end of them.
      if (failedAtMs === undefined || performance.now() - failedAtMs < 1000) return;
      failedAtMs = undefined;
      log.info({}, 'the store can be written again');
    },
  };
}

async function list(lane: Lane, caller: Identity, query: RecordQuery): Promise<RecordPage | undefined> {
  const beforeSeq = query.after === undefined ? Number.MAX_SAFE_INTEGER : await findPlace(lane, caller, query.after);
  if (beforeSeq === null) return undefined;
  const lists = await Promise.all(caller.map((name) => collect(lane, name, beforeSeq, query)));
  const rows = lists.flat().sort((one, other) => other[SEQ] - one[SEQ]);
  return { records: rows.slice(0, query.limit).map(toRecord), hasMore: rows.length > query.limit };
}

function findPlace(lane: Lane, caller: Identity, requestId: RequestId): Promise<number | null> {
  return lane.call(['findPlace', caller, requestId], LOOKUP);
}

/** One row more than asked for, if there are as many: it shows that there is another page. */
async function collect(lane: Lane, caller: string, firstBeforeSeq: number, query: RecordQuery): Promise<RecordRow[]> {
  const wanted = query.limit + 1;
  const found: RecordRow[] = [];
  let beforeSeq: number | null = firstBeforeSeq;
  while (beforeSeq !== null && found.length < wanted) {
    const filter = [query.status ?? null, query.model ?? null, wanted - found.length] as const;
    const [rows, next]: ListStep = await lane.call(['list', [caller, beforeSeq, ...filter]], LOOKUP);
    found.push(...rows);
    beforeSeq = next;
  }
  return found;
}

async function prune(lane: Lane, beforeMs: number): Promise<number> {
  let pruned = 0;
  let isMore = true;
  while (isMore) {
    const startedAtMs = performance.now();
    const some = await lane.call(['pruneSome', beforeMs]);
    isMore = some === PRUNE_STEP || (await lane.call(['reclaimSome']));
    pruned += some;
    if (isMore) await delay((performance.now() - startedAtMs) * (1 / PRUNE_SHARE - 1));
  }
  return pruned;
}

/** The same caller, key and body under each secret. */
function toCandidates(caller: Identity, idempotency: Idempotency | undefined): readonly IdempotencyRow[] {
  if (idempotency === undefined) return [];
  const { key, body } = idempotency;
  return pair(caller, key).flatMap(([name, key], index) => {
    const text = body[index];
    return text === undefined ? [] : [[name, key, text] as const];
  });
}

function pair(caller: Identity, key: Identity): readonly (readonly [string, string])[] {
  return caller.flatMap((name, index) => {
    const text = key[index];
    return text === undefined ? [] : [[name, text] as const];
  });
}

function toFound(row: RecordRow | null): StoredRecord | undefined {
  return row === null ? undefined : toRecord(row);
}
