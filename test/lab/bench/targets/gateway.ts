/** The gateway under test. */
import { writeFileSync } from 'node:fs';
import { issueSecret } from '../../../../src/accounts/keys.ts';
import { createGateway, readConfig } from '../../../../src/gateway.ts';
import { keepRequestsYoung } from '../../../../src/process/young-objects.ts';
import { createIdentities } from '../../../../src/identity/identities.ts';
import { openStore } from '../../../../src/store/open.ts';
import { newKeyDraft } from '../../../support/keys.ts';
import { beMeasured } from './measured.ts';

/** `managed` has a key with credits and every limit. */
export type GatewayKind = 'in-memory' | 'records' | 'managed';

const SECRET = 'the secret of the bench, which is long enough';
const PRICES = { currency: 'USD', models: { '*': { input: '0.1', cached_input: '0.01', output: '0.4' } } };
const MANAGED = { AUTH_MODE: 'managed', UPSTREAM_API_KEY: 'key-of-the-bench' };
/** More than a run can use. */
const PLENTY = 1_000_000_000_000;

const [upstream = '', kind = 'records', databaseUrl = '', file = ''] = process.argv.slice(2);
keepRequestsYoung();
const apiKey = kind === 'managed' ? await issueKey() : undefined;
const config = readConfig({
  UPSTREAM_BASE_URL: `${upstream}/v1`,
  DATABASE_URL: kind === 'in-memory' ? ':memory:' : databaseUrl,
  GATEWAY_SECRET: SECRET,
  PORT: '0',
  LOG_LEVEL: 'silent',
  ...(apiKey !== undefined && { ...MANAGED, PRICES_FILE: file }),
});
const gateway = await createGateway(config);
const { url } = await gateway.listen();
beMeasured({ url, ...(apiKey !== undefined && { apiKey }) });

/** Makes a key in the database before the gateway opens it, and the prices. */
async function issueKey(): Promise<string> {
  const { text, kept } = issueSecret(createIdentities(SECRET, null).keySecret);
  const limits = {
    requestsPerMinute: PLENTY,
    tokensPerMinute: PLENTY,
    spendPerDayMicro: PLENTY,
    spendPerWeekMicro: null,
    spendPerMonthMicro: PLENTY,
  };
  const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
  await store.createKey(newKeyDraft({ secret: kept, limits, creditsMicro: PLENTY }));
  await store.close();
  writeFileSync(file, JSON.stringify(PRICES));
  return text;
}
