import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { KEEP_YOUNG } from '../../../../src/process/young-objects.ts';
import { startGatewayProcess } from '../../../support/gateway-process.ts';
import { openConnection } from '../connection.ts';
import { readCpuMicros, readResidentBytes } from '../proc.ts';
import { toRequest } from '../dialects.ts';
import { exchangeWhole, type Load } from '../load.ts';
import type { Stage } from '../stage.ts';

export const FIRST = 'ms to the first answer';
export const UNCOMPILED = 'ms with nothing compiled';
export const START_CPU = 'CPU s to the first answer';
export const RESIDENT = 'MB resident when started';
const IDLE_MS = 1000;

interface Start {
  readonly ms: number;
  readonly cpuS: number;
  readonly residentMb: number;
}

/**
 * What `npm start` runs, with a database that is not there yet, until it has answered its first request: after `npm ci`, which
 * has the sources compiled, and where Node may keep nothing of that.
 */
export function startUpLoad({ upstream, folder }: Stage): Load {
  let databases = 0;

  async function measureStart(checkout: string, settings: Readonly<Record<string, string>>): Promise<Start> {
    databases += 1;
    const startMs = performance.now();
    const database = `file:${join(folder, `start-${databases}.db`)}`;
    const gateway = await startGatewayProcess(
      { UPSTREAM_BASE_URL: `${upstream}/v1`, DATABASE_URL: database, ...settings },
      // Nothing is loaded into it that a gateway in use has not.
      { isImpatient: true, main: join(checkout, 'src/main.ts') },
    );
    try {
      const connection = openConnection(gateway.url ?? '');
      await exchangeWhole(connection, toRequest({ dialect: 'responses', apiKey: 'bench' }, { script: 'json' }));
      connection.destroy();
      const ms = performance.now() - startMs;
      const cpuS = readCpuMicros(gateway.pid) / 1e6;
      await delay(IDLE_MS);
      return { ms, cpuS, residentMb: readResidentBytes(gateway.pid) / 1024 / 1024 };
    } finally {
      // What is kept for the next start is written at an orderly end.
      await gateway.stop();
    }
  }

  return {
    name: 'start',
    columns: [FIRST, START_CPU, RESIDENT, UNCOMPILED].map((figure) => ({ figure })),
    async measure({ name, checkout }) {
      const compiled = { NODE_COMPILE_CACHE: join(folder, `compiled: ${name}`) };
      const warmUp = join(checkout, 'src/process/warm-up.ts');
      await promisify(execFile)(process.execPath, [KEEP_YOUNG, warmUp], { env: compiled });
      const first = await measureStart(checkout, compiled);
      const { ms: uncompiledMs } = await measureStart(checkout, { NODE_DISABLE_COMPILE_CACHE: '1' });
      return { [FIRST]: first.ms, [START_CPU]: first.cpuS, [RESIDENT]: first.residentMb, [UNCOMPILED]: uncompiledMs };
    },
  };
}
