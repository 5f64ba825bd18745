import type { Database } from 'better-sqlite3';
import type { GroupId, KeyId } from '../../contract/ids.ts';
import type { KeyChange, KeyPlace } from '../../core/books/keys.ts';
import type { Funding } from '../book/unit-of-work.ts';
import {
  KEY_COLUMNS,
  type Conflict,
  type FoundKeyRow,
  type KeyDraftRow,
  type KeyFilter,
  type KeyRow,
} from '../rows/keys.ts';
import { KEY_UPDATES } from '../sql/accounts.ts';
import { prepareNamed } from './named.ts';
import { ACCOUNTS } from './statements.ts';

interface Page {
  readonly beforeSeq: number;
  readonly limit: number;
}

interface NewSecret {
  readonly keyId: KeyId;
  readonly hash: string;
  readonly mark: string | null;
  readonly prefix: string;
  readonly formerUntilMs: number;
}

export function prepareKeys(database: Database, funding: Funding) {
  const insert = prepareNamed<KeyDraftRow, KeyRow>(database, ACCOUNTS.insertKey);
  const selectNamed = database.prepare<[string, string]>('SELECT 1 FROM keys WHERE name = ? AND key_id <> ?');
  const selectGroup = database.prepare<[GroupId]>('SELECT 1 FROM groups WHERE group_id = ?');

  function conflictOf(keyId: KeyId, { name, groupId }: KeyPlace): Conflict | undefined {
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

  const select = prepareNamed<{ id: KeyId }, KeyRow>(database, ACCOUNTS.findKey);

  function findKey(keyId: KeyId): KeyRow | null {
    return select.get({ id: keyId }) ?? null;
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

  const replaceHash = prepareNamed<{ from: string; to: string; mark: string | null }>(database, ACCOUNTS.rehashKey);

  function rehashKey(from: string, to: string, mark: string | null): null {
    replaceHash.run({ from, to, mark });
    return null;
  }

  const selectSeq = prepareNamed<{ id: KeyId }, { seq: number }>(database, ACCOUNTS.findKeySeq);
  const selectPage = prepareNamed<KeyFilter & Page, KeyRow>(database, ACCOUNTS.listKeys);
  const selectNamedPage = prepareNamed<KeyFilter & Page, KeyRow>(database, ACCOUNTS.listNamedKeys);

  function listKeys(limit: number, after: KeyId | null, filter: KeyFilter): readonly KeyRow[] | null {
    const beforeSeq = after === null ? Number.MAX_SAFE_INTEGER : selectSeq.get({ id: after })?.seq;
    if (beforeSeq === undefined) return null;
    return (filter.name === null ? selectPage : selectNamedPage).all({ ...filter, beforeSeq, limit });
  }

  const updates = KEY_UPDATES.map(({ valueOf, statement }) => ({
    valueOf,
    update: prepareNamed<{ value: string | number | null; id: KeyId }>(database, statement),
  }));

  function updateKey(keyId: KeyId, change: KeyChange): KeyRow | Conflict | null {
    const conflict = conflictOf(keyId, change);
    if (conflict !== undefined) return conflict;
    for (const { valueOf, update } of updates) {
      const value = valueOf(change);
      if (value !== undefined) update.run({ value, id: keyId });
    }
    return findKey(keyId);
  }

  const replaceSecret = prepareNamed<NewSecret, KeyRow>(database, ACCOUNTS.rotateKey);

  function rotateKey(
    keyId: KeyId,
    hash: string,
    mark: string | null,
    prefix: string,
    formerUntilMs: number,
  ): KeyRow | null {
    return replaceSecret.get({ hash, prefix, formerUntilMs, mark, keyId }) ?? null;
  }

  const remove = database.prepare<[KeyId]>('DELETE FROM keys WHERE key_id = ?');

  function deleteKeys(keyIds: readonly KeyId[]): number {
    return keyIds.reduce((count, keyId) => count + remove.run(keyId).changes, 0);
  }

  return { createKeys, findKey, findKeyByHash, rehashKey, listKeys, updateKey, rotateKey, deleteKeys };
}
