import type { Database } from 'better-sqlite3';
import type { GroupId, KeyId } from '../../contract/ids.ts';
import type { KeyChange } from '../keys.ts';
import type { Funding } from '../book/unit-of-work.ts';
import {
  CHANGED_COLUMNS,
  IS_OF_PREVIOUS,
  KEY_COLUMNS,
  type Conflict,
  type FoundKeyRow,
  type KeyDraftRow,
  type KeyFilter,
  type KeyRow,
} from '../rows/keys.ts';

export function prepareKeys(database: Database, funding: Funding) {
  const insert = database.prepare<[KeyDraftRow], KeyRow>(`
    INSERT INTO keys (key_id, group_id, hash, prefix, name, created_at_ms, expires_at_ms, models, requests_per_minute,
      tokens_per_minute, spend_per_day_micro, spend_per_month_micro, balance_micro, funded_micro, funded_at_ms, mark)
    VALUES (:keyId, :groupId, :hash, :prefix, :name, :createdAtMs, :expiresAtMs, :models, :requestsPerMinute, :tokensPerMinute,
      :spendPerDayMicro, :spendPerMonthMicro, :creditsMicro, :creditsMicro, :createdAtMs, :mark)
    RETURNING ${KEY_COLUMNS}`);

  const selectNamed = database.prepare<[string, string]>('SELECT 1 FROM keys WHERE name = ? AND key_id <> ?');
  const selectGroup = database.prepare<[GroupId]>('SELECT 1 FROM groups WHERE group_id = ?');

  function conflictOf(keyId: KeyId, { name, groupId }: Pick<KeyChange, 'name' | 'groupId'>): Conflict | undefined {
    if (name !== undefined && selectNamed.get(name, keyId) !== undefined) return 'name taken';
    return groupId && selectGroup.get(groupId) === undefined ? 'no group' : undefined;
  }

  function createKeys(drafts: readonly KeyDraftRow[]): readonly KeyRow[] | Conflict {
    for (const draft of drafts) {
      const conflict = conflictOf(draft.keyId, draft);
      if (conflict !== undefined) return conflict;
    }
    return drafts.map(createKey);
  }

  function createKey(draft: KeyDraftRow): KeyRow {
    const { keyId, createdAtMs } = draft;
    const row = insert.get(draft);
    if (row === undefined) throw new Error('a key that was inserted was not returned');
    const account = funding.find(keyId);
    if (account !== undefined) {
      funding.enter({ key: account.seq, kind: 'grant', amountMicro: account.balanceMicro ?? 0, createdAtMs });
    }
    return row;
  }

  const select = database.prepare<[KeyId], KeyRow>(`SELECT ${KEY_COLUMNS} FROM keys WHERE key_id = ?`);

  function findKey(keyId: KeyId): KeyRow | null {
    return select.get(keyId) ?? null;
  }

  const selectByHash = database.prepare<[string], KeyRow>(`SELECT ${KEY_COLUMNS} FROM keys WHERE hash = ?`);

  const selectByFormerHash = database.prepare<[string, number], KeyRow>(
    `SELECT ${KEY_COLUMNS} FROM keys WHERE former_hash = ? AND former_until_ms > ?`,
  );

  function findKeyByHash(hashes: readonly string[], nowMs: number): FoundKeyRow | null {
    for (const hash of hashes) {
      const key = selectByHash.get(hash) ?? selectByFormerHash.get(hash, nowMs);
      if (key !== undefined) return { hash, key };
    }
    return null;
  }

  const replaceHash = database.prepare<{ from: string; to: string; mark: string | null }>(`
    UPDATE keys SET hash = iif(hash = :from, :to, hash), former_hash = iif(former_hash = :from, :to, former_hash),
      mark = iif(hash = :from, :mark, mark)
    WHERE hash = :from OR former_hash = :from`);

  function rehashKey(from: string, to: string, mark: string | null): null {
    replaceHash.run({ from, to, mark });
    return null;
  }

  const selectSeq = database.prepare<[KeyId], number>('SELECT seq FROM keys WHERE key_id = ?').pluck();

  const preparePage = (where: string) =>
    database.prepare<[KeyFilter & { readonly beforeSeq: number; readonly limit: number }], KeyRow>(`
      SELECT ${KEY_COLUMNS} FROM keys WHERE seq < :beforeSeq ${where} AND (:groupId IS NULL OR group_id = :groupId)
        AND (NOT :isOfPrevious OR ${IS_OF_PREVIOUS}) AND (:search IS NULL OR instr(lower(name), :search) > 0 OR lower(prefix) = :search OR key_id = :search)
      ORDER BY seq DESC LIMIT :limit`);
  const selectPage = preparePage('');
  const selectNamedPage = preparePage('AND name = :name');

  function listKeys(limit: number, after: KeyId | null, filter: KeyFilter): readonly KeyRow[] | null {
    const beforeSeq = after === null ? Number.MAX_SAFE_INTEGER : selectSeq.get(after);
    if (beforeSeq === undefined) return null;
    return (filter.name === null ? selectPage : selectNamedPage).all({ ...filter, beforeSeq, limit });
  }

  const updates = Object.entries(CHANGED_COLUMNS).map(([name, valueOf]) => ({
    valueOf,
    statement: database.prepare<[string | number | null, KeyId]>(`UPDATE keys SET ${name} = ? WHERE key_id = ?`),
  }));

  function updateKey(keyId: KeyId, change: KeyChange): KeyRow | Conflict | null {
    const conflict = conflictOf(keyId, change);
    if (conflict !== undefined) return conflict;
    for (const { valueOf, statement } of updates) {
      const value = valueOf(change);
      if (value !== undefined) statement.run(value, keyId);
    }
    return findKey(keyId);
  }

  const replaceSecret = database.prepare<[string, string, number, string | null, KeyId], KeyRow>(`
    UPDATE keys SET former_hash = hash, hash = ?, prefix = ?, former_until_ms = ?, mark = ? WHERE key_id = ?
    RETURNING ${KEY_COLUMNS}`);

  function rotateKey(
    keyId: KeyId,
    hash: string,
    mark: string | null,
    prefix: string,
    formerUntilMs: number,
  ): KeyRow | null {
    return replaceSecret.get(hash, prefix, formerUntilMs, mark, keyId) ?? null;
  }

  const remove = database.prepare<[KeyId]>('DELETE FROM keys WHERE key_id = ?');

  function deleteKeys(keyIds: readonly KeyId[]): number {
    return keyIds.reduce((count, keyId) => count + remove.run(keyId).changes, 0);
  }

  return { createKeys, findKey, findKeyByHash, rehashKey, listKeys, updateKey, rotateKey, deleteKeys };
}
