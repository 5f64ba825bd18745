import { expect } from 'chai';
import { CUSTOMERS, type CustomerKind } from '../lab/kill/customers.ts';
import { runSoak } from '../lab/soak/soak.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('a gateway under mixed traffic', () => {
  useRealSockets();

  for (const kind of Object.keys(CUSTOMERS) as CustomerKind[]) {
    it(`tells who asks ${kind} the truth, leaves nothing behind, and lives`, async () => {
      const { rounds, told } = await runSoak(kind, { seconds: 4, roundSeconds: 2 });
      expect(rounds).to.be.at.least(1);
      expect(told, 'a test in which nobody was told anything').to.be.above(0);
    });
  }
});
