import { join } from 'node:path';
import { startGatewayProcess } from '../../support/gateway-process.ts';
import { openConnection } from '../connection.ts';
import { toRequest } from '../dialects.ts';
import { exchangeWhole, type Load } from '../load.ts';
import type { Stage } from '../stage.ts';
import { RECORDS } from '../targets.ts';

/** What `npm start` runs, with a database that is not there yet, until it has answered its first request. */
export function startUpLoad({ upstream, folder }: Stage): Load {
  let databases = 0;
  return {
    name: 'start',
    columns: [{ figure: 'ms to the first answer' }],
    targets: [RECORDS],
    async measure() {
      databases += 1;
      const startMs = performance.now();
      const gateway = await startGatewayProcess({
        UPSTREAM_BASE_URL: `${upstream}/v1`,
        DATABASE_URL: `file:${join(folder, `start-${databases}.db`)}`,
      });
      try {
        const connection = openConnection(gateway.url ?? '');
        await exchangeWhole(connection, toRequest({ dialect: 'responses', apiKey: 'bench' }, { script: 'json' }));
        connection.destroy();
        return { 'ms to the first answer': performance.now() - startMs };
      } finally {
        gateway.kill();
      }
    },
  };
}
