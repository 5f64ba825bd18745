import { expect } from 'chai';
import { useRealSockets } from '../support/real-sockets.ts';
import { openConnection } from './connection.ts';
import { createStreamReader, toRequest } from './dialects.ts';
import { exchangeWhole } from './load.ts';
import { BURST_DELTAS } from './scripts.ts';
import { openStage, type Stage } from './stage.ts';

describe('the stage of the bench', () => {
  useRealSockets();
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage();
  });
  afterEach(() => stage.close());

  it('starts targets that all answer in JSON, in one stream at once and in one with the time in its deltas', async () => {
    await Promise.all(stage.kinds.map(async ({ name }) => expectAnswers(name)));
  });

  async function expectAnswers(name: string): Promise<void> {
    const target = await stage.start(name);
    const connection = openConnection(target.url);
    try {
      const json = await exchangeWhole(connection, toRequest(target, { script: 'json' }));
      expect(json.toString(), name).to.include('A short answer.');
      const burst = createStreamReader(target.dialect);
      burst.read(await exchangeWhole(connection, toRequest(target, { script: 'burst', stream: true })));
      burst.expectWhole(BURST_DELTAS);
      const paced = createStreamReader(target.dialect);
      const stamps = paced.read(
        await exchangeWhole(connection, toRequest(target, { script: 'paced-5-3', stream: true })),
      );
      paced.expectWhole(3);
      expect(stamps, name).to.have.lengthOf(3);
    } finally {
      connection.destroy();
    }
  }
});
