import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPostgresInstalled, startPostgresServer, type PostgresServer } from '../../support/postgres-server.ts';
import { startChild } from './processes.ts';
import { targetKinds, type Target, type TargetKind } from './targets.ts';

/** What every run needs: the backend, and the targets as they are started. */
export interface Stage {
  /** Where the backend listens. */
  readonly upstream: string;
  /** For databases. */
  readonly folder: string;
  readonly kinds: readonly TargetKind[];
  /** A process of its own, also when there is one of this name already. */
  start(name: string): Promise<Target>;
  /** Ends every process and removes the databases. */
  close(): Promise<void>;
}

const RESULTS_FOLDER = join(import.meta.dirname, 'results');

/** With the folder of another checkout, its gateway stands beside ours. */
export async function openStage(beside?: string): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const backend = startChild('backend.ts', [], 'load');
  const upstream = await backend.hear<string>('listening');
  const targets: Target[] = [];
  let server: Promise<PostgresServer> | undefined;
  const startPostgres = isPostgresInstalled() ? () => (server ??= startPostgresServer()) : undefined;
  if (startPostgres === undefined) console.log('not measured, since PostgreSQL is not installed: the gateway on it');
  const kinds = targetKinds({ upstream, folder, startPostgres, beside });
  return {
    upstream,
    folder,
    kinds,
    async start(name) {
      const kind = kinds.find((kind) => kind.name === name);
      if (kind === undefined) throw new Error(`there is no target ${name}`);
      const target = await kind.start();
      targets.push(target);
      return target;
    },
    async close() {
      for (const target of targets) target.child.kill();
      backend.kill();
      await (await server)?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes what a run found into the folder that git ignores. Returns the name of the file. */
export function writeResult(kind: string, value: unknown): string {
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const moment = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  const file = join(RESULTS_FOLDER, `${moment}.${kind}`);
  writeFileSync(file, JSON.stringify(value, null, 2));
  return file;
}
