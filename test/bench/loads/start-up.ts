import { join } from 'node:path';
import { startGatewayProcess } from '../../support/gateway-process.ts';
import { openConnection } from '../connection.ts';
import { toRequest } from '../dialects.ts';
import { exchangeWhole, type Load } from '../load.ts';
import type { Stage } from '../stage.ts';
import { RECORDS } from '../targets.ts';

const FIRST = 'ms to the first answer';
const AGAIN = 'ms when started again';

/**
 * What `npm start` runs, with a database that is not there yet, until it has answered its first request: with nothing that
 * Node has kept of an earlier start, as in a new clone, and with it.
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
    columns: [{ figure: FIRST }, { figure: AGAIN }],
    targets: [RECORDS],
    async measure() {
      const first = await measureStart({ NODE_DISABLE_COMPILE_CACHE: '1' });
      await measureStart({});
      return { [FIRST]: first, [AGAIN]: await measureStart({}) };
    },
  };
}
