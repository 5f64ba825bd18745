import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createScene, specOf, type BackendsScene } from './backends-scene.ts';

describe('createBackends', () => {
  let scene: BackendsScene;

  beforeEach(() => {
    scene = createScene();
  });

  it('lets no other caller feel the rate limit of a key of its own', async () => {
    const limited = new ApiError('rate_limit_exceeded');
    for (const [keyOwner, state] of [
      ['caller', 'up'],
      ['gateway', 'resting'],
    ] as const) {
      const backends = scene.open([specOf('a')], { keyOwner });
      const result = scene.ask(backends, { names: ['a'] });
      await scene.endNext(limited);
      expect(await result).to.equal('rate_limit_exceeded');
      expect(backends.states()[0]?.state).to.equal(state);
    }
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
