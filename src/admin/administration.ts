import { ApiError } from '../core/errors.ts';
import type { GroupId, KeyId } from '../contract/ids.ts';
import { RATE_LIMITS } from '../core/money/limits.ts';
import { parseGroupId, parseKeyId, WHOLE_GATEWAY, type Identity } from '../core/ids.ts';
import type {
  AccountStore,
  CreditEntry,
  KeyDraft,
  LedgerPage,
  LedgerQuery,
  StoredGroup,
  StoredKey,
} from '../core/books/keys.ts';
import type {
  AdminGroup,
  AdminKey,
  CreateGroup,
  GroupDeleted,
  IssuedKey,
  KeyDeleted,
  Ledger,
} from '../contract/operator-types.ts';
import { checkCreateGroup, checkCreateKey, checkRotateKey, checkUpdateGroup, checkUpdateKey } from './bodies.ts';
import { draftAccount, toAdminGroup, toAdminKey, toChange, toEntry, toLedger, wrongAmount } from './shown-accounts.ts';
import { issueSecret } from '../accounts/keys.ts';

export interface AccountActions<Kind extends AccountKind> {
  /**
   * Returns the account with this id or name, or the key with this prefix. Throws ApiError, which does
   * not repeat the text: it may be a secret.
   */
  find(text: string): Promise<Kind['shown']['id']>;
  create(body: unknown): Promise<Kind['created']>;
  /** Returns the accounts after `after`, newest first. */
  list(query: AccountQuery<Kind['shown']['id']> & Kind['filter']): Promise<AccountPage<Kind['shown']>>;
  show(id: Kind['shown']['id']): Promise<Kind['shown']>;
  update(id: Kind['shown']['id'], body: unknown): Promise<Kind['shown']>;
  /** Throws ApiError `invalid_request` for a group that has keys. */
  delete(id: Kind['shown']['id']): Promise<Kind['deleted']>;
  /** Throws ApiError `duplicate_request` when the reference is taken. */
  credit(id: Kind['shown']['id'], body: unknown): Promise<Kind['shown']>;
  /** Takes what is left, so that the account is not prepaid any more. */
  endCredits(id: Kind['shown']['id']): Promise<Kind['shown']>;
  showLedger(id: Kind['shown']['id'], query: LedgerQuery): Promise<Ledger>;
}

export interface AccountQuery<Id> {
  readonly limit: number;
  readonly after?: Id;
  readonly name?: string;
  readonly search?: string;
}

export interface AccountPage<Account> {
  readonly object: 'list';
  readonly data: readonly Account[];
  readonly has_more: boolean;
}

export interface AccountKind {
  /** By what a list can be selected, beside its query. */
  readonly filter: object;
  readonly shown: AdminKey | AdminGroup;
  readonly created: AdminKey | AdminGroup;
  readonly deleted: KeyDeleted | GroupDeleted;
}

export interface OfKeys {
  readonly filter: { readonly groupId?: GroupId; readonly isOfPreviousSecret?: boolean };
  readonly shown: AdminKey;
  readonly created: IssuedKey;
  readonly deleted: KeyDeleted;
}

export interface OfGroups {
  readonly filter: object;
  readonly shown: AdminGroup;
  readonly created: AdminGroup;
  readonly deleted: GroupDeleted;
}

export interface KeyActions extends AccountActions<OfKeys> {
  /** Checks what `create` would refuse, and makes nothing yet. */
  prepare(bodies: readonly unknown[]): Promise<PreparedKeys>;
  /** The former secret stays valid for the grace period of the body. */
  rotate(id: KeyId, body: unknown): Promise<IssuedKey>;
}

export type GroupActions = AccountActions<OfGroups>;

/** Throws ApiError that names the field of a wrong body, and `not_found` without such an account. */
export interface Administration {
  readonly keys: KeyActions;
  readonly groups: GroupActions;
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
  readonly nowMs: () => number;
}

export function createAdministration(options: AdministrationOptions): Administration {
  const groups = createGroupActions(options);
  return { groups, keys: createKeyActions(options, groups) };
}

function createGroupActions({ accounts, newGroupId, nowMs }: AdministrationOptions): GroupActions {
  const show = (group: StoredGroup): AdminGroup => toAdminGroup(group, nowMs());
  return {
    ...actionsOf<OfGroups, StoredGroup>({
      nowMs,
      toShown: show,
      known: knownGroup,
      find: (id) => accounts.findGroup(id),
      update(id, body) {
        const change = checkUpdateGroup(body);
        if (change.name !== undefined && (change.name === WHOLE_NAME) !== (id === WHOLE_GATEWAY)) throw reservedName();
        if (id === WHOLE_GATEWAY) checkWhole(change);
        return accounts.updateGroup(id, toChange(change));
      },
      credit(id, entry) {
        if (id === WHOLE_GATEWAY) throw spendLimitsOnly('amount');
        return accounts.creditGroup(id, entry);
      },
      listLedger: (id, query) => accounts.listGroupLedger(id, query),
    }),
    async find(text) {
      const groupId = parseGroupId(text);
      if (groupId !== undefined) return groupId;
      const page = await accounts.listGroups({ limit: 1, name: text });
      return knownGroup(page?.groups[0]).groupId;
    },
    async create(body) {
      const group = checkCreateGroup(body);
      const isWhole = group.name === WHOLE_NAME;
      if (isWhole) checkWhole(group);
      const draft = { groupId: isWhole ? WHOLE_GATEWAY : newGroupId(), ...draftAccount(group, nowMs()) };
      return show(await accounts.createGroup(draft));
    },
    async list(query) {
      const { groups, hasMore } = followed('group', await accounts.listGroups(query));
      return { object: 'list', data: groups.map(show), has_more: hasMore };
    },
    async delete(id) {
      if (knownGroup(await accounts.deleteGroup(id)) === 'deleted') return { object: 'group', id, deleted: true };
      throw new ApiError('invalid_request', { message: 'The group has keys; move them or delete them first.' });
    },
  };
}

function createKeyActions(
  { accounts, toHash, keyMark, newKeyId, nowMs }: AdministrationOptions,
  groups: GroupActions,
): KeyActions {
  const show = (key: StoredKey): AdminKey => toAdminKey(key, nowMs());

  async function findGroupOf(name: string | null): Promise<GroupId | null> {
    if (name === null) return null;
    if (name === WHOLE_NAME || name === WHOLE_GATEWAY) {
      const message = 'Every key is in the whole gateway already. Name a group within it, or none.';
      throw new ApiError('invalid_request', { param: 'group', message });
    }
    try {
      return await groups.find(name);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      throw new ApiError('not_found', { param: 'group', message: `There is no group ${JSON.stringify(name)}.` });
    }
  }

  async function draftKey(body: unknown): Promise<{ readonly draft: KeyDraft; readonly text: string }> {
    const { group = null, ...account } = checkCreateKey(body);
    const groupId = await findGroupOf(group);
    const { text, kept } = issueSecret(toHash, keyMark);
    return { draft: { keyId: newKeyId(), groupId, secret: kept, ...draftAccount(account, nowMs()) }, text };
  }

  return {
    ...actionsOf<OfKeys, StoredKey>({
      nowMs,
      toShown: show,
      known: knownKey,
      find: (id) => accounts.findKey(id),
      async update(id, body) {
        const { group, ...change } = checkUpdateKey(body);
        const groupId = group === undefined ? undefined : await findGroupOf(group);
        return accounts.updateKey(id, { ...toChange(change), ...(groupId !== undefined && { groupId }) });
      },
      credit: (id, entry) => accounts.credit(id, entry),
      listLedger: (id, query) => accounts.listLedger(id, query),
    }),
    async find(text) {
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
    },
    async create(body) {
      const { draft, text } = await draftKey(body);
      return { ...show(await accounts.createKey(draft)), secret: text };
    },
    async prepare(bodies) {
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
    async list(query) {
      const { keys, hasMore } = followed('key', await accounts.listKeys(query));
      return { object: 'list', data: keys.map(show), has_more: hasMore };
    },
    async rotate(id, body) {
      const { grace_seconds: graceS = 0 } = checkRotateKey(body);
      const { text, kept } = issueSecret(toHash, keyMark);
      const key = await accounts.rotateKey(id, kept, nowMs() + graceS * 1000);
      return { ...show(knownKey(key)), secret: text };
    },
    async delete(id) {
      knownKey((await accounts.deleteKey(id)) || undefined);
      return { object: 'key', id, deleted: true };
    },
  };
}

interface AccountCalls<Kind extends AccountKind, Stored> {
  readonly nowMs: () => number;
  readonly toShown: (account: Stored) => Kind['shown'];
  /** Throws ApiError `not_found` for undefined. */
  readonly known: <Value>(value: Value | undefined) => Value;
  readonly find: (id: Kind['shown']['id']) => Promise<Stored | undefined>;
  readonly update: (id: Kind['shown']['id'], body: unknown) => Promise<Stored | undefined>;
  readonly credit: (id: Kind['shown']['id'], entry: CreditEntry) => Promise<Stored | undefined>;
  readonly listLedger: (id: Kind['shown']['id'], query: LedgerQuery) => Promise<LedgerPage | undefined>;
}

function actionsOf<Kind extends AccountKind, Stored>(
  calls: AccountCalls<Kind, Stored>,
): Pick<AccountActions<Kind>, 'show' | 'update' | 'credit' | 'endCredits' | 'showLedger'> {
  const { nowMs, toShown, known } = calls;
  return {
    show: async (id) => toShown(known(await calls.find(id))),
    update: async (id, body) => toShown(known(await calls.update(id, body))),
    credit: async (id, body) => toShown(known(await calls.credit(id, toEntry(body, nowMs())).catch(explainRange))),
    async endCredits(id) {
      const end: CreditEntry = {
        kind: 'adjust',
        amountMicro: 0,
        isEnd: true,
        note: 'no longer prepaid',
        createdAtMs: nowMs(),
      };
      return toShown(known(await calls.credit(id, end)));
    },
    showLedger: async (id, query) => toLedger(known(await calls.listLedger(id, query))),
  };
}

/** A group of this name has all keys, those in another group too. */
const WHOLE_NAME = 'whole gateway';

function checkWhole({ limits, credits }: Pick<CreateGroup, 'limits' | 'credits'>): void {
  for (const { wire } of RATE_LIMITS) {
    if (typeof limits?.[wire] === 'number') throw spendLimitsOnly(`limits.${wire}`);
  }
  if (typeof credits === 'string') throw spendLimitsOnly('credits');
}

function spendLimitsOnly(param: string): ApiError {
  const message =
    'The whole gateway has limits of spending, models and an expiry, but no credits and no limits per minute.';
  return new ApiError('invalid_request', { param, message });
}

function reservedName(): ApiError {
  const message = `${JSON.stringify(WHOLE_NAME)} is the name of the group of all keys, which is always called so.`;
  return new ApiError('invalid_request', { param: 'name', message });
}

function followed<Page>(what: 'key' | 'group', page: Page | undefined): Page {
  if (page !== undefined) return page;
  throw new ApiError('not_found', { param: 'after', message: `There is no ${what} "after".` });
}

function knownKey<Value>(value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw new ApiError('not_found', { message: 'There is no key with this id.' });
}

function knownGroup<Value>(value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw new ApiError('not_found', { message: 'There is no group with this id or name.' });
}

function nameTaken(): ApiError {
  return new ApiError('duplicate_request', { param: 'name', message: 'Another key has this name.' });
}

function explainRange(error: unknown): never {
  throw error instanceof RangeError ? wrongAmount('amount would make the balance too large.') : error;
}
