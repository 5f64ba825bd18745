import { basename, join, resolve } from 'node:path';
import type { Dialect } from './dialects.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startChild, type Child, type Core } from './processes.ts';
import type { GatewayKind } from './targets/gateway.ts';
import type { Listening } from './targets/measured.ts';

export interface TargetKind {
  readonly name: string;
  /** Starts it. Each start has a database of its own. */
  start(): Promise<Target>;
}

export interface Target {
  readonly name: string;
  readonly dialect: Dialect;
  readonly url: string;
  readonly apiKey: string;
  readonly child: Child;
  /** The database file, where it keeps records in one. */
  readonly database?: string;
  /** Where its records are on a server: others can join it there. */
  readonly cluster?: Cluster;
}

export interface Cluster {
  readonly databaseUrl: string;
  readonly server: PostgresServer;
  /** Starts another gateway on the same database, away from the core of the first. */
  join(): Promise<Target>;
}

export const DIRECT = 'direct';
export const HTTP_PROXY = 'http-proxy';
export const EXPRESS = 'express + http-proxy-middleware';
export const TRANSLATOR = 'minimal translator';
export const NO_RECORDS = 'gateway, no records';
export const RECORDS = 'gateway';
export const MANAGED = 'gateway, managed keys';
export const ON_POSTGRES = 'gateway on PostgreSQL';
export const MANAGED_ON_POSTGRES = 'gateway on PostgreSQL, managed keys';

const ANY_KEY = 'bench';

interface Surroundings {
  readonly backend: Child;
  /** Where the backend listens. */
  readonly upstream: string;
  /** For the databases. */
  readonly folder: string;
  /** Undefined where PostgreSQL is not installed. */
  readonly startPostgres: (() => Promise<PostgresServer>) | undefined;
  /** The folder of another checkout. */
  readonly beside: string | undefined;
}

/** Everything that is compared, in the order of the tables. The backend is a target itself. */
export function targetKinds({ backend, upstream, folder, startPostgres, beside }: Surroundings): TargetKind[] {
  let databases = 0;
  const direct: TargetKind = {
    name: DIRECT,
    start: () => Promise.resolve({ name: DIRECT, dialect: 'chat', url: upstream, apiKey: ANY_KEY, child: backend }),
  };
  const script = (name: string, dialect: Dialect, file: string, ...parameters: string[]): TargetKind => ({
    name,
    start: () => startOn('target', name, dialect, resolve(import.meta.dirname, 'targets', file), ...parameters),
  });
  const startOn = async (core: Core, name: string, dialect: Dialect, file: string, ...parameters: string[]) => {
    const child = startChild(file, [upstream, ...parameters], core);
    return { name, dialect, child, apiKey: ANY_KEY, ...(await child.hear<Listening>('listening')) };
  };
  const gateway = (name: string, kind: GatewayKind, file = 'gateway.ts'): TargetKind => ({
    name,
    async start() {
      databases += 1;
      const database = join(folder, `${databases}.db`);
      const target = await script(name, 'responses', file, kind, `file:${database}`, `${database}.json`).start();
      return { ...target, database };
    },
  });
  const onPostgres = (name: string, kind: GatewayKind, start: () => Promise<PostgresServer>): TargetKind => ({
    name,
    async start() {
      databases += 1;
      const server = await start();
      const { url: databaseUrl } = await createTestDatabase(server.url);
      const parameters = [kind, databaseUrl, join(folder, `${databases}.json`)] as const;
      const open = (core: Core) => startOn(core, name, 'responses', 'targets/gateway.ts', ...parameters);
      return { ...(await open('target')), cluster: { server, databaseUrl, join: () => open('load') } };
    },
  });
  if (beside !== undefined) {
    const file = resolve(beside, 'test/bench/targets/gateway.ts');
    const name = basename(resolve(beside));
    return [
      script(HTTP_PROXY, 'chat', 'http-proxy.ts'),
      script(TRANSLATOR, 'responses', 'translator.ts'),
      gateway(RECORDS, 'records'),
      gateway(`${RECORDS} of ${name}`, 'records', file),
      gateway(MANAGED, 'managed'),
      gateway(`${MANAGED}, of ${name}`, 'managed', file),
    ];
  }
  return [
    direct,
    script(HTTP_PROXY, 'chat', 'http-proxy.ts'),
    script(EXPRESS, 'chat', 'express.ts'),
    script(TRANSLATOR, 'responses', 'translator.ts'),
    gateway(NO_RECORDS, 'no-records'),
    gateway(RECORDS, 'records'),
    gateway(MANAGED, 'managed'),
    ...(startPostgres === undefined
      ? []
      : [onPostgres(ON_POSTGRES, 'records', startPostgres), onPostgres(MANAGED_ON_POSTGRES, 'managed', startPostgres)]),
  ];
}
