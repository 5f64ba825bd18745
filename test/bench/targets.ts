import { join } from 'node:path';
import type { Dialect } from './dialects.ts';
import { startChild, type Child } from './processes.ts';
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
}

export const DIRECT = 'direct';
export const HTTP_PROXY = 'http-proxy';
export const EXPRESS = 'express + http-proxy-middleware';
export const NO_RECORDS = 'gateway, no records';
export const RECORDS = 'gateway';
export const MANAGED = 'gateway, managed keys';

const ANY_KEY = 'bench';

interface Surroundings {
  readonly backend: Child;
  /** Where the backend listens. */
  readonly upstream: string;
  /** For the databases. */
  readonly folder: string;
}

/** Everything that is compared, in the order of the tables. The backend is a target itself. */
export function targetKinds({ backend, upstream, folder }: Surroundings): TargetKind[] {
  let databases = 0;
  const direct: TargetKind = {
    name: DIRECT,
    start: () => Promise.resolve({ name: DIRECT, dialect: 'chat', url: upstream, apiKey: ANY_KEY, child: backend }),
  };
  const script = (name: string, dialect: Dialect, file: string, ...parameters: string[]): TargetKind => ({
    name,
    async start() {
      const child = startChild(`targets/${file}`, [upstream, ...parameters], 'target');
      return { name, dialect, child, apiKey: ANY_KEY, ...(await child.hear<Listening>('listening')) };
    },
  });
  const gateway = (name: string, kind: GatewayKind): TargetKind => ({
    name,
    async start() {
      databases += 1;
      const database = join(folder, `${databases}.db`);
      const target = await script(name, 'responses', 'gateway.ts', kind, database).start();
      return { ...target, database };
    },
  });
  return [
    direct,
    script(HTTP_PROXY, 'chat', 'http-proxy.ts'),
    script(EXPRESS, 'chat', 'express.ts'),
    gateway(NO_RECORDS, 'no-records'),
    gateway(RECORDS, 'records'),
    gateway(MANAGED, 'managed'),
  ];
}
