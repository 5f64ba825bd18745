/** `npm run lab backends` tries a hundred faults with each setting. */

import { expect } from 'chai';
import { runChaosRounds } from '../lab/backends-chaos/rounds.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const FAULTS = Number(process.env['BACKEND_FAULTS'] ?? 11);
/** Fewer where other tests run beside it, so that the first byte of a backend that is well is never late. */
const CALLERS = FAULTS > 11 ? 128 : 64;
const SEED = Number(process.env['BACKEND_SEED'] ?? 24);

describe('three backends, one of which fails', () => {
  useRealSockets();

  for (const failover of ['any', 'safe'] as const) {
    it(`keep every promise to ${CALLERS / 2} streams and ${CALLERS / 2} JSON callers with failover ${failover}, at ${FAULTS} faults`, async () => {
      const say = FAULTS > 11 ? (said: string) => void process.stdout.write(`${said}\n`) : undefined;
      const report = await runChaosRounds({ faults: FAULTS, callers: CALLERS, failover, seed: SEED }, say);
      say?.(JSON.stringify(report, null, 2));
      expect(report.failedTries, 'tries that a fault hit').to.be.above(FAULTS);
    });
  }
});
