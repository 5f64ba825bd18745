/**
 * A whole gateway with `AUTH_MODE=managed`, and the accounts behind it.
 *
 *     const gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
 *     const { secret, key } = await gateway.issue({ creditsMicro: 1_000_000 });
 *     const reply = await callerOf(gateway.url, secret).create({ model: 'm', input: 'Hello' });
 */

import type { KeyLimits } from '../../src/core/money/limits.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueSecret } from '../../src/accounts/keys.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import type { TestSettings } from './settings.ts';
import type { KeyDraft, StoredKey } from '../../src/core/books/keys.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { openGateway, type TestGateway } from './gateway.ts';
import { newKeyDraft } from './keys.ts';
import { clockOfAWholeMinute } from './time.ts';

export const GATEWAY_SECRET = 'the secret of a managed gateway in a test';

/** A token of input of `m` and of `priced` costs 2 millionths, one of output 10. */
const PRICE = { input: '2', cached_input: '1', output: '10' };
const PRICES = { currency: 'USD', models: { m: PRICE, 'priced*': PRICE } };

export interface ManagedGateway extends TestGateway {
  /** As another process sees it: nothing here is remembered. */
  readonly store: Store;
  /** Makes a key; what is not said is not limited. */
  readonly issue: (draft?: KeyWishes) => Promise<IssuedKey>;
}

type KeyWishes = Omit<Partial<KeyDraft>, 'limits'> & { readonly limits?: Partial<KeyLimits> };

export interface IssuedKey {
  readonly secret: string;
  readonly key: StoredKey;
}

/** Opens it at the start of a minute, with the prices above and a store in memory; `close` is for an `afterEach`. */
export async function openManagedGateway(
  settings: TestSettings,
  overrides: GatewayOverrides = {},
): Promise<ManagedGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'managed-'));
  const pricesFile = join(folder, 'prices.json');
  writeFileSync(pricesFile, JSON.stringify(PRICES));
  const nowMs = overrides.nowMs ?? clockOfAWholeMinute();
  const store =
    overrides.store ?? (await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: nowMs }));
  const gateway = await openGateway(
    { AUTH_MODE: 'managed', GATEWAY_SECRET, PRICES_FILE: pricesFile, ...settings },
    { ...overrides, nowMs, store },
  );
  const { keySecret } = createIdentities(GATEWAY_SECRET, null);
  return {
    ...gateway,
    store,
    async issue({ limits, ...draft } = {}) {
      const { text, kept } = issueSecret(keySecret);
      const plain = newKeyDraft();
      const key = await store.createKey({ ...plain, ...draft, limits: { ...plain.limits, ...limits }, secret: kept });
      return { secret: text, key };
    },
    async close() {
      await gateway.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
