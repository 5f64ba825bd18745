import { expect } from 'chai';
import {
  createSupervisor,
  DiedAtStart,
  type Supervisor,
  type LaunchedWorker,
} from '../../../src/process/workers/supervisor.ts';
import type { Addresses } from '../../../src/config/banner.ts';
import { allArrived } from '../../support/time.ts';
import { useHeldTime } from '../../support/held-time.ts';

/** A worker which does as the test says. */
interface Puppet {
  readonly number: number;
  readonly asked: string[];
  readonly ready: PromiseWithResolvers<Addresses>;
  readonly die: (how: string) => void;
  readonly isKilled: () => boolean;
}

const ADDRESS: Addresses = { url: 'http://127.0.0.1:1' };

describe('a supervisor of workers', () => {
  const passTime = useHeldTime();
  let puppets: Puppet[];
  /** Of the next launches. */
  let failures: Error[];
  let said: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[];
  let supervisor: Supervisor;

  beforeEach(() => {
    puppets = [];
    failures = [];
    said = [];
    const note = (fields: object, message: string): void => void said.push({ fields: { ...fields }, message });
    supervisor = createSupervisor({ count: 2, launch, log: { info: note, warn: note, error: note } as never });
  });

  afterEach(() => supervisor.stop('close', 0));

  function launch(number: number): LaunchedWorker {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const ready = Promise.withResolvers<Addresses>();
    const ended = Promise.withResolvers<string>();
    const asked: string[] = [];
    const rpc = {
      ask: (name: string) => {
        asked.push(name);
        if (name === 'drain' && number === 1) ended.resolve('exit code 0');
        return Promise.resolve();
      },
    };
    let isKilled = false;
    const kill = (): void => {
      isKilled = true;
      ended.resolve('SIGKILL');
    };
    puppets.push({ number, asked, ready, die: ended.resolve, isKilled: () => isKilled });
    return { pid: number, rpc: rpc as never, ready: ready.promise, ended: ended.promise, kill };
  }

  async function start(): Promise<Addresses> {
    const started = supervisor.start();
    for (const { ready } of puppets) ready.resolve(ADDRESS);
    return started;
  }

  it('ends the workers that are left before it says that its start failed', async () => {
    const started = supervisor.start().catch(String);
    puppets[0]?.ready.reject(new Error('the port is taken'));
    expect(await started).to.equal('Error: the port is taken');
    expect(puppets.map(({ isKilled }) => isKilled())).to.deep.equal([true, true]);
  });

  it('starts when all of them listen, and has them', async () => {
    const started = supervisor.start();
    expect(puppets.map(({ number }) => number)).to.deep.equal([1, 2]);
    puppets[0]?.ready.resolve(ADDRESS);
    await Promise.resolve();
    expect(supervisor.serving.map(({ pid }) => pid)).to.deep.equal([1]);
    puppets[1]?.ready.resolve(ADDRESS);
    expect(await started).to.equal(ADDRESS);
    expect(supervisor.serving.map(({ pid }) => pid)).to.deep.equal([1, 2]);
  });

  it('does not start when one of them cannot, and lets the caller say why', async () => {
    const started = supervisor.start();
    puppets[0]?.ready.resolve(ADDRESS);
    puppets[1]?.ready.reject(new Error('the port is taken'));
    const failure = await started.catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error).with.property('message', 'the port is taken');
    await passTime(10_000);
    expect(puppets, 'none is started again').to.have.lengthOf(2);
    expect(said.map(({ message }) => message)).to.deep.equal(['a worker listens']);
  });

  it('starts one again that died before it listened, and waits for it', async () => {
    const started = supervisor.start();
    puppets[0]?.ready.resolve(ADDRESS);
    for (const waitMs of [100, 200, 400, 800]) {
      puppets.at(-1)?.ready.reject(new DiedAtStart('it was killed'));
      await passTime(waitMs);
    }
    expect(puppets.map(({ number }) => number)).to.deep.equal([1, 2, 2, 2, 2, 2]);
    puppets.at(-1)?.ready.resolve(ADDRESS);
    expect(await started).to.equal(ADDRESS);
    expect(supervisor.serving).to.have.lengthOf(2);
    expect(said.filter(({ message }) => message === 'a worker could not be started')).to.have.lengthOf(4);
  });

  it('gives a start up when a worker has died five times before it listened', async () => {
    const failed = supervisor.start().catch((error: unknown) => error);
    puppets[0]?.ready.resolve(ADDRESS);
    for (const waitMs of [100, 200, 400, 800, 10_000]) {
      puppets.at(-1)?.ready.reject(new DiedAtStart('it was killed'));
      await passTime(waitMs);
    }
    expect(await failed).to.have.property('message', 'it was killed');
    expect(puppets, 'none is started again').to.have.lengthOf(6);
  });

  it('starts the number again later for which the system has no process', async () => {
    await start();
    failures = [new Error('spawn ENOMEM')];
    puppets[1]?.die('SIGKILL');
    await passTime(100);
    expect(puppets).to.have.lengthOf(2);
    await passTime(200);
    expect(puppets.map(({ number }) => number)).to.deep.equal([1, 2, 2]);
    const { fields } = said.find(({ message }) => message === 'a worker could not be started') ?? {};
    expect(fields).to.deep.equal({ worker: 2, reason: 'spawn ENOMEM' });
  });

  it('knows those that are being started', async () => {
    const started = supervisor.start();
    expect(supervisor.living.map(({ pid }) => pid)).to.deep.equal([1, 2]);
    expect(supervisor.serving).to.deep.equal([]);
    for (const { ready } of puppets) ready.resolve(ADDRESS);
    await started;
  });

  it('starts the number again which has died, and has it when it listens', async () => {
    await start();
    puppets[1]?.die('exit code 1');
    await passTime(99);
    expect(puppets).to.have.lengthOf(2);
    await passTime(1);
    expect(puppets).to.have.lengthOf(3);
    expect(supervisor.serving.map(({ pid }) => pid)).to.deep.equal([1]);
    expect(said.at(-1)).to.deep.equal({
      fields: { worker: 2, how: 'exit code 1', restartInMs: 100 },
      message: 'a worker ended, and is started again',
    });
    expect(puppets[2]?.number).to.equal(2);
    puppets[2]?.ready.resolve(ADDRESS);
    await allArrived();
    expect(supervisor.serving).to.have.lengthOf(2);
  });

  it('says of a later one why it could not start, and tries again', async () => {
    await start();
    puppets[1]?.die('exit code 1');
    await passTime(100);
    puppets[2]?.ready.reject(new Error('no room'));
    puppets[2]?.die('exit code 1');
    await passTime(200);
    expect(puppets).to.have.lengthOf(4);
    expect(said.find(({ message }) => message === 'a worker could not be started')?.fields).to.deep.equal({
      worker: 2,
      reason: 'no room',
    });
  });

  it('asks those that listen whether they are stuck', async () => {
    await start();
    await passTime(1000);
    expect(puppets.map(({ asked }) => asked)).to.deep.equal([['ping'], ['ping']]);
  });

  it('kills those which have not ended in time when it is sent home, and starts none again', async () => {
    await start();
    const home = supervisor.stop('drain', 20);
    await passTime(20);
    await home;
    expect(puppets.map(({ asked }) => asked)).to.deep.equal([['drain'], ['drain']]);
    expect(said.at(-1)).to.deep.include({ fields: { worker: 2, workerPid: 2 } });
    expect(supervisor.serving).to.deep.equal([]);
    await passTime(10_000);
    expect(puppets).to.have.lengthOf(2);
  });

  it('does not wait to start one again when it is sent home', async () => {
    await start();
    puppets[0]?.die('exit code 1');
    await allArrived();
    expect(said.at(-1)?.fields).to.include({ restartInMs: 100 });
    const home = supervisor.stop('close', 20);
    await passTime(20);
    await home;
    await passTime(10_000);
    expect(puppets).to.have.lengthOf(2);
  });
});
