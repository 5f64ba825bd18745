import { expect } from 'chai';
import { faultOf, isSecret, issueSecret, rememberKeys } from '../../src/accounts/keys.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { AccountStore, StoredKey } from '../../src/core/books/keys.ts';
import { newKeyId, newStoredKey } from '../support/keys.ts';

describe('issueSecret', () => {
  const issue = () => issueSecret((text) => [`hash of ${text}`], 'a mark');

  it('gives a text of which only the hash and the beginning are kept', () => {
    const { text, kept } = issue();
    expect(text).to.match(/^rgk_[0-9A-Za-z]{40}$/);
    expect(kept).to.deep.equal({ hash: [`hash of ${text}`], mark: 'a mark', prefix: text.slice(0, 10) });
  });

  it('draws from all letters and digits, and never the same twice', () => {
    const texts = Array.from({ length: 200 }, () => issue().text);
    expect(new Set(texts).size).to.equal(200);
    expect(new Set(texts.join('').replaceAll('rgk_', '')).size).to.equal(62);
  });
});

describe('isSecret', () => {
  const good = `rgk_${'aB3'.repeat(13)}x`;
  const cases = [
    { name: 'one that was issued', text: good, expected: true },
    { name: 'one that is too short', text: good.slice(0, -1), expected: false },
    { name: 'one that is too long', text: `${good}x`, expected: false },
    { name: 'another prefix', text: good.replace('rgk_', 'sk-_'), expected: false },
    { name: 'a character that is neither letter nor digit', text: good.replace('x', '-'), expected: false },
    { name: 'a line of text around it', text: `${good}\n`, expected: false },
  ];
  for (const { name, text, expected } of cases) {
    it(`says ${expected} of ${name}`, () => {
      expect(isSecret(text)).to.equal(expected);
    });
  }
});

describe('faultOf', () => {
  const cases: readonly { name: string; key: Partial<StoredKey>; fault: string | undefined }[] = [
    { name: 'a good key', key: {}, fault: undefined },
    { name: 'a disabled key', key: { isDisabled: true }, fault: 'The API key is disabled.' },
    { name: 'a key in its last millisecond', key: { expiresAtMs: 1001 }, fault: undefined },
    { name: 'a key at its expiry', key: { expiresAtMs: 1000 }, fault: 'The API key has expired.' },
  ];
  for (const { name, key, fault } of cases) {
    it(`says ${fault ?? 'nothing'} of ${name}`, () => {
      expect(faultOf(newStoredKey(key), 1000)).to.equal(fault);
    });
  }
});

describe('rememberKeys', () => {
  let nowMs: number;
  let lookups: string[];
  let stored: StoredKey | undefined;
  let isDown: boolean;
  let accounts: AccountStore;

  beforeEach(() => {
    nowMs = 1_790_000_000_000;
    lookups = [];
    stored = newStoredKey();
    isDown = false;
    const changed = () => Promise.resolve(stored);
    const store: Partial<AccountStore> = {
      async findKeyByHash([hash]) {
        lookups.push(hash);
        if (isDown) throw new ApiError('store_unavailable');
        return stored;
      },
      updateKey: changed,
      rotateKey: changed,
      credit: changed,
      deleteKey: () => Promise.resolve(true),
    };
    accounts = rememberKeys(store as AccountStore, () => nowMs);
  });

  it('asks the store once a second for a key that is busy', async () => {
    for (const atMs of [0, 1, 999]) {
      nowMs = 1_790_000_000_000 + atMs;
      expect(await accounts.findKeyByHash(['a'])).to.equal(stored);
    }
    expect(lookups).to.deep.equal(['a']);
    nowMs += 1;
    await accounts.findKeyByHash(['a']);
    expect(lookups).to.deep.equal(['a', 'a']);
  });

  it('asks once for requests that come together', async () => {
    await Promise.all([accounts.findKeyByHash(['a']), accounts.findKeyByHash(['a']), accounts.findKeyByHash(['b'])]);
    expect(lookups).to.deep.equal(['a', 'b']);
  });

  it('remembers also that there is no such key', async () => {
    stored = undefined;
    for (let time = 0; time < 3; time++) expect(await accounts.findKeyByHash(['a'])).to.equal(undefined);
    expect(lookups).to.deep.equal(['a']);
  });

  it('asks again when the clock was set back', async () => {
    await accounts.findKeyByHash(['a']);
    nowMs -= 3_600_000;
    await accounts.findKeyByHash(['a']);
    expect(lookups).to.deep.equal(['a', 'a']);
  });

  it('does not remember that the store could not say', async () => {
    isDown = true;
    const thrown = await accounts.findKeyByHash(['a']).catch((error: unknown) => error);
    expect(thrown).to.have.property('code', 'store_unavailable');
    isDown = false;
    expect(await accounts.findKeyByHash(['a'])).to.equal(stored);
  });

  it('remembers a bounded number of keys', async () => {
    for (let number = 0; number <= 10_000; number++) await accounts.findKeyByHash([`${number}`]);
    await accounts.findKeyByHash(['10000']);
    expect(lookups).to.have.lengthOf(10_001);
    await accounts.findKeyByHash(['0']);
    expect(lookups).to.have.lengthOf(10_002);
  });

  const changes: readonly { name: string; change: () => Promise<unknown> }[] = [
    { name: 'an update', change: () => accounts.updateKey(newKeyId(), { isDisabled: true }) },
    { name: 'a rotation', change: () => accounts.rotateKey(newKeyId(), { hash: ['b'], prefix: '' }, 0) },
    { name: 'a deletion', change: () => accounts.deleteKey(newKeyId()) },
    {
      name: 'a grant',
      change: () => accounts.credit(newKeyId(), { kind: 'grant', amountMicro: 1, note: '', createdAtMs: 0 }),
    },
  ];
  for (const { name, change } of changes) {
    it(`sees ${name} that is made here at once`, async () => {
      await accounts.findKeyByHash(['a']);
      await change();
      stored = newStoredKey();
      expect(await accounts.findKeyByHash(['a'])).to.equal(stored);
    });
  }
});
