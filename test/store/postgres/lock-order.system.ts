/**
 * The order in which a batch takes its locks. Somebody else holds the lock that is first in it: then nothing that comes
 * later may be locked yet, in whichever order the batch names them. So no two gateways ever wait for each other in a circle.
 */
import { expect } from 'chai';
import { UTC } from '../../../src/core/time.ts';
import { createCalendar } from '../../../src/store/calendar.ts';
import { Client } from 'pg';
import type { KeyId } from '../../../src/contract/ids.ts';
import { toDraftRow, toOutcomeRow } from '../../../src/store/rows/records.ts';
import type { Change } from '../../../src/store/book/changes.ts';
import { writeChanges } from '../../../src/store/postgres/changes.ts';
import { openPool, type Connections } from '../../../src/store/postgres/pool.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { newGroupDraft, newHold, newKeyDraft } from '../../support/keys.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { newDraft, newKeyedDraft, newOutcome } from '../../support/records.ts';
import { until } from '../../support/time.ts';

const server = await findPostgres();
const SILENT = { info: () => undefined, warn: () => undefined };

if (server !== undefined) {
  describe('the locks of a batch on PostgreSQL', () => {
    let database: TestDatabase;
    let store: Store;
    let connections: Connections;
    let owner: string;
    let other: Client;

    before(async () => {
      database = await createTestDatabase(server);
      store = await openPostgresStore({
        url: database.url,
        poolSize: 2,
        clock: Date.now,
        log: SILENT,
      });
    });
    after(async () => {
      await store.close();
      await database.drop();
    });
    beforeEach(async () => {
      connections = openPool({ url: database.url, size: 1, onLost: () => undefined });
      const [row] = await database.run('SELECT owner FROM owners LIMIT 1');
      owner = (row as { owner: string }).owner;
      other = new Client({ connectionString: database.url });
      await other.connect();
      await other.query('BEGIN');
    });
    afterEach(async () => {
      await other.end();
      await connections.close();
      await database.empty();
    });

    /** Holds the first lock by this statement, runs the batch, and looks whether the second one can still be had. */
    async function expectInOrder({
      first,
      second,
      batch,
    }: {
      readonly first: string;
      readonly second: string;
      readonly batch: readonly Change[];
    }): Promise<void> {
      await other.query(first);
      const written = connections.transaction((connection) =>
        writeChanges(connection, { owner, nowMs: Date.now(), calendar: createCalendar(UTC) }, batch),
      );
      await until(async () => {
        const waiting = await database.run(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'responses-gateway' AND wait_event_type = 'Lock'`);
        return waiting.length === 1;
      });
      await database.run(`SET lock_timeout = '50ms'; BEGIN; ${second}; ROLLBACK`);
      await other.query('ROLLBACK');
      await written;
    }

    /** So that a table is not found in the order of its keys by chance: what is changed moves to its end. */
    async function twoKeys(): Promise<readonly [KeyId, KeyId]> {
      const [first, second] = [await store.createKey(newKeyDraft()), await store.createKey(newKeyDraft())];
      await database.run(`UPDATE keys SET name = 'moved' WHERE key_id = '${first.keyId}'`);
      return [first.keyId, second.keyId];
    }

    const lockKey = (keyId: KeyId) => `SELECT FROM keys WHERE key_id = '${keyId}' FOR NO KEY UPDATE`;
    const lockRecord = (requestId: string) =>
      `SELECT FROM requests WHERE request_id = '${requestId}' FOR NO KEY UPDATE`;

    it('are taken on keys in the order of their making', async () => {
      const [first, second] = await twoKeys();
      const accept = (keyId: KeyId): Change => {
        const hold = newHold(keyId, 1);
        return ['acceptPaid', toDraftRow(newDraft({ hold }), Infinity), [], hold];
      };
      await expectInOrder({ first: lockKey(first), second: lockKey(second), batch: [accept(second), accept(first)] });
    });

    it('are taken on keys in the order of their making also where there is no record', async () => {
      const [first, second] = await twoKeys();
      const batch: readonly Change[] = [
        ['takeRate', second, 0, 0],
        ['takeRate', first, 0, 0],
      ];
      await expectInOrder({ first: lockKey(first), second: lockKey(second), batch });
    });

    it('are taken on records in the order of their acceptance', async () => {
      const [first, second] = [newDraft(), newDraft()];
      await store.accept(first);
      await store.accept(second);
      await database.run(`UPDATE requests SET model = 'moved' WHERE request_id = '${first.requestId}'`);
      const finish = (draft: typeof first): Change => ['finish', toOutcomeRow(draft.requestId, newOutcome()), null];
      await expectInOrder({
        first: lockRecord(first.requestId),
        second: lockRecord(second.requestId),
        batch: [finish(second), finish(first)],
      });
    });

    const insert = (name: string) => `INSERT INTO requests
      (request_id, caller, owner, endpoint, model, stream, status, created_at_ms, estimated_input_tokens, idempotency_key, body)
      VALUES ('${name}', 'caller', '${owner}', 'responses', 'm', 0, 'processing', 0, 0, '${name}', 'body')`;

    it('are taken on names of requests in their alphabetical order', async () => {
      const accept = (name: string): Change => ['accept', toDraftRow(newKeyedDraft(name), Infinity), []];
      await expectInOrder({ first: insert('a'), second: insert('b'), batch: [accept('b'), accept('a')] });
    });

    it('may be had too late: then nothing is accepted', async () => {
      const { keyId } = await store.createKey(newKeyDraft());
      const draft = toDraftRow(newKeyedDraft('held'), Infinity);
      let looks = 0;
      const lateAfterInsert = {
        ...draft,
        get deadlineMs() {
          looks += 1;
          return looks === 1 ? Infinity : 0;
        },
      };
      const batch: readonly Change[] = [
        ['accept', { ...toDraftRow(newKeyedDraft('late'), 0) }, []],
        ['accept', toDraftRow(newDraft(), 0), []],
        ['acceptPaid', lateAfterInsert, [], newHold(keyId, 1)],
      ];
      const results = await connections.transaction((connection) =>
        writeChanges(connection, { owner, nowMs: Date.now(), calendar: createCalendar(UTC) }, batch),
      );
      expect(results).to.deep.equal(['late', 'late', { kind: 'late', rates: null }]);
      expect(looks).to.be.above(1);
      expect(await database.run('SELECT 1 FROM requests')).to.deep.equal([]);
      expect(await store.findKey(keyId)).to.include({ heldMicro: 0 });
    });

    it('are taken on records before keys', async () => {
      const { keyId } = await store.createKey(newKeyDraft());
      const draft = newDraft({ hold: newHold(keyId, 1) });
      await store.accept(draft);
      const batch: readonly Change[] = [['finish', toOutcomeRow(draft.requestId, newOutcome({ costMicro: 1 })), null]];
      await expectInOrder({ first: lockRecord(draft.requestId), second: lockKey(keyId), batch });
    });

    it('are taken on keys before groups, and on those in the order of their making', async () => {
      const groups = [await store.createGroup(newGroupDraft()), await store.createGroup(newGroupDraft())];
      const [first, second] = groups.map(({ groupId }) => groupId);
      const keys = [];
      for (const { groupId } of groups.toReversed()) {
        keys.push((await store.createKey(newKeyDraft({ groupId }))).keyId);
      }
      await database.run(`UPDATE groups SET name = 'moved' WHERE group_id = '${first}'`);
      const lockGroup = (groupId: string | undefined) =>
        `SELECT FROM groups WHERE group_id = '${groupId}' FOR NO KEY UPDATE`;
      const batch = keys.map((keyId): Change => ['takeRate', keyId, 0, 0]);
      await expectInOrder({ first: lockGroup(first), second: lockGroup(second), batch });
      await other.query('BEGIN');
      const [keyId] = keys;
      if (keyId === undefined) throw new Error('there is no key');
      await expectInOrder({ first: lockKey(keyId), second: lockGroup(second), batch });
    });

    it('are taken on keys before sums of usage, and on those in one order', async () => {
      const { keyId } = await store.createKey(newKeyDraft());
      const ends = [];
      for (const model of ['a', 'b']) {
        const draft = newDraft({ model, caller: [keyId], hold: newHold(keyId, 1) });
        await store.accept(draft);
        ends.push(toOutcomeRow(draft.requestId, newOutcome({ costMicro: 1, completedAtMs: 0 })));
      }
      const note = (
        model: string,
      ) => `INSERT INTO usage (hour, caller, model, requests, failed, cancelled, input_tokens,
        cached_tokens, output_tokens, reasoning_tokens, cost_micro, duration_ms)
        VALUES (0, '${keyId}', '${model}', 0, 0, 0, 0, 0, 0, 0, 0, 0)`;
      const batch = ends.toReversed().map((end): Change => ['finish', end, null]);
      await expectInOrder({ first: note('a'), second: note('b'), batch });
      const one = newDraft({ model: 'a', caller: [keyId], hold: newHold(keyId, 1) });
      await store.accept(one);
      await other.query('BEGIN');
      await expectInOrder({
        first: lockKey(keyId),
        second: note('c'),
        batch: [['finish', toOutcomeRow(one.requestId, newOutcome({ costMicro: 1, completedAtMs: 0 })), null]],
      });
    });
  });
}
