import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Dialect } from './dialects.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { startChild, type Child } from './processes.ts';
import type { GatewayKind } from './targets/gateway.ts';
import type { Listening } from './targets/measured.ts';

export interface TargetKind {
  readonly name: string;
  /** Whose place it takes in every load: that of the same target of this checkout. */
  readonly standsFor?: string;
  /** Starts it. Each start has a database of its own. */
  start(): Promise<Target>;
}

export interface Target {
  readonly name: string;
  readonly dialect: Dialect;
  readonly url: string;
  readonly apiKey: string;
  readonly child: Child;
  /** The folder of its sources. */
  readonly checkout: string;
}

export const HTTP_PROXY = 'http-proxy';
export const TRANSLATOR = 'minimal translator';
export const IN_MEMORY = 'gateway in memory';
export const RECORDS = 'gateway';
export const MANAGED = 'gateway, managed keys';
export const MANAGED_ON_POSTGRES = 'gateway on PostgreSQL, managed keys';

const ANY_KEY = 'bench';
const HERE = resolve(import.meta.dirname, '../../..');
/** Of this checkout, and of an older one beside it. */
const FOLDERS = ['test/lab/bench/targets', 'test/bench/targets'];

interface Surroundings {
  /** Where the backend listens. */
  readonly upstream: string;
  /** For the databases. */
  readonly folder: string;
  /** Undefined where PostgreSQL is not installed. */
  readonly startPostgres: (() => Promise<PostgresServer>) | undefined;
  /** The folder of another checkout. */
  readonly beside: string | undefined;
}

function targetIn(checkout: string, file: string): string {
  const found = FOLDERS.map((folder) => join(checkout, folder, file)).find(existsSync);
  if (found === undefined) throw new Error(`${checkout} has no target ${file}`);
  return found;
}

/** All that can be compared, in the order of the tables. */
export function targetKinds({ upstream, folder, startPostgres, beside }: Surroundings): TargetKind[] {
  let databases = 0;
  const start = async (name: string, dialect: Dialect, file: string, ...parameters: string[]): Promise<Target> => {
    const child = startChild(file, [upstream, ...parameters]);
    return { name, dialect, child, checkout: HERE, apiKey: ANY_KEY, ...(await child.hear<Listening>('listening')) };
  };
  const script = (name: string, dialect: Dialect, file: string): TargetKind => ({
    name,
    start: () => start(name, dialect, targetIn(HERE, file)),
  });
  const gateway = (name: string, kind: GatewayKind, checkout = HERE): TargetKind => ({
    name,
    async start() {
      databases += 1;
      const database = join(folder, `${databases}.db`);
      const parameters = [kind, `file:${database}`, `${database}.json`] as const;
      return { ...(await start(name, 'responses', targetIn(checkout, 'gateway.ts'), ...parameters)), checkout };
    },
  });
  if (beside !== undefined) {
    const checkout = resolve(beside);
    return (
      [
        [RECORDS, 'records'],
        [MANAGED, 'managed'],
      ] as const
    ).flatMap(([name, kind]) => [
      gateway(name, kind),
      { ...gateway(`${name}, of ${basename(checkout)}`, kind, checkout), standsFor: name },
    ]);
  }
  const onPostgres = (startServer: () => Promise<PostgresServer>): TargetKind => ({
    name: MANAGED_ON_POSTGRES,
    async start() {
      databases += 1;
      const { url } = await createTestDatabase((await startServer()).url);
      const parameters = ['managed', url, join(folder, `${databases}.json`)] as const;
      return start(MANAGED_ON_POSTGRES, 'responses', targetIn(HERE, 'gateway.ts'), ...parameters);
    },
  });
  return [
    script(HTTP_PROXY, 'chat', 'http-proxy.ts'),
    script(TRANSLATOR, 'responses', 'translator.ts'),
    gateway(IN_MEMORY, 'in-memory'),
    gateway(RECORDS, 'records'),
    gateway(MANAGED, 'managed'),
    ...(startPostgres === undefined ? [] : [onPostgres(startPostgres)]),
  ];
}
