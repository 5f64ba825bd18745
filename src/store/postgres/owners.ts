/**
 * The owners of unfinished records. Each process updates its row in `owners` by the clock of the
 * database, so the clocks of the gateways need not agree. A process that was silent for
 * DEAD_AFTER_S is dead if another process was heard all that time, so an outage of the database
 * kills none. A process that was paused for long must take a new name, because its deleted name
 * breaks the foreign key.
 */
import { randomBytes } from 'node:crypto';
import type { Calendar } from '../calendar.ts';
import { prepareCharges } from '../book/charges.ts';
import { UNFINISHED_COLUMNS } from '../rows/record-columns.ts';
import { toInterrupted, type AskedRow, type UnfinishedRow } from '../rows/records.ts';
import { writeRecords } from './changes.ts';
import { NOTIFY } from './notices.ts';
import { openLockedUnit } from './unit-of-work.ts';
import { named, POSTGRES } from '../sql/dialect.ts';
import { recordStatements } from '../sql/records.ts';
import { changes, rows, send, type SteppedOperations } from '../sql/steps.ts';
import type { Operations } from '../queue/operations.ts';
import type { Committable, Connection, Connections, Statement } from './pool.ts';

export interface Owner {
  readonly name: string;
  /** Takes a new name, unless `former` has been replaced already. */
  renew(former: string): Promise<void>;
  /** Stops the heartbeats, and lets other processes close unfinished records at once. */
  release(): Promise<void>;
}

/** Much longer than any pause of a busy process. */
export const DEAD_AFTER_S = 15;
const BEAT_MS = 3000;
const STEADY_WITHIN_S = 8;

const INSERT: Statement = {
  name: 'insert_owner',
  text: 'INSERT INTO owners (owner, seen_at, steady_since) VALUES ($1, clock_timestamp(), clock_timestamp())',
};

const BEAT: Statement = {
  name: 'beat',
  text: `
    UPDATE owners SET
      steady_since = CASE WHEN seen_at BETWEEN clock_timestamp() - interval '${STEADY_WITHIN_S} seconds' AND clock_timestamp()
        THEN steady_since ELSE clock_timestamp() END,
      seen_at = clock_timestamp()
    WHERE owner = $1`,
};

const RELEASE: Statement = { name: 'release_owner', text: `UPDATE owners SET seen_at = '-infinity' WHERE owner = $1` };

/** Takes a name and keeps it alive. Calls `onFailure` when a heartbeat cannot be written. */
export async function takeOwner(
  connections: Connections,
  onFailure: (error: unknown) => void,
  everyMs = BEAT_MS,
): Promise<Owner> {
  let name = await insertOwner(connections);
  let beating: Promise<void> | undefined;
  let renewing: Promise<string> | undefined;
  const timer = setInterval(() => {
    beating ??= beat()
      .catch(onFailure)
      .finally(() => {
        beating = undefined;
      });
  }, everyMs);
  timer.unref();

  async function beat(): Promise<void> {
    const beaten = name;
    const found = await connections.write((connection) => connection.changes(BEAT, [beaten]));
    if (found === 0) await renew(beaten);
  }

  async function renew(former: string): Promise<void> {
    if (name !== former) return;
    renewing ??= insertOwner(connections).finally(() => {
      renewing = undefined;
    });
    name = await renewing;
  }

  return {
    get name() {
      return name;
    },
    renew,
    async release() {
      clearInterval(timer);
      await beating;
      await connections.write((connection) => connection.changes(RELEASE, [name]));
    },
  };
}

async function insertOwner(connections: Connections): Promise<string> {
  const name = randomBytes(8).toString('hex');
  await connections.write((connection) => connection.changes(INSERT, [name]));
  return name;
}

// A released name is dead at once. What was seen in the future was seen before the clock was set back.
const FIND_DEAD: Statement = {
  name: 'find_dead_owner',
  text: `
    SELECT owner FROM owners WHERE owner <> $1 AND (seen_at = '-infinity' OR (
      seen_at NOT BETWEEN clock_timestamp() - interval '${DEAD_AFTER_S} seconds'
        AND clock_timestamp() + interval '${DEAD_AFTER_S} seconds' AND EXISTS (
        SELECT FROM owners AS witness
        WHERE witness.seen_at > clock_timestamp() - interval '${STEADY_WITHIN_S} seconds'
          AND witness.steady_since < clock_timestamp() - interval '${DEAD_AFTER_S} seconds')))
    ORDER BY owner LIMIT 1 FOR UPDATE SKIP LOCKED`,
};

const STEP = 500;

function unfinished(name: string, condition: string): Statement {
  const text = `
    SELECT ${UNFINISHED_COLUMNS} FROM requests WHERE owner = $1 ${condition}
    ORDER BY seq LIMIT ${STEP} FOR NO KEY UPDATE`;
  return { name, text };
}

const ABANDONED = unfinished('find_abandoned', '');
const ENDED = unfinished('find_ended', 'AND request_id = ANY($2::text[])');

const DELETE: Statement = { name: 'delete_owner', text: 'DELETE FROM owners WHERE owner = $1' };

/** Closes what dead processes left unfinished, which only one process does, and what has ended in this one. */
export async function recoverSome(
  connection: Connection,
  { owner, calendar }: { readonly owner: Owner; readonly calendar: Calendar },
  [nowMs, ended]: Parameters<Operations['recoverSome']>,
): Promise<Committable<number>> {
  if (ended.length > 0) {
    const own = await connection.rows<UnfinishedRow>(ENDED, [owner.name, ended]);
    if (own.length > 0) return { result: own.length, last: await closeAll(connection, own, { nowMs, calendar }) };
  }
  for (;;) {
    const [dead] = await connection.rows<{ readonly owner: string }>(FIND_DEAD, [owner.name]);
    if (dead === undefined) return { result: 0 };
    const left = await connection.rows<UnfinishedRow>(ABANDONED, [dead.owner]);
    if (left.length > 0) return { result: left.length, last: await closeAll(connection, left, { nowMs, calendar }) };
    await connection.changes(DELETE, [dead.owner]);
  }
}

async function closeAll(
  connection: Connection,
  unfinished: readonly UnfinishedRow[],
  { nowMs, calendar }: { readonly nowMs: number; readonly calendar: Calendar },
) {
  const unit = openLockedUnit(connection);
  const charges = prepareCharges(unit, calendar);
  const closed = unfinished.map((record) => toInterrupted(record, nowMs));
  await unit.load({ records: closed });
  for (const record of closed) charges.end(record);
  return [...writeRecords(connection, closed), ...unit.flush(nowMs)];
}

const { listAsked, doubt } = recordStatements(POSTGRES);
const { listUnfinished, confirm, notePrices, findOtherPrices } = named('own', {
  listUnfinished: 'SELECT request_id AS "requestId" FROM requests WHERE owner = :owner AND created_at_ms < :beforeMs',
  // The rows are locked in one order, so that two confirmations do not deadlock.
  confirm: `
    UPDATE requests SET confirmed = 1 WHERE seq IN (
      SELECT seq FROM requests WHERE request_id = ANY(:requestIds::text[]) AND owner = :owner
      ORDER BY seq FOR NO KEY UPDATE)`,
  notePrices: 'UPDATE owners SET prices = :version WHERE owner = :owner AND prices IS DISTINCT FROM :version',
  findOtherPrices: `
    SELECT DISTINCT prices FROM owners
    WHERE prices <> :version AND seen_at > clock_timestamp() - interval '${DEAD_AFTER_S} seconds' ORDER BY prices`,
});

/** Returns what is done in the name of this process. */
export function ownOperations(
  owner: Owner,
): SteppedOperations<'listAsked' | 'listUnfinished' | 'doubt' | 'confirm' | 'comparePrices'> {
  return {
    listAsked: () => rows<AskedRow>(listAsked, { owner: owner.name }),
    *listUnfinished(beforeMs) {
      const found = yield* rows<Pick<AskedRow, 'requestId'>>(listUnfinished, { owner: owner.name, beforeMs });
      return found.map(({ requestId }) => requestId);
    },
    *doubt(requestId) {
      const asked = yield* changes(doubt, { requestId });
      if (asked > 0) yield* send(NOTIFY, { requestIds: [requestId], owner: owner.name });
      return null;
    },
    *confirm(requestIds) {
      yield* send(confirm, { requestIds, owner: owner.name });
      return null;
    },
    /** Detects processes that use different prices. */
    *comparePrices(version) {
      yield* send(notePrices, { version, owner: owner.name });
      return (yield* rows<{ readonly prices: string }>(findOtherPrices, { version })).map(({ prices }) => prices);
    },
  };
}
