import { Client } from 'pg';
import { measureAnswers, type Figures, type Load, type Window } from '../load.ts';
import { readCpuMicros } from '../proc.ts';
import type { Cluster, Target } from '../targets.ts';
import { checkShortAnswer } from './json.ts';

/** Of each of the others, when they are loaded. */
const OTHERS_AT = 8;
const AT = 16;

/**
 * What a second and a third gateway on the same database cost the first, and what a request costs the database. The others
 * have the other core, together with the database, the backend and who asks: read the CPU, since requests/s fall there
 * for want of a core.
 */
export function clusterLoad(window: Window): Load {
  return {
    name: `JSON at ${AT}, and two more gateways on its PostgreSQL`,
    columns: [
      { figure: 'alone: requests/s' },
      { figure: 'they idle: requests/s' },
      { figure: 'they are loaded: requests/s' },
      { figure: 'all three: requests/s' },
      { figure: 'alone: CPU µs per request' },
      { figure: 'they idle: CPU µs per request' },
      { figure: 'they are loaded: CPU µs per request' },
      { figure: 'database: CPU µs per request' },
      { figure: 'database, all three: CPU µs per request' },
      { figure: 'commits per request' },
      { figure: 'KB of WAL per request' },
      { figure: 'bytes per record' },
    ],
    once: true,
    async measure(target) {
      const { cluster } = target;
      if (cluster === undefined) throw new Error(`${target.name} is on no server`);
      const alone = await withDatabase(cluster, () => measureJson(target, AT, window));
      const others = [await cluster.join(), await cluster.join()];
      try {
        const idle = await measureJson(target, AT, window);
        const all = await withDatabase(cluster, async () => {
          const [first, ...rest] = await Promise.all([
            measureJson(target, AT, window),
            ...others.map((other) => measureJson(other, OTHERS_AT, window)),
          ]);
          return {
            ...first,
            perSecond: first.perSecond,
            all: rest.reduce((sum, each) => sum + each.perSecond, first.perSecond),
          };
        });
        return {
          'alone: requests/s': alone.answers.perSecond,
          'they idle: requests/s': idle.perSecond,
          'they are loaded: requests/s': all.answers.perSecond,
          'all three: requests/s': all.answers.all,
          'alone: CPU µs per request': alone.answers.cpuMicros,
          'they idle: CPU µs per request': idle.cpuMicros,
          'they are loaded: CPU µs per request': all.answers.cpuMicros,
          ...alone.figures,
          'database, all three: CPU µs per request': all.figures['database: CPU µs per request'] ?? Number.NaN,
          'bytes per record': await measureRecord(cluster),
        };
      } finally {
        for (const { child } of others) child.kill();
      }
    },
  };
}

function measureJson(target: Target, concurrency: number, window: Window) {
  return measureAnswers({ target, ask: { script: 'json' }, concurrency, window, check: checkShortAnswer });
}

interface DatabaseCounts {
  readonly cpuMicros: number;
  readonly commits: number;
  readonly walBytes: number;
  readonly records: number;
}

/** What the database did for each record that was made meanwhile. */
async function withDatabase<Answers>(
  { server, databaseUrl }: Cluster,
  measure: () => Promise<Answers>,
): Promise<{ answers: Answers; figures: Figures }> {
  const before = await readCounts(databaseUrl, server.pid);
  const answers = await measure();
  const after = await readCounts(databaseUrl, server.pid);
  const per = (name: keyof DatabaseCounts) => (after[name] - before[name]) / (after.records - before.records);
  return {
    answers,
    figures: {
      'database: CPU µs per request': per('cpuMicros'),
      'commits per request': per('commits'),
      'KB of WAL per request': per('walBytes') / 1024,
    },
  };
}

/** For as long as sessions may keep what they have counted to themselves. */
const COUNTED_WITHIN_MS = 1500;

async function readCounts(databaseUrl: string, serverPid: number): Promise<DatabaseCounts> {
  await new Promise((resolve) => setTimeout(resolve, COUNTED_WITHIN_MS));
  const [row] = await query<Omit<DatabaseCounts, 'cpuMicros'>>(
    databaseUrl,
    `SELECT xact_commit::float8 AS commits, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS "walBytes",
      (SELECT count(*) FROM requests)::float8 AS records
    FROM pg_stat_database WHERE datname = current_database()`,
  );
  if (row === undefined) throw new Error('the database has no statistics');
  return { ...row, cpuMicros: readCpuMicros(serverPid) };
}

/** What a record takes in the end, with its indexes and what else is written with it. */
async function measureRecord({ databaseUrl }: Cluster): Promise<number> {
  await query(databaseUrl, 'VACUUM FULL');
  const [row] = await query<{ bytes: number }>(
    databaseUrl,
    `SELECT (pg_total_relation_size('requests') + pg_total_relation_size('ledger'))::float8 / count(*) AS bytes FROM requests`,
  );
  return row?.bytes ?? Number.NaN;
}

async function query<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
