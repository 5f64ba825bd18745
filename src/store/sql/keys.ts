import type { KeyId } from '../../contract/ids.ts';
import type { KeyChange, KeyNaming } from '../../core/books/keys.ts';
import {
  CHANGED_COLUMNS,
  DRAFT_COLUMNS,
  DRAFT_VALUES,
  IS_OF_PREVIOUS,
  KEY_COLUMNS,
  type Conflict,
  type KeyRow,
} from '../rows/keys.ts';
import { named, type Dialect } from './dialect.ts';
import { first, fundingOf, rows, send, type SteppedOperations, type Steps } from './steps.ts';
import { updatesOf } from './updates.ts';

type KeyOperation =
  | 'createKeys'
  | 'findKey'
  | 'findKeyByHash'
  | 'rehashKey'
  | 'listKeys'
  | 'updateKey'
  | 'rotateKey'
  | 'deleteKeys';

export function keyOperations(dialect: Dialect): SteppedOperations<KeyOperation> {
  const sql = keyStatements(dialect);
  const updates = updatesOf<KeyChange>('keys', 'key_id', CHANGED_COLUMNS);

  /** What it finds stays so until the transaction ends. */
  function* conflictOf(changes: readonly (KeyNaming & { readonly keyId: KeyId })[]): Steps<Conflict | undefined> {
    const named = changes.filter(({ name }) => name !== undefined);
    if (named.length > 0) {
      yield* rows(sql.lockNames, {});
      if ((yield* rows(sql.findNamed, ...named)).length > 0) return 'name taken';
    }
    const groupIds = [...new Set(changes.flatMap(({ groupId }) => groupId ?? []))];
    const found = yield* rows(sql.keepGroup, ...groupIds.map((id) => ({ id })));
    return found.length < groupIds.length ? 'no group' : undefined;
  }

  return {
    *createKeys(drafts) {
      const conflict = yield* conflictOf(drafts);
      if (conflict !== undefined) return conflict;
      const made = yield* rows<KeyRow>(sql.insert, ...drafts);
      const funding = yield* fundingOf(drafts.map(({ keyId }) => keyId));
      for (const { keyId, createdAtMs } of drafts) {
        const account = funding.find(keyId);
        if (account === undefined) throw new Error('a key that was inserted was not found');
        funding.enter({ key: account.seq, kind: 'grant', amountMicro: account.balanceMicro ?? 0, createdAtMs });
      }
      return made;
    },
    *findKey(keyId) {
      return (yield* first<KeyRow>(sql.find, { id: keyId })) ?? null;
    },
    *findKeyByHash(hashes, nowMs) {
      const found = yield* first<KeyRow & { readonly foundBy: string }>(sql.findByHash, {
        hashes: JSON.stringify(hashes),
        nowMs,
      });
      if (found === undefined) return null;
      const { foundBy, ...key } = found;
      return { hash: foundBy, key };
    },
    *rehashKey(from, to, mark) {
      yield* send(sql.rehash, { from, to, mark });
      return null;
    },
    *listKeys(limit, after, filter) {
      const beforeSeq =
        after === null
          ? Number.MAX_SAFE_INTEGER
          : (yield* first<{ readonly seq: number }>(sql.findSeq, { id: after }))?.seq;
      if (beforeSeq === undefined) return null;
      return yield* rows<KeyRow>(filter.name === null ? sql.list : sql.listNamed, { ...filter, beforeSeq, limit });
    },
    *updateKey(keyId, change) {
      const conflict = yield* conflictOf([{ ...change, keyId }]);
      if (conflict !== undefined) return conflict;
      for (const { statement, value } of updates(change)) yield* send(statement, { value, id: keyId });
      return (yield* first<KeyRow>(sql.find, { id: keyId })) ?? null;
    },
    *rotateKey(keyId, hash, mark, prefix, formerUntilMs) {
      return (yield* first<KeyRow>(sql.rotate, { keyId, hash, mark, prefix, formerUntilMs })) ?? null;
    },
    *deleteKeys(keyIds) {
      const deleted = yield* rows<{ readonly seq: number }>(sql.remove, ...keyIds.map((id) => ({ id })));
      yield* send(sql.noteDeleted, ...deleted);
      return deleted.length;
    },
  };
}

/** The number under which the ledger knows a key. */
export const FIND_KEY_SEQ = 'SELECT seq FROM keys WHERE key_id = :id';

function keyStatements({ contains, isIn, locks, noteDeleted }: Dialect) {
  const keysWhere = (condition: string): string => `
    SELECT ${KEY_COLUMNS} FROM keys WHERE seq < :beforeSeq ${condition}
      AND (CAST(:groupId AS TEXT) IS NULL OR group_id = :groupId)
      AND (CAST(:isOfPrevious AS INTEGER) = 0 OR ${IS_OF_PREVIOUS})
      AND (CAST(:search AS TEXT) IS NULL OR ${contains('lower(name)', ':search')} OR lower(prefix) = :search
        OR key_id = :search)
    ORDER BY seq DESC LIMIT :limit`;
  return named('key', {
    lockNames: locks.names,
    findNamed: 'SELECT 1 AS found FROM keys WHERE name = :name AND key_id <> :keyId',
    // The group cannot be deleted after it.
    keepGroup: `SELECT 1 AS found FROM groups WHERE group_id = :id${locks.forKeyShare}`,
    insert: `
      INSERT INTO keys (key_id, group_id, hash, prefix, mark, ${DRAFT_COLUMNS})
      VALUES (:keyId, :groupId, :hash, :prefix, :mark, ${DRAFT_VALUES}) RETURNING ${KEY_COLUMNS}`,
    find: `SELECT ${KEY_COLUMNS} FROM keys WHERE key_id = :id`,
    // One statement looks for all hashes, because another gateway may replace a hash between two statements.
    findByHash: `
      SELECT CASE WHEN ${isIn('hash', ':hashes')} THEN hash ELSE former_hash END AS "foundBy", ${KEY_COLUMNS} FROM keys
      WHERE ${isIn('hash', ':hashes')} OR (${isIn('former_hash', ':hashes')} AND former_until_ms > :nowMs)
      LIMIT 1`,
    rehash: `
      UPDATE keys SET hash = CASE hash WHEN :from THEN :to ELSE hash END,
        former_hash = CASE former_hash WHEN :from THEN :to ELSE former_hash END,
        mark = CASE hash WHEN :from THEN :mark ELSE mark END
      WHERE hash = :from OR former_hash = :from`,
    findSeq: FIND_KEY_SEQ,
    list: keysWhere(''),
    listNamed: keysWhere('AND name = :name'),
    rotate: `
      UPDATE keys SET former_hash = hash, hash = :hash, prefix = :prefix, former_until_ms = :formerUntilMs, mark = :mark
      WHERE key_id = :keyId RETURNING ${KEY_COLUMNS}`,
    remove: 'DELETE FROM keys WHERE key_id = :id RETURNING seq',
    noteDeleted,
  });
}
