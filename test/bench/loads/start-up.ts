import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGatewayProcess } from '../../support/gateway-process.ts';
import { openConnection } from '../connection.ts';
import { toRequest } from '../dialects.ts';
import { exchangeWhole, type Load } from '../load.ts';
import type { Stage } from '../stage.ts';
import { RECORDS } from '../targets.ts';

const WARM_UP = join(import.meta.dirname, '../../../src/process/warm-up.ts');
const FIRST = 'ms to the first answer';
const UNCOMPILED = 'ms with nothing compiled';

/**
 * What `npm start` runs, with a database that is not there yet, until it has answered its first request: after `npm ci`, which
 * has the sources compiled, and where Node may keep nothing of that.
 */
export function startUpLoad({ upstream, folder }: Stage): Load {
  let databases = 0;

  async function measureStart(settings: Readonly<Record<string, string>>): Promise<number> {
    databases += 1;
    const startMs = performance.now();
    const gateway = await startGatewayProcess({
      UPSTREAM_BASE_URL: `${upstream}/v1`,
      DATABASE_URL: `file:${join(folder, `start-${databases}.db`)}`,
      ...settings,
    });
    try {
      const connection = openConnection(gateway.url ?? '');
      await exchangeWhole(connection, toRequest({ dialect: 'responses', apiKey: 'bench' }, { script: 'json' }));
      connection.destroy();
      return performance.now() - startMs;
    } finally {
      // What is kept for the next start is written at an orderly end.
      await gateway.stop();
    }
  }

  return {
    name: 'start',
    columns: [{ figure: FIRST }, { figure: UNCOMPILED }],
    targets: [RECORDS],
    async measure() {
      const compiled = { NODE_COMPILE_CACHE: join(folder, 'compiled') };
      await promisify(execFile)(process.execPath, [WARM_UP], { env: compiled });
      return {
        [FIRST]: await measureStart(compiled),
        [UNCOMPILED]: await measureStart({ NODE_DISABLE_COMPILE_CACHE: '1' }),
      };
    },
  };
}
