import { expect } from 'chai';
import { useRealSockets } from '../../support/real-sockets.ts';
import { openConnection } from './connection.ts';
import { createStreamReader, toRequest } from './dialects.ts';
import { GROUPS, toLoads, type GroupName } from './groups.ts';
import { exchangeWhole } from './load.ts';
import { streamLoad } from './loads/streams.ts';
import { BURST_DELTAS, CHUNKS, type ChunkKind } from './scripts.ts';
import { openStage, type Stage } from './stage.ts';
import { HTTP_PROXY, RECORDS, TRANSLATOR } from './targets.ts';

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

describe('the groups of the bench', () => {
  useRealSockets();
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage();
  });
  afterEach(() => stage.close());

  for (const group of Object.keys(GROUPS) as GroupName[]) {
    it(`measure ${group}`, async () => {
      const [load] = toLoads([group], stage, true);
      const name = load?.targets.find((target) => stage.kinds.some((kind) => kind.name === target));
      if (load === undefined || name === undefined) throw new Error(`${group} has nothing to measure`);
      const figures = await load.measure(await stage.start(name));
      expect(figures).to.include.keys(load.columns.slice(0, 1).map(({ figure }) => figure));
    });
  }

  it('count the deltas of all kinds of chunks', async () => {
    for (const name of [HTTP_PROXY, TRANSLATOR, RECORDS]) {
      const target = await stage.start(name);
      for (const kind of Object.keys(CHUNKS) as ChunkKind[]) {
        const figures = await streamLoad(1, { warmUpMs: 0, countedMs: 1 }, kind).measure(target);
        expect(figures['chunks/s'], `${name}: ${kind}`).to.be.above(0);
      }
    }
  });
});
