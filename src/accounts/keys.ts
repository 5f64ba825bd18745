import { randomInt } from 'node:crypto';
import type { AccountStore, KeySecret, StoredKey } from '../core/books/keys.ts';
import type { GroupId } from '../contract/ids.ts';
import { WHOLE_GATEWAY, type Identity } from '../core/ids.ts';
import { setLast } from '../core/set-last.ts';

/** A double click selects letters and digits as one word. 40 of them have 238 bits. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 40;
const SECRET = /^rgk_[0-9A-Za-z]{40}$/;
/** Shows `rgk_` and six characters, which tell keys apart; 202 bits stay secret. */
const SHOWN_CHARACTERS = 10;

/** The owner sees `text` once. */
export interface IssuedSecret {
  readonly text: string;
  readonly kept: KeySecret;
}

/** Returns a new secret. `toHash` makes the HMACs by which it is found, and `mark` is that of their secret. */
export function issueSecret(toHash: (text: string) => Identity, mark?: string): IssuedSecret {
  const random = Array.from({ length: RANDOM_CHARACTERS }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  const text = `rgk_${random.join('')}`;
  return { text, kept: { hash: toHash(text), mark, prefix: text.slice(0, SHOWN_CHARACTERS) } };
}

/** Returns whether a text has the form of a secret, so that the store need not look for others. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Returns for its owner why a key cannot be used; undefined when it can. */
export function faultOf({ isDisabled, expiresAtMs, group, gateway }: StoredKey, nowMs: number): string | undefined {
  if (isDisabled) return 'The API key is disabled.';
  if (isOver(expiresAtMs, nowMs)) return 'The API key has expired.';
  const unusable = [group, gateway].find(
    (each) => each?.isDisabled === true || isOver(each?.expiresAtMs ?? null, nowMs),
  );
  return unusable ? faultOfGroup(unusable.groupId) : undefined;
}

export function faultOfGroup(groupId: GroupId): string {
  return `${groupId === WHOLE_GATEWAY ? 'The whole gateway' : 'The group of the API key'} is disabled or has expired.`;
}

function isOver(expiresAtMs: number | null, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** Returns whether there is no key yet; false when the store fails, which reports that itself. */
export async function hasNoKeys(accounts: AccountStore): Promise<boolean> {
  const page = await accounts.listKeys({ limit: 1 }).catch(() => undefined);
  return page?.keys.length === 0;
}

/** Limits how long a change by another process can go unseen. */
const GOOD_FOR_MS = 1000;
const MAX_REMEMBERED = 10_000;

/** Returns the accounts with a cache of one second. Changes that are made here are seen at once. */
export function rememberKeys(accounts: AccountStore, nowMs: () => number): AccountStore {
  const remembered = new Map<string, { readonly found: Promise<StoredKey | undefined>; readonly askedAtMs: number }>();

  async function forgetAfter<Result>(change: Promise<Result>): Promise<Result> {
    try {
      return await change;
    } finally {
      // Changes are rare, and two secrets can lead to one key, so all entries go.
      remembered.clear();
    }
  }

  function look(hash: Identity, mark: string | undefined): Promise<StoredKey | undefined> {
    const [id] = hash;
    const found = accounts.findKeyByHash(hash, mark);
    const entry = { found, askedAtMs: nowMs() };
    setLast(remembered, id, entry, MAX_REMEMBERED);
    found.catch(() => {
      if (remembered.get(id) === entry) remembered.delete(id);
    });
    return found;
  }

  return {
    ...accounts,
    findKeyByHash(hash, mark) {
      const known = remembered.get(hash[0]);
      // A clock that is set back must not keep an entry for longer.
      const ageMs = known === undefined ? -1 : nowMs() - known.askedAtMs;
      return known !== undefined && ageMs >= 0 && ageMs < GOOD_FOR_MS ? known.found : look(hash, mark);
    },
    updateKey: (...change) => forgetAfter(accounts.updateKey(...change)),
    rotateKey: (...change) => forgetAfter(accounts.rotateKey(...change)),
    deleteKey: (...change) => forgetAfter(accounts.deleteKey(...change)),
    credit: (...change) => forgetAfter(accounts.credit(...change)),
    createGroup: (...change) => forgetAfter(accounts.createGroup(...change)),
    updateGroup: (...change) => forgetAfter(accounts.updateGroup(...change)),
    deleteGroup: (...change) => forgetAfter(accounts.deleteGroup(...change)),
    creditGroup: (...change) => forgetAfter(accounts.creditGroup(...change)),
  };
}
