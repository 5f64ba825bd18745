import { expect } from 'chai';
import { useRealSockets } from '../support/real-sockets.ts';
import { runKillRounds } from './rounds.ts';

const ROUNDS = 4;

describe('a gateway that is killed in the middle of its work', () => {
  useRealSockets();

  it(`keeps all its promises when it is started again, ${ROUNDS} times`, async () => {
    const { rounds, acknowledged } = await runKillRounds(ROUNDS);
    expect(rounds).to.equal(ROUNDS);
    expect(acknowledged, 'a test that nobody was promised anything in').to.be.above(0);
  }).timeout(60_000);
});
