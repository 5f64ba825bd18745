/**
 * How long every list and total takes that the operator's console asks for:
 * `npm run lab figures -- file:figures.db 5000000`, or with the URL of an empty database of
 * PostgreSQL. It fills the database, unless it is filled, and leaves it behind. It prints the first, the
 * middle and the longest time of each, and the middle CPU time of this process, in which SQLite runs.
 */
import Sqlite from 'better-sqlite3';
import { Client } from 'pg';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { createGateway, readConfig } from '../../src/gateway.ts';
import { openStore } from '../../src/store/open.ts';
import { POSTGRES as ON_SERVER, SQLITE as IN_FILE } from '../../src/store/sql/dialect.ts';
import { startsOf } from '../../src/store/sql/usage.ts';
import { HOUR_MS } from '../../src/core/time.ts';

const DAY_S = 86_400;
const DAYS = 30;
const KEYS = 10_001;
const GROUPS = 50;
const TIMES = 5;
const ADMIN_TOKEN = 'the-admin-token-of-these-figures';

const [databaseUrl = ':memory:', records = '1000000'] = process.argv.slice(2);
const count = Number(records);
const endMs = Date.now();
const everyMs = (DAYS * DAY_S * 1000) / count;

const [BUSIEST, USUAL] = ['0'.repeat(32), '1'.padStart(32, '0')].map((unique) => `key_${unique}`);

/** One key in ten thousand makes one request in ten, and the others make as many as each other. */
const KEY = `CASE i % 10 WHEN 0 THEN 0 ELSE 1 + (i * 2654435761 / 65536) % ${KEYS - 1} END`;
const STATUS = `CASE i % 50 WHEN 7 THEN 'failed' WHEN 8 THEN 'cancelled' ELSE 'succeeded' END`;
const ERROR = `CASE i % 50 WHEN 7 THEN CASE i % 350 WHEN 7 THEN 'upstream_timeout' ELSE 'upstream_error' END WHEN 8 THEN 'request_cancelled' END`;
const MODEL = `CASE WHEN i % 100 < 60 THEN 'usual' WHEN i % 100 < 95 THEN 'larger' WHEN i % 20000 = 19999 THEN 'rare' ELSE 'small' END`;
const FUNDS = 'balance_micro, funded_micro, funded_at_ms, spend_per_day_micro';
const USAGE = `requests, failed, cancelled, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  cost_micro, duration_ms`;
const SUMS = `count(*), sum(CASE status WHEN 'failed' THEN 1 ELSE 0 END), sum(CASE status WHEN 'cancelled' THEN 1 ELSE 0 END),
  sum(input_tokens), 0, 0, sum(output_tokens), 0, sum(cost_micro), sum(completed_at_ms - created_at_ms)`;

/** In the dialect of one engine: `hex` writes a number with so many digits, `series` has the column `i`. */
interface Dialect {
  readonly hex: (number: string, digits: number) => string;
  readonly series: (from: number, to: number) => string;
  readonly ms: (number: string) => string;
  readonly starts: Readonly<Record<string, string>>;
  readonly least: (number: string) => string;
  readonly object: string;
}

const SQLITE: Dialect = {
  hex: (number, digits) => `printf('%0${digits}x', ${number})`,
  series: (from, to) =>
    `(WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to}) SELECT i FROM n)`,
  ms: (number) => `CAST(${number} AS INTEGER)`,
  starts: startsOf(IN_FILE),
  least: (number) => `CAST(${number} AS INTEGER)`,
  object: 'json_group_object(name, times)',
};
const POSTGRES: Dialect = {
  hex: (number, digits) => `lpad(to_hex((${number})::bigint), ${digits}, '0')`,
  series: (from, to) => `generate_series(${from}::bigint, ${to}::bigint) AS s (i)`,
  ms: (number) => `(${number})::bigint`,
  starts: startsOf(ON_SERVER),
  least: (number) => `floor(${number})::bigint`,
  object: 'jsonb_object_agg(name, times)::text',
};

const STEP = 250_000;

function* toFill({ hex, series, ms }: Dialect): Generator<string> {
  const group = `'group_' || ${hex('i', 32)}`;
  yield `INSERT INTO groups (group_id, name, created_at_ms, ${FUNDS})
    SELECT ${group}, 'Team ' || i, ${endMs}, 1000000000, 1000000000, ${endMs}, 10000000 FROM ${series(0, GROUPS - 1)}`;
  yield `INSERT INTO keys (key_id, hash, prefix, name, created_at_ms, group_id, ${FUNDS})
    SELECT 'key_' || ${hex('i', 32)}, 'hash ' || i, 'sk-' || i, 'Key ' || i, ${endMs}, 'group_' || ${hex(`i % ${GROUPS}`, 32)},
      1000000000, 1000000000, ${endMs}, 10000000 FROM ${series(0, KEYS - 1)}`;
  for (let first = 1; first <= count; first += STEP) {
    const createdAtMs = ms(`${endMs - DAYS * DAY_S * 1000} + (i - 1) * ${everyMs}`);
    yield `INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
        estimated_input_tokens, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
        total_tokens, cost_micro, error_code, key, group_id)
      SELECT 'req_' || ${hex(createdAtMs, 12)} || ${hex('i', 20)}, 'key_' || ${hex(KEY, 32)}, 'responses', ${MODEL}, 1, ${STATUS},
        ${createdAtMs}, ${createdAtMs} + i % 7000, 7, i % 3000, 0, 0, i % 500, 0, i % 3000 + i % 500, i % 900, ${ERROR},
        ${KEY} + 1, 'group_' || ${hex(`(${KEY}) % ${GROUPS}`, 32)}
      FROM ${series(first, Math.min(count, first + STEP - 1))}`;
  }
  yield `INSERT INTO usage (hour, caller, model, ${USAGE})
    SELECT completed_at_ms / ${HOUR_MS} AS h, caller, model, ${SUMS} FROM requests GROUP BY h, caller, model`;
  yield `INSERT INTO group_usage (group_id, hour, caller, model, ${USAGE})
    SELECT group_id, completed_at_ms / ${HOUR_MS} AS h, caller, model, ${SUMS} FROM requests GROUP BY group_id, h, caller, model`;
}

/** How long the requests of all, of each group and of two keys took, by a sample. No row of another key would be read. */
const SAMPLED = 20;

function* toFillStats({ starts, least, object, series }: Dialect): Generator<string> {
  const time = 'completed_at_ms - created_at_ms';
  const scopes = [
    [`''`, 'true'],
    ['group_id', 'true'],
    ['caller', `caller IN ('${BUSIEST}', '${USUAL}')`],
  ] as const;
  for (const [scope, where] of scopes) {
    for (const [per, start] of Object.entries(starts)) {
      yield `INSERT INTO request_stats (scope, per, start, model, counts)
        SELECT scope, '${per}', start, model, ${object} FROM (
          SELECT scope, ${start} AS start, model, name, count(*) AS times FROM (
            SELECT ${scope} AS scope, completed_at_ms / ${HOUR_MS} AS hour, model,
              timed || ':' || ${least(`ln(1 + (${time}) / part) / ln(1.1)`)} AS name
            FROM ${series(1, count / SAMPLED)} JOIN requests ON requests.seq = i * ${SAMPLED} CROSS JOIN (SELECT 'duration' AS timed, 1 AS part UNION ALL SELECT 'first_token', 10) AS kinds
            WHERE ${where}) AS named
          GROUP BY scope, ${start}, model, name) AS counted
        GROUP BY scope, start, model`;
    }
  }
}

async function fillSqlite(file: string): Promise<void> {
  const database = new Sqlite(file);
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -2000000');
  const isEmpty = (table: string) => database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() === undefined;
  if (isEmpty('requests')) for (const sql of toFill(SQLITE)) database.exec(sql);
  if (isEmpty('request_stats')) for (const sql of toFillStats(SQLITE)) database.exec(sql);
  database.close();
}

async function fillPostgres(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const isEmpty = async (table: string) => (await client.query(`SELECT 1 FROM ${table} LIMIT 1`)).rowCount === 0;
  if (await isEmpty('requests')) for (const sql of toFill(POSTGRES)) await client.query(sql);
  if (await isEmpty('request_stats')) for (const sql of toFillStats(POSTGRES)) await client.query(sql);
  await client.query('VACUUM ANALYZE');
  await client.end();
}

const isPostgres = databaseUrl.startsWith('postgres');
const settings = { databaseUrl, recordRetentionDays: 400, clock: Date.now, limits: { answerWithinMs: 600_000 } };
const made = await openStore(settings);
await made.close();
const startedMs = performance.now();
await (isPostgres ? fillPostgres(databaseUrl) : fillSqlite(databaseUrl.replace('file:', '')));
const store = await openStore(settings);
const rolledMs: number[] = [];
for (let hasMore = true; hasMore;) {
  const startedMs = performance.now();
  hasMore = await store.rollUpUsage();
  rolledMs.push(performance.now() - startedMs);
}
await store.close();
console.log(`${rolledMs.length} rollups, each within ${Math.max(...rolledMs).toFixed(0)} ms`);
console.log(`filled in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);

const gateway = await createGateway(
  readConfig({
    PORT: '0',
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    RECORD_RETENTION_DAYS: '400',
    GATEWAY_SECRET: 'the secret of these figures',
    AUTH_MODE: 'managed',
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    ADMIN_TOKEN,
  }),
);
const { url } = await gateway.listen();

interface Answer {
  readonly ms: number;
  readonly cpuMs: number;
  readonly status: number;
  readonly bytes: number;
}

async function get(path: string): Promise<Answer> {
  const [startedMs, startedCpuMs] = [performance.now(), cpuTimeMs()];
  const reply = await fetch(`${url}/admin/v1/${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  const { length } = await reply.text();
  const { status } = reply;
  return { ms: performance.now() - startedMs, cpuMs: cpuTimeMs() - startedCpuMs, status, bytes: length };
}

function middleOf(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[TIMES >> 1] ?? 0;
}

const group = `group_${'1'.padStart(32, '0')}`;
const nowS = Math.floor(endMs / 1000);
const monthAt = (offset: number) =>
  Date.UTC(new Date(endMs).getUTCFullYear(), new Date(endMs).getUTCMonth() + offset) / 1000;
const dayAt = (days: number) => (Math.floor(nowS / DAY_S) + 1 - days) * DAY_S;
const SPANS: Readonly<Record<string, string>> = {
  '24 hours': `per=hour&from=${(Math.floor(nowS / 3600) + 1) * 3600 - DAY_S}&until=${(Math.floor(nowS / 3600) + 1) * 3600}`,
  '7 days': `per=day&from=${dayAt(7)}&until=${dayAt(0)}`,
  '30 days': `per=day&from=${dayAt(30)}&until=${dayAt(0)}`,
  '12 months': `per=month&from=${monthAt(-11)}&until=${monthAt(1)}`,
};
const TOTALS = [
  'by=model',
  'by=key',
  'by=group',
  'by=time',
  ...['by=model', 'by=key', 'by=time'].map((by) => `${by}&group=${group}`),
  ...['by=model', 'by=time'].map((by) => `${by}&key=${BUSIEST}`),
  ...['by=model', 'by=time'].map((by) => `${by}&key=${USUAL}`),
];
const [from, until] = [nowS - 20 * DAY_S, nowS - 19 * DAY_S];
const LISTS = [
  '',
  'status=failed',
  'status=processing',
  'model=rare',
  'model=usual',
  'error_code=upstream_timeout',
  `key=${BUSIEST}`,
  `key=${USUAL}`,
  `key=${BUSIEST}&status=failed`,
  `key=${USUAL}&model=rare`,
  `group=${group}`,
  `group=${group}&model=rare`,
  `group=${group}&status=failed`,
  `from=${from}&until=${until}`,

  `from=${from}&until=${until}&model=rare`,
  `after=req_${Math.floor(endMs - 15 * DAY_S * 1000)
    .toString(16)
    .padStart(12, '0')}${'0'.repeat(20)}`,
];
const PATHS = [
  ...LISTS.map((query) => `requests?limit=50&${query}`),
  'keys?limit=50',
  'keys?limit=50&search=9999',
  'keys?limit=50&search=nobody',
  `keys?limit=50&group=${group}`,
  'groups?limit=50',
  'groups?limit=100',
  'groups?limit=50&search=nobody',
  `keys/${BUSIEST}`,
  `groups/${group}`,
  `keys/${BUSIEST}/ledger?limit=50`,
  `groups/${group}/ledger?limit=50`,
  'backends',
  'limits',
  'prices',
  ...Object.values(SPANS).flatMap((span) => TOTALS.map((query) => `usage/totals?${query}&${span}`)),
  ...['', `key=${BUSIEST}`, `group=${group}`, 'group=*'].map((query) => `usage?${query}&${SPANS['7 days']}`),
];
for (const path of PATHS) {
  const answers: Answer[] = [];
  for (let time = 0; time < TIMES; time += 1) answers.push(await get(path));
  const times = answers.map(({ ms }) => ms);
  const cpuMs = middleOf(answers.map(({ cpuMs }) => cpuMs));
  const shown = Object.entries(SPANS).reduce((text, [name, span]) => text.replace(span, name), path);
  const figures = [times[0] ?? 0, middleOf(times), Math.max(...times), cpuMs].map((ms) => ms.toFixed(0).padStart(6));
  const { status, bytes } = answers[0] ?? { status: 0, bytes: 0 };
  console.log(`${figures.join('')} ms ${status} ${String(bytes).padStart(7)} B  ${shown.replace(/0{20,}/g, '…')}`);
}
await gateway.close();
