import { expect } from 'chai';
import { useRealSockets } from '../support/real-sockets.ts';
import { CUSTOMERS, type CustomerKind } from '../lab/kill/customers.ts';
import { runKillRounds } from '../lab/kill/rounds.ts';

/** One of each moment of a kill. */
const ROUNDS = 3;

describe('a gateway that is killed in the middle of its work', () => {
  useRealSockets();

  for (const kind of Object.keys(CUSTOMERS) as CustomerKind[]) {
    it(`keeps all its promises to who asks ${kind} when it is started again, ${ROUNDS} times`, async () => {
      const { rounds, acknowledged } = await runKillRounds(ROUNDS, kind);
      expect(rounds).to.equal(ROUNDS);
      expect(acknowledged, 'a test that nobody was promised anything in').to.be.above(0);
    });
  }
});
