import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createScene, specOf, type AskedBackends, type BackendsScene } from './backends-scene.ts';

describe('createBackends', () => {
  let scene: BackendsScene;

  /** Ends the tries of one request by these errors, and further ones well. */
  async function askAndEnd(
    backends: AskedBackends,
    options: Parameters<BackendsScene['ask']>[1] = {},
    ...errors: readonly ApiError[]
  ): Promise<string> {
    const result = scene.ask(backends, { names: ['a', 'b'], ...options });
    for (const error of [...errors, undefined]) await scene.endNext(error);
    return result;
  }

  beforeEach(() => {
    scene = createScene();
  });

  it('lets no other caller feel the rate limit of a key of its own', async () => {
    for (const [keyOwner, asked] of [
      ['caller', 'a'],
      ['gateway', 'b'],
    ] as const) {
      const backends = scene.open([specOf('a'), specOf('b')], { keyOwner });
      await askAndEnd(backends, { names: ['a'], caller: 'limited' }, limited());
      expect(await askAndEnd(backends)).to.equal('answered');
      expect(scene.asked.at(-1)).to.equal(asked);
    }
  });

  it('leaves a model alone that is limited, and not the others of that backend', async () => {
    const backends = scene.open([specOf('a'), specOf('b')]);
    expect(await askAndEnd(backends, { model: 'small' }, limited(), limited())).to.equal('rate_limit_exceeded');
    for (let count = 0; count < 40; count += 1) expect(await askAndEnd(backends)).to.equal('answered');
    expect(scene.asked.slice(2)).to.deep.equal(Array<string>(40).fill('a'));
    expect(backends.states().map(({ state }) => state)).to.deep.equal(['up', 'up']);
  });

  it('tries a model again that all limit, and says when it may be asked', async () => {
    const backends = scene.open([specOf('a'), specOf('b')]);
    await askAndEnd(backends, {}, limited('3600'), limited('20'));
    const told = askAndEnd(backends, {}, limited('20'));
    expect(await told).to.equal('no_backend_available');
    expect(await askAndEnd(backends)).to.equal('answered');
    expect(scene.asked).to.deep.equal(['a', 'b', 'b', 'b']);
  });

  it('sends a request to one that can be reached where all rest', async () => {
    const backends = scene.open([specOf('a'), specOf('b')]);
    await askAndEnd(backends, { names: ['b'] }, limited('60'));
    await askAndEnd(backends, { names: ['a'] }, new ApiError('upstream_unreachable'));
    expect(await askAndEnd(backends)).to.equal('answered');
    expect(scene.asked.at(-1)).to.equal('b');
  });

  it('lets requests wait where all rest and are full', async () => {
    const backends = scene.open([specOf('a', 1)]);
    const limit = scene.ask(backends, { names: ['a'], caller: 'many' });
    const waiting = scene.ask(backends, { names: ['a'] });
    await scene.endNext(limited('60'));
    const later = scene.ask(backends, { names: ['a'] });
    for (let count = 0; count < 2; count += 1) await scene.endNext();
    expect(await Promise.all([limit, waiting, later])).to.deep.equal(['rate_limit_exceeded', 'answered', 'answered']);
  });

  for (const failover of ['safe', 'any'] as const) {
    it(`lets no caller stop the others by requests that fail, with failover ${failover}`, async () => {
      const backends = scene.open([specOf('a'), specOf('b')], { failover });
      for (let count = 0; count < 10; count += 1) {
        for (const name of ['a', 'b']) {
          const names = failover === 'safe' ? [name] : ['a', 'b'];
          await askAndEnd(backends, { names, caller: 'poor' }, broken(), broken());
        }
      }
      const results: string[] = [];
      for (let count = 0; count < 40; count += 1) results.push(await askAndEnd(backends, { caller: 'other' }));
      expect(results).to.deep.equal(Array<string>(40).fill('answered'));
    });
  }

  it('gives one place at a time to a caller whose requests keep failing, until one is answered', async () => {
    const backends = scene.open([specOf('a', 10)]);
    const many = Array.from({ length: 6 }, () => scene.ask(backends, { names: ['a'], caller: 'poor' }));
    for (const _ of many) await scene.endNext(broken());
    await Promise.all(many);
    scene.nowMs += 1000;
    scene.asked.length = 0;
    const later = ['poor', 'poor', 'poor', 'other', 'other'].map((caller) =>
      scene.ask(backends, { names: ['a'], caller }),
    );
    await turn();
    expect(scene.asked).to.have.lengthOf(3);
    scene.running[0]?.begin();
    await turn();
    expect(scene.asked).to.have.lengthOf(5);
    for (const _ of later) await scene.endNext();
    expect(await Promise.all(later)).to.deep.equal(later.map(() => 'answered'));
  });

  it('takes the next backend where one is full, and then waits, with turns for callers', async () => {
    const backends = scene.open([specOf('a', 1), specOf('b', 1)]);
    const results = [scene.ask(backends), scene.ask(backends)];
    await turn();
    expect(scene.asked).to.deep.equal(['a', 'b']);
    const order: string[] = [];
    for (const caller of ['many', 'many', 'many', 'one']) {
      results.push(scene.ask(backends, { caller, note: () => void order.push(caller) }));
    }
    await turn();
    expect(scene.running.length).to.equal(2);
    for (let count = 0; count < 6; count += 1) await scene.endNext();
    expect(order).to.deep.equal(['many', 'one', 'many', 'many']);
    expect(new Set(await Promise.all(results))).to.deep.equal(new Set(['answered']));
    expect(backends.states().map(({ running: left }) => left)).to.deep.equal([0, 0]);
  });

  it('keeps places for others where these have asked lately, and else gives all of them to one caller', async () => {
    const specs = [specOf('a', 8), specOf('b', 8)];
    const alone = scene.open(specs);
    for (let count = 0; count < 17; count += 1) void scene.ask(alone, { names: ['a', 'b'], caller: 'many' });
    expect(alone.states().map(({ running }) => running)).to.deep.equal([8, 8]);

    await turn();
    scene.running.splice(0);
    const shared = scene.open(specs);
    await askAndEnd(shared, { caller: 'one' });
    for (let count = 0; count < 17; count += 1) void scene.ask(shared, { names: ['a', 'b'], caller: 'many' });
    expect(shared.states().map(({ running }) => running)).to.deep.equal([6, 6]);
    await turn();
    const taken = scene.running.splice(0);
    const results: string[] = [];
    for (let count = 0; count < 10; count += 1) results.push(await askAndEnd(shared, { caller: 'one' }));
    expect(results).to.deep.equal(Array<string>(10).fill('answered'));
    expect(taken.length).to.equal(12);
  });

  it('gives all places to many callers of whom each has few', async () => {
    const backends = scene.open([specOf('a', 16)]);
    for (let count = 0; count < 16; count += 1)
      void scene.ask(backends, { names: ['a'], caller: `caller ${count % 12}` });
    expect(backends.states().map(({ running, waiting }) => [running, waiting])).to.deep.equal([[16, 0]]);
  });

  it('gives a free place to who has the fewest', async () => {
    const backends = scene.open([specOf('a', 3)]);
    const order: string[] = [];
    const ask = (caller: string) => scene.ask(backends, { names: ['a'], caller, note: () => void order.push(caller) });
    const results = ['many', 'many', 'one', 'many', 'one', 'none'].map(ask);
    await turn();
    for (let count = 0; count < 6; count += 1) await scene.endNext();
    expect(order.slice(0, 3)).to.deep.equal(['many', 'many', 'one']);
    expect(order[3]).to.equal('none');
    expect(new Set(await Promise.all(results))).to.deep.equal(new Set(['answered']));
  });

  it('asks nobody for a request whose caller left while its record was written', async () => {
    const backends = scene.open();
    const signal = AbortSignal.abort(new ApiError('client_disconnected'));
    expect(await scene.ask(backends, { signal })).to.equal('client_disconnected');
    expect([scene.asked, scene.sent]).to.deep.equal([[], []]);
    expect(backends.states().map(({ cancelled }) => cancelled)).to.deep.equal([0, 0, 0]);
  });

  it('forgets a request that leaves the queue', async () => {
    const backends = scene.open([specOf('a', 1)]);
    const first = scene.ask(backends);
    const gone = new AbortController();
    const second = scene.ask(backends, { signal: gone.signal });
    await turn();
    gone.abort(new ApiError('client_disconnected'));
    expect(await second).to.equal('client_disconnected');
    await scene.endNext();
    expect(await first).to.equal('answered');
    expect(scene.running.length).to.equal(0);
  });

  it('lets requests end at a backend that is no longer in the list, and closes it then', async () => {
    const backends = scene.open([specOf('a'), specOf('b')]);
    const result = scene.ask(backends);
    await turn();
    backends.replace([specOf('b')]);
    expect(scene.closed).to.deep.equal([]);
    expect(backends.states().map(({ spec: { name }, state }) => `${name} ${state}`)).to.deep.equal([
      'b up',
      'a draining',
    ]);
    await scene.endNext();
    expect(await result).to.equal('answered');
    expect(scene.closed).to.deep.equal(['a']);
    expect(await Promise.race([scene.ask(backends), turn()])).to.equal(undefined);
    expect(scene.asked).to.deep.equal(['a', 'b']);
    await scene.endNext();
  });

  it('lets requests that wait go to a backend that came meanwhile, and no more to one that is drained', async () => {
    const backends = scene.open([specOf('a', 1)]);
    const [first, second] = [scene.ask(backends), scene.ask(backends)];
    await turn();
    backends.replace([specOf('b', 1)]);
    await turn();
    expect(scene.running.map(({ backend }) => backend)).to.deep.equal(['a', 'b']);
    await scene.endNext();
    await scene.endNext();
    expect(await Promise.all([first, second])).to.deep.equal(['answered', 'answered']);
    expect(scene.asked).to.deep.equal(['a', 'b']);
  });

  it('remembers what it has learnt of a backend whose place in the list has changed', async () => {
    const backends = scene.open([specOf('a'), specOf('b')]);
    const result = scene.ask(backends);
    await scene.endNext(new ApiError('upstream_unreachable'));
    await scene.endNext();
    expect(await result).to.equal('answered');
    backends.replace([specOf('b'), specOf('a', 5)]);
    expect(backends.states().map(({ spec: { name }, state }) => `${name} ${state}`)).to.deep.equal([
      'b up',
      'a resting',
    ]);
  });
});

function limited(retryAfter?: string): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } },
  );
}

function broken(): ApiError {
  return new ApiError('upstream_error', { status: 500 });
}
