/** The gateway under test. */
import { writeFileSync } from 'node:fs';
import { issueSecret } from '../../../src/accounts/keys.ts';
import { createGateway, readConfig, type Gateway } from '../../../src/gateway.ts';
import { openGateway } from '../../../src/process/serve.ts';
import { keepRequestsYoung } from '../../../src/process/young-objects.ts';
import { createIdentities } from '../../../src/identity/identities.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { newKeyDraft } from '../../support/keys.ts';
import { beMeasured } from './measured.ts';

/**
 * Without records: with a store that does nothing. All others have records: in memory; with a key that has credits and every
 * limit (managed); with so many names for the backend in BACKENDS_FILE; in two processes (workers).
 */
export type GatewayKind = 'no-records' | 'in-memory' | 'records' | 'managed' | 'workers' | `backends-${number}`;

const SECRET = 'the secret of the bench, which is long enough';
const PRICES = { currency: 'USD', models: { '*': { input: '0.1', cached_input: '0.01', output: '0.4' } } };
const MANAGED = { AUTH_MODE: 'managed', UPSTREAM_API_KEY: 'key-of-the-bench' };
/** More than a run can use. */
const PLENTY = 1_000_000_000_000;

const [upstream = '', kind = 'records', databaseUrl = '', file = ''] = process.argv.slice(2);
keepRequestsYoung();
const baseUrl = `${upstream}/v1`;
const apiKey = kind === 'managed' ? await issueKey() : undefined;
const config = readConfig({
  ...(kind.startsWith('backends-') ? { BACKENDS_FILE: listBackends() } : { UPSTREAM_BASE_URL: baseUrl }),
  DATABASE_URL: ['no-records', 'in-memory'].includes(kind) ? ':memory:' : databaseUrl,
  GATEWAY_SECRET: SECRET,
  PORT: '0',
  LOG_LEVEL: 'silent',
  ...(apiKey !== undefined && { ...MANAGED, PRICES_FILE: file }),
  ...(kind === 'workers' && { WORKERS: '2' }),
});
const gateway = await open();
const { url } = await gateway.listen();
beMeasured({ url, ...(apiKey !== undefined && { apiKey }) }, { hasProcesses: kind === 'workers' });

async function open(): Promise<Gateway> {
  if (kind === 'workers') return openGateway(config);
  return createGateway(config, kind === 'no-records' ? { store: await createEmptyStore() } : {});
}

/** The same backend under many names: what the choice costs. */
function listBackends(): string {
  const count = Number(kind.slice('backends-'.length));
  const backends = Array.from({ length: count }, (_, index) => ({ name: `backend-${index}`, base_url: baseUrl }));
  writeFileSync(file, JSON.stringify({ backends }));
  return file;
}

/** Makes a key in the database before the gateway opens it, and the prices. */
async function issueKey(): Promise<string> {
  const { text, kept } = issueSecret(createIdentities(SECRET, null).keySecret);
  const limits = {
    requestsPerMinute: PLENTY,
    tokensPerMinute: PLENTY,
    spendPerDayMicro: PLENTY,
    spendPerMonthMicro: PLENTY,
  };
  const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
  await store.createKey(newKeyDraft({ secret: kept, limits, creditsMicro: PLENTY }));
  await store.close();
  writeFileSync(file, JSON.stringify(PRICES));
  return text;
}

/** Accepts everything and keeps no record. For the bench alone: it breaks every promise of a store but those about keys. */
async function createEmptyStore(): Promise<Store> {
  return {
    ...(await openStore({ databaseUrl: ':memory:', recordRetentionDays: 1 })),
    accept: () => Promise.resolve({ kind: 'accepted' }),
    finish: () => Promise.resolve(undefined),
    record: () => Promise.resolve(),
    discard: () => Promise.resolve(undefined),
    requestCancel: () => Promise.resolve(undefined),
    find: () => Promise.resolve(undefined),
    findDuplicate: () => Promise.resolve(undefined),
    findByIdempotencyKey: () => Promise.resolve(undefined),
    list: () => Promise.resolve({ records: [], hasMore: false, lastId: null }),
    recover: () => Promise.resolve(0),
    prune: () => Promise.resolve(0),
    checkWritable: () => Promise.resolve(undefined),
  };
}
