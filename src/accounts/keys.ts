/** The secrets of the keys which the gateway issues (`AUTH_MODE=managed`): how they look, and how a key is found by one. */

import { randomInt } from 'node:crypto';
import type { AccountStore, KeySecret, StoredKey } from '../store/keys.ts';
import type { Identity } from '../identity/identities.ts';

/** Letters and digits alone, so that a double click takes all of it. 40 of them are 238 bits. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 40;
const SECRET = /^rgk_[0-9A-Za-z]{40}$/;
/** `rgk_` and six more: enough to tell keys apart, and 202 bits stay secret. */
const SHOWN_CHARACTERS = 10;

/** A secret at the only moment at which it can be shown to its owner, beside what is kept of it. */
export interface IssuedSecret {
  readonly text: string;
  readonly kept: KeySecret;
}

/** A new secret, for a new key or for one that is rotated. `toHash` makes the HMACs by which it is found again. */
export function issueSecret(toHash: (text: string) => Identity): IssuedSecret {
  const random = Array.from({ length: RANDOM_CHARACTERS }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  const text = `rgk_${random.join('')}`;
  return { text, kept: { hash: toHash(text), prefix: text.slice(0, SHOWN_CHARACTERS) } };
}

/** Whether a text looks like a secret of ours: what does not need not be looked for. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Why nothing can be done with a key, as its owner is told; undefined when it is good. */
export function faultOf({ isDisabled, expiresAtMs }: StoredKey, nowMs: number): string | undefined {
  if (isDisabled) return 'The API key is disabled.';
  return expiresAtMs !== null && expiresAtMs <= nowMs ? 'The API key has expired.' : undefined;
}

/** For how long a key that was looked up is taken to be as it was. A change by another process holds after that at the latest. */
const GOOD_FOR_MS = 1000;
const MAX_REMEMBERED = 10_000;

/**
 * The same accounts, which remember for a second what a secret leads to, so that the requests of a busy key do not each ask
 * the store. Changes that are made here are seen at once.
 */
export function rememberKeys(accounts: AccountStore, nowMs: () => number): AccountStore {
  const remembered = new Map<string, { readonly found: Promise<StoredKey | undefined>; readonly askedAtMs: number }>();

  async function forgetAfter<Result>(change: Promise<Result>): Promise<Result> {
    try {
      return await change;
    } finally {
      // All of them, since changes are rare, and a key can be known by two secrets.
      remembered.clear();
    }
  }

  function look(hash: Identity): Promise<StoredKey | undefined> {
    const [id] = hash;
    const found = accounts.findKeyByHash(hash);
    remembered.delete(id);
    const [oldest] = remembered.keys();
    if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    const entry = { found, askedAtMs: nowMs() };
    remembered.set(id, entry);
    found.catch(() => {
      if (remembered.get(id) === entry) remembered.delete(id);
    });
    return found;
  }

  return {
    ...accounts,
    findKeyByHash(hash) {
      const known = remembered.get(hash[0]);
      // A clock that was set back must not keep an entry for longer.
      const ageMs = known === undefined ? -1 : nowMs() - known.askedAtMs;
      return known !== undefined && ageMs >= 0 && ageMs < GOOD_FOR_MS ? known.found : look(hash);
    },
    updateKey: (...change) => forgetAfter(accounts.updateKey(...change)),
    rotateKey: (...change) => forgetAfter(accounts.rotateKey(...change)),
    deleteKey: (...change) => forgetAfter(accounts.deleteKey(...change)),
    credit: (...change) => forgetAfter(accounts.credit(...change)),
  };
}
