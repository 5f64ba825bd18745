import { basename, join, resolve } from 'node:path';
import type { Dialect } from './dialects.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startChild, type Child, type Core } from './processes.ts';
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
export const IN_MEMORY = 'gateway in memory';
export const RECORDS = 'gateway';
export const MANAGED = 'gateway, managed keys';
export const ON_POSTGRES = 'gateway on PostgreSQL';
export const MANAGED_ON_POSTGRES = 'gateway on PostgreSQL, managed keys';
/** With the core of the load as well. */
export const PROXY_ON_TWO_CORES = 'http-proxy on two cores';
export const ON_TWO_CORES = 'gateway on two cores';
export const TWO_WORKERS = 'gateway, WORKERS=2, on two cores';
/** How many backends BACKENDS_FILE names. */
export const BACKEND_COUNTS = [1, 3, 30];

/** The gateway with so many backends, all of which are the one of the bench. */
export function withBackends(count: number): string {
  return `gateway, BACKENDS_FILE of ${count}`;
}

const ANY_KEY = 'bench';
const OURS = resolve(import.meta.dirname, 'targets/gateway.ts');

interface Place {
  readonly core?: Core;
  /** The program of another checkout. */
  readonly file?: string;
}

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

/** All that can be compared, in the order of the tables. The backend is a target itself. */
export function targetKinds({ backend, upstream, folder, startPostgres, beside }: Surroundings): TargetKind[] {
  let databases = 0;
  const direct: TargetKind = {
    name: DIRECT,
    start: () => Promise.resolve({ name: DIRECT, dialect: 'chat', url: upstream, apiKey: ANY_KEY, child: backend }),
  };
  const script = (name: string, dialect: Dialect, file: string, core: Core = 'target'): TargetKind => ({
    name,
    start: () => startOn(core, name, dialect, resolve(import.meta.dirname, 'targets', file)),
  });
  const startOn = async (core: Core, name: string, dialect: Dialect, file: string, ...parameters: string[]) => {
    const child = startChild(file, [upstream, ...parameters], core);
    return { name, dialect, child, apiKey: ANY_KEY, ...(await child.hear<Listening>('listening')) };
  };
  const gateway = (name: string, kind: GatewayKind, { core = 'target', file = OURS }: Place = {}): TargetKind => ({
    name,
    async start() {
      databases += 1;
      const database = join(folder, `${databases}.db`);
      const parameters = [kind, `file:${database}`, `${database}.json`] as const;
      return { ...(await startOn(core, name, 'responses', file, ...parameters)), database };
    },
  });
  const onPostgres = (name: string, kind: GatewayKind, start: () => Promise<PostgresServer>): TargetKind => ({
    name,
    async start() {
      databases += 1;
      const server = await start();
      const { url: databaseUrl } = await createTestDatabase(server.url);
      const parameters = [kind, databaseUrl, join(folder, `${databases}.json`)] as const;
      const open = (core: Core) => startOn(core, name, 'responses', OURS, ...parameters);
      return { ...(await open('target')), cluster: { server, databaseUrl, join: () => open('load') } };
    },
  });
  if (beside !== undefined) {
    const file = resolve(beside, 'test/bench/targets/gateway.ts');
    const name = basename(resolve(beside));
    const other = (standsFor: string, kind: GatewayKind) => ({
      ...gateway(`${standsFor}, of ${name}`, kind, { file }),
      standsFor,
    });
    return [
      gateway(RECORDS, 'records'),
      other(RECORDS, 'records'),
      gateway(MANAGED, 'managed'),
      other(MANAGED, 'managed'),
    ];
  }
  return [
    direct,
    script(HTTP_PROXY, 'chat', 'http-proxy.ts'),
    script(EXPRESS, 'chat', 'express.ts'),
    script(TRANSLATOR, 'responses', 'translator.ts'),
    gateway(NO_RECORDS, 'no-records'),
    gateway(IN_MEMORY, 'in-memory'),
    gateway(RECORDS, 'records'),
    gateway(MANAGED, 'managed'),
    ...BACKEND_COUNTS.map((count) => gateway(withBackends(count), `backends-${count}`)),
    script(PROXY_ON_TWO_CORES, 'chat', 'http-proxy.ts', 'both'),
    gateway(ON_TWO_CORES, 'records', { core: 'both' }),
    gateway(TWO_WORKERS, 'workers', { core: 'both' }),
    ...(startPostgres === undefined
      ? []
      : [onPostgres(ON_POSTGRES, 'records', startPostgres), onPostgres(MANAGED_ON_POSTGRES, 'managed', startPostgres)]),
  ];
}
