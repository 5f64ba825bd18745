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
import type { Remote, RemoteChanges } from './remote.ts';
import type { Connection, Connections, Statement } from './pool.ts';
import { RECORDS } from './statements.ts';

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
export function prepareRecovery(owner: Owner, calendar: Calendar): RemoteChanges<'recoverSome'> {
  return {
    async recoverSome(connection, nowMs, ended) {
      if (ended.length > 0) {
        const own = await connection.rows<UnfinishedRow>(ENDED, [owner.name, ended]);
        if (own.length > 0) return { result: own.length, last: await closeAll(connection, own, { nowMs, calendar }) };
      }
      for (;;) {
        const [dead] = await connection.rows<{ readonly owner: string }>(FIND_DEAD, [owner.name]);
        if (dead === undefined) return { result: 0 };
        const left = await connection.rows<UnfinishedRow>(ABANDONED, [dead.owner]);
        if (left.length > 0)
          return { result: left.length, last: await closeAll(connection, left, { nowMs, calendar }) };
        await connection.changes(DELETE, [dead.owner]);
      }
    },
  };
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

const LIST_UNFINISHED: Statement = {
  name: 'list_unfinished',
  text: 'SELECT request_id AS "requestId" FROM requests WHERE owner = $1 AND created_at_ms < $2',
};

export function prepareOwn(owner: Owner): Remote<'listAsked' | 'listUnfinished'> {
  return {
    listAsked: (connection) => connection.rows<AskedRow>(RECORDS.listAsked, { owner: owner.name }),
    async listUnfinished(connection, beforeMs) {
      const rows = await connection.rows<{ readonly requestId: AskedRow['requestId'] }>(LIST_UNFINISHED, [
        owner.name,
        beforeMs,
      ]);
      return rows.map(({ requestId }) => requestId);
    },
  };
}

// The rows are locked in one order, so that two confirmations do not deadlock.
const CONFIRM: Statement = {
  name: 'confirm',
  text: `
    UPDATE requests SET confirmed = 1 WHERE seq IN (
      SELECT seq FROM requests WHERE request_id = ANY($1::text[]) AND owner = $2 ORDER BY seq FOR NO KEY UPDATE)`,
};

export function prepareConfirmations(owner: Owner): RemoteChanges<'doubt' | 'confirm'> {
  return {
    async doubt(connection, requestId) {
      const asked = await connection.changes(RECORDS.doubt, { requestId });
      return { result: null, last: asked === 0 ? [] : [connection.rows(NOTIFY, [[requestId], owner.name])] };
    },
    async confirm(connection, requestIds) {
      await connection.changes(CONFIRM, [requestIds, owner.name]);
      return { result: null };
    },
  };
}

const NOTE_PRICES: Statement = {
  name: 'note_prices',
  text: 'UPDATE owners SET prices = $1 WHERE owner = $2 AND prices IS DISTINCT FROM $1',
};

const FIND_OTHER_PRICES: Statement = {
  name: 'find_other_prices',
  text: `
    SELECT DISTINCT prices FROM owners
    WHERE prices <> $1 AND seen_at > clock_timestamp() - interval '${DEAD_AFTER_S} seconds' ORDER BY prices`,
};

/** Detects processes that use different prices. */
export function preparePrices(owner: Owner): RemoteChanges<'comparePrices'> {
  return {
    async comparePrices(connection, version) {
      await connection.changes(NOTE_PRICES, [version, owner.name]);
      const rows = await connection.rows<{ readonly prices: string }>(FIND_OTHER_PRICES, [version]);
      return { result: rows.map(({ prices }) => prices) };
    },
  };
}
