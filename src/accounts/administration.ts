import { formatAmount, parseAmount, parseSignedAmount } from '../core/money/decimal.ts';
import { ApiError } from '../core/errors.ts';
import type { GroupId, KeyId } from '../contract/ids.ts';
import { parseGroupId, parseKeyId } from '../core/ids.ts';
import type {
  AccountStore,
  CreditEntry,
  GroupChange,
  GroupQuery,
  KeyDraft,
  KeyLimits,
  KeyQuery,
  LedgerEntry,
  LedgerPage,
  LedgerQuery,
  StoredAccount,
  StoredGroup,
  StoredKey,
} from '../store/keys.ts';
import type { Identity } from '../identity/identities.ts';
import type {
  CreateGroup,
  AdminGroup,
  AdminKey,
  GroupDeleted,
  GroupList,
  IssuedKey,
  KeyDeleted,
  KeyLimitsChange,
  KeyList,
  Ledger,
  LedgerItem,
  UpdateGroup,
} from '../contract/types.ts';
import {
  checkCreateGroup,
  checkCreateKey,
  checkCreditKey,
  checkRotateKey,
  checkUpdateGroup,
  checkUpdateKey,
} from './admin-bodies.ts';
import { issueSecret } from './keys.ts';

/** Throws ApiError that names the field of a wrong body, and `not_found` without such a key or group. */
export interface Administration {
  createKey(body: unknown): Promise<IssuedKey>;
  /** Checks what `createKey` would refuse, and makes nothing yet. */
  prepareKeys(bodies: readonly unknown[]): Promise<PreparedKeys>;
  /**
   * Returns the key with this id, name or prefix. Throws ApiError, which does not repeat the text: it
   * may be a secret.
   */
  findKeyId(text: string): Promise<KeyId>;
  /** Returns the keys after the key `after`, newest first. */
  listKeys(query: KeyQuery): Promise<KeyList>;
  showKey(keyId: KeyId): Promise<AdminKey>;
  updateKey(keyId: KeyId, body: unknown): Promise<AdminKey>;
  /** The former secret stays valid for the grace period of the body. */
  rotateKey(keyId: KeyId, body: unknown): Promise<IssuedKey>;
  deleteKey(keyId: KeyId): Promise<KeyDeleted>;
  /** Throws ApiError `duplicate_request` when the reference is taken. */
  creditKey(keyId: KeyId, body: unknown): Promise<AdminKey>;
  showLedger(keyId: KeyId, query: LedgerQuery): Promise<Ledger>;
  createGroup(body: unknown): Promise<AdminGroup>;
  /** Returns the group with this id or name. */
  findGroupId(text: string): Promise<GroupId>;
  /** Returns the groups after the group `after`, newest first. */
  listGroups(query: GroupQuery): Promise<GroupList>;
  showGroup(groupId: GroupId): Promise<AdminGroup>;
  updateGroup(groupId: GroupId, body: unknown): Promise<AdminGroup>;
  /** Throws ApiError `invalid_request` for a group that has keys. */
  deleteGroup(groupId: GroupId): Promise<GroupDeleted>;
  /** As `creditKey`. */
  creditGroup(groupId: GroupId, body: unknown): Promise<AdminGroup>;
  showGroupLedger(groupId: GroupId, query: LedgerQuery): Promise<Ledger>;
}

export interface PreparedKeys {
  readonly secrets: readonly { readonly id: KeyId; readonly name: string; readonly secret: string }[];
  /** What is wrong with which of the bodies, counted from 0. While there is any, `create` must not be called. */
  readonly problems: readonly { readonly at: number; readonly param: string; readonly message: string }[];
  /** Makes all keys or none. */
  create(): Promise<readonly IssuedKey[]>;
}

export interface AdministrationOptions {
  readonly accounts: AccountStore;
  readonly toHash: (secret: string) => Identity;
  /** The mark of the secret with which it makes the first hash. */
  readonly keyMark?: string;
  readonly newKeyId: () => KeyId;
  readonly newGroupId: () => GroupId;
  /** The name of the group of new keys. */
  readonly defaultGroup: string | null;
  readonly nowMs: () => number;
}

/** Returns the functions that manage keys and groups in this store. */
export function createAdministration(options: AdministrationOptions): Administration {
  const { accounts, toHash, keyMark, newKeyId, newGroupId, defaultGroup, nowMs } = options;
  const show = (key: StoredKey): AdminKey => toAdminKey(key, nowMs());
  const showGroup = (group: StoredGroup): AdminGroup => toAdminGroup(group, nowMs());

  async function findGroupId(text: string): Promise<GroupId> {
    const groupId = parseGroupId(text);
    if (groupId !== undefined) return groupId;
    const page = await accounts.listGroups({ limit: 1, name: text });
    return foundGroup(page?.groups[0]).groupId;
  }

  async function findGroupOf(name: string | null): Promise<GroupId | null> {
    if (name === null) return null;
    try {
      return await findGroupId(name);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      throw new ApiError('not_found', { param: 'group', message: `There is no group ${JSON.stringify(name)}.` });
    }
  }

  async function findKeyId(text: string): Promise<KeyId> {
    const keyId = parseKeyId(text);
    if (keyId !== undefined) return keyId;
    const [named, similar] = await Promise.all([
      accounts.listKeys({ limit: 2, name: text }),
      accounts.listKeys({ limit: 100, search: text }),
    ]);
    const prefixed = (similar?.keys ?? []).filter(({ prefix }) => prefix === text);
    const keyIds = new Set([...(named?.keys ?? []), ...prefixed].map(({ keyId }) => keyId));
    const [only, ...others] = keyIds;
    if (only === undefined)
      throw new ApiError('not_found', { message: 'There is no key with this id, prefix or name.' });
    if (others.length === 0) return only;
    throw new ApiError('invalid_request', { message: `There are ${keyIds.size} such keys; name one by its id.` });
  }

  async function draftKey(body: unknown): Promise<{ readonly draft: KeyDraft; readonly text: string }> {
    const { group = defaultGroup, ...account } = checkCreateKey(body);
    const groupId = await findGroupOf(group);
    const { text, kept } = issueSecret(toHash, keyMark);
    const draft = {
      keyId: newKeyId(),
      groupId,
      secret: kept,
      ...draftAccount(account),
    };
    return { draft, text };
  }

  /** Returns what a new key and a new group have alike. */
  function draftAccount({ name, expires_at, models = null, limits = {}, credits = null }: CreateGroup) {
    return {
      name,
      createdAtMs: nowMs(),
      expiresAtMs: toMs(expires_at ?? null),
      models,
      limits: { ...NO_LIMITS, ...toLimits(limits) },
      creditsMicro: toMicro(credits),
    };
  }

  return {
    async createKey(body) {
      const { draft, text } = await draftKey(body);
      return { ...show(await accounts.createKey(draft)), secret: text };
    },
    async prepareKeys(bodies) {
      const drafted: Awaited<ReturnType<typeof draftKey>>[] = [];
      const problems: PreparedKeys['problems'][number][] = [];
      const names = new Set<string>();
      for (const [at, body] of bodies.entries()) {
        try {
          const one = await draftKey(body);
          const { name } = one.draft;
          const page = await accounts.listKeys({ limit: 1, name });
          if (names.has(name) || page?.keys.length !== 0) throw nameTaken();
          names.add(name);
          drafted.push(one);
        } catch (error) {
          // An error without a field is none of the body.
          if (!(error instanceof ApiError) || error.param === '') throw error;
          problems.push({ at, param: error.param, message: error.message });
        }
      }
      return {
        secrets: drafted.map(({ draft, text }) => ({ id: draft.keyId, name: draft.name, secret: text })),
        problems,
        async create() {
          const keys = await accounts.createKeys(drafted.map(({ draft }) => draft));
          return keys.map((key, at) => ({ ...show(key), secret: drafted[at]?.text ?? '' }));
        },
      };
    },
    findKeyId,
    async listKeys(query) {
      const page = await accounts.listKeys(query);
      if (page === undefined) throw new ApiError('not_found', { param: 'after', message: 'There is no key "after".' });
      return { object: 'list', data: page.keys.map(show), has_more: page.hasMore };
    },
    async showKey(keyId) {
      return show(found(await accounts.findKey(keyId)));
    },
    async updateKey(keyId, body) {
      const { group, ...change } = checkUpdateKey(body);
      const groupId = group === undefined ? undefined : await findGroupOf(group);
      const key = await accounts.updateKey(keyId, { ...toChange(change), ...(groupId !== undefined && { groupId }) });
      return show(found(key));
    },
    async rotateKey(keyId, body) {
      const { grace_seconds: graceS = 0 } = checkRotateKey(body);
      const { text, kept } = issueSecret(toHash, keyMark);
      const key = await accounts.rotateKey(keyId, kept, nowMs() + graceS * 1000);
      return { ...show(found(key)), secret: text };
    },
    async deleteKey(keyId) {
      if (!(await accounts.deleteKey(keyId))) throw unknownKey();
      return { object: 'key', id: keyId, deleted: true };
    },
    async creditKey(keyId, body) {
      return show(found(await accounts.credit(keyId, toEntry(body, nowMs())).catch(explainRange)));
    },
    async showLedger(keyId, query) {
      return toLedger(found(await accounts.listLedger(keyId, query)));
    },
    async createGroup(body) {
      const group = await accounts.createGroup({ groupId: newGroupId(), ...draftAccount(checkCreateGroup(body)) });
      return showGroup(group);
    },
    findGroupId,
    async listGroups(query) {
      const page = await accounts.listGroups(query);
      if (page === undefined)
        throw new ApiError('not_found', { param: 'after', message: 'There is no group "after".' });
      return { object: 'list', data: page.groups.map(showGroup), has_more: page.hasMore };
    },
    async showGroup(groupId) {
      return showGroup(foundGroup(await accounts.findGroup(groupId)));
    },
    async updateGroup(groupId, body) {
      return showGroup(foundGroup(await accounts.updateGroup(groupId, toChange(checkUpdateGroup(body)))));
    },
    async deleteGroup(groupId) {
      if (foundGroup(await accounts.deleteGroup(groupId)) === 'deleted') {
        return { object: 'group', id: groupId, deleted: true };
      }
      throw new ApiError('invalid_request', { message: 'The group has keys; move them or delete them first.' });
    },
    async creditGroup(groupId, body) {
      const group = await accounts.creditGroup(groupId, toEntry(body, nowMs())).catch(explainRange);
      return showGroup(foundGroup(group));
    },
    async showGroupLedger(groupId, query) {
      return toLedger(foundGroup(await accounts.listGroupLedger(groupId, query)));
    },
  };
}

function toEntry(body: unknown, createdAtMs: number): CreditEntry {
  const { kind = 'grant', amount, note = '', reference } = checkCreditKey(body);
  const amountMicro = parseSignedAmount(amount) ?? 0;
  if (kind === 'grant' && amountMicro < 0) {
    throw wrongAmount('amount must be positive in a grant; use an adjustment to take credits away.');
  }
  return { kind, amountMicro, note, createdAtMs, ...(reference !== undefined && { reference }) };
}

function toChange({ name, disabled, expires_at, models, limits }: UpdateGroup): GroupChange {
  return {
    ...(name !== undefined && { name }),
    ...(disabled !== undefined && { isDisabled: disabled }),
    ...(expires_at !== undefined && { expiresAtMs: toMs(expires_at) }),
    ...(models !== undefined && { models }),
    ...(limits !== undefined && { limits: toLimits(limits) }),
  };
}

function toLedger({ entries, hasMore }: LedgerPage): Ledger {
  return { object: 'list', data: entries.map(toLedgerItem), has_more: hasMore };
}

const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  spendPerDayMicro: null,
  spendPerMonthMicro: null,
};

function toLimits(limits: KeyLimitsChange): Partial<KeyLimits> {
  const { requests_per_minute, tokens_per_minute, spend_per_day, spend_per_month } = limits;
  return {
    ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_minute !== undefined && { tokensPerMinute: tokens_per_minute }),
    ...(spend_per_day !== undefined && { spendPerDayMicro: toMicro(spend_per_day) }),
    ...(spend_per_month !== undefined && { spendPerMonthMicro: toMicro(spend_per_month) }),
  };
}

/** The pattern in the schema admits amounts only. */
function toMicro(amount: string | null): number | null {
  return amount === null ? null : (parseAmount(amount) ?? null);
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw unknownKey();
  return value;
}

function foundGroup<Value>(value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw new ApiError('not_found', { message: 'There is no group with this id or name.' });
}

function unknownKey(): ApiError {
  return new ApiError('not_found', { message: 'There is no key with this id.' });
}

function nameTaken(): ApiError {
  return new ApiError('duplicate_request', { param: 'name', message: 'Another key has this name.' });
}

function wrongAmount(message: string): ApiError {
  return new ApiError('invalid_request', { param: 'amount', message });
}

function explainRange(error: unknown): never {
  throw error instanceof RangeError ? wrongAmount('amount would make the balance too large.') : error;
}

function toAdminKey(key: StoredKey, nowMs: number): AdminKey {
  const { keyId, prefix, formerUntilMs, lastUsedAtMs, isOfPreviousSecret, group } = key;
  return {
    object: 'key',
    id: keyId,
    name: key.name,
    prefix,
    ...describeAccount(key, nowMs),
    group: group === null ? null : { id: group.groupId, name: group.name },
    former_secret_until: formerUntilMs === null || formerUntilMs <= nowMs ? null : toSeconds(formerUntilMs),
    last_used_at: lastUsedAtMs === null ? null : toSeconds(lastUsedAtMs),
    gateway_secret: isOfPreviousSecret ? 'previous' : 'current',
  };
}

function toAdminGroup(group: StoredGroup, nowMs: number): AdminGroup {
  return {
    object: 'group',
    id: group.groupId,
    name: group.name,
    keys: group.keys,
    ...describeAccount(group, nowMs),
  };
}

function describeAccount(account: StoredAccount, nowMs: number) {
  const { limits } = account;
  return {
    status: statusOf(account, nowMs),
    created_at: toSeconds(account.createdAtMs),
    expires_at: account.expiresAtMs === null ? null : toSeconds(account.expiresAtMs),
    models: account.models === null ? null : [...account.models],
    limits: {
      requests_per_minute: limits.requestsPerMinute,
      tokens_per_minute: limits.tokensPerMinute,
      spend_per_day: toAmount(limits.spendPerDayMicro),
      spend_per_month: toAmount(limits.spendPerMonthMicro),
    },
    balance: toAmount(account.balanceMicro),
    held: formatAmount(account.heldMicro),
    spent_today: formatAmount(account.spentTodayMicro),
    spent_this_month: formatAmount(account.spentThisMonthMicro),
  };
}

function statusOf({ isDisabled, expiresAtMs }: StoredAccount, nowMs: number): AdminKey['status'] {
  if (isDisabled) return 'disabled';
  return expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : 'active';
}

function toLedgerItem(entry: LedgerEntry): LedgerItem {
  return {
    object: 'ledger_entry',
    id: entry.seq,
    kind: entry.kind,
    amount: formatAmount(entry.amountMicro),
    request_id: entry.requestId,
    note: entry.note,
    reference: entry.reference,
    created_at: toSeconds(entry.createdAtMs),
  };
}

function toAmount(micro: number | null): string | null {
  return micro === null ? null : formatAmount(micro);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
