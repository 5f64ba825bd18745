import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import type { ChatBody } from '../../src/core/encoded-chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { BackendSpec } from '../../src/core/routes.ts';
import { createScene, specOf, type BackendsScene } from './backends-scene.ts';

describe('createFailover', () => {
  let scene: BackendsScene;

  beforeEach(() => {
    scene = createScene();
  });

  const unreachable = () => new ApiError('upstream_unreachable');
  const timeout = () => new ApiError('upstream_timeout');

  it('makes at most three tries', async () => {
    const result = scene.ask(scene.open([specOf('a'), specOf('b'), specOf('c'), specOf('d')]), {
      names: ['a', 'b', 'c', 'd'],
    });
    for (let count = 0; count < 3; count += 1) await scene.endNext(unreachable());
    expect(await result).to.equal('upstream_unreachable');
    expect(scene.asked).to.deep.equal(['a', 'b', 'c']);
  });

  it('blames no backend for a connection that the gateway itself could not open, and asks no other', async () => {
    const backends = scene.open();
    const result = scene.ask(backends);
    await scene.endNext(new ApiError('server_overloaded'));
    expect(await result).to.equal('server_overloaded');
    expect(scene.asked).to.deep.equal(['a']);
    expect(backends.states()[0]).to.include({ state: 'up', running: 0, answered: 0, failed: 0, cancelled: 0 });
  });

  it('gives each try its share of the time to the first byte where a time-out may be followed by another try', async () => {
    for (const [failover, shares] of [
      ['any', [200, 250, 400]],
      ['safe', [600]],
    ] as const) {
      scene.nowMs = 0;
      const result = scene.ask(scene.open(undefined, { failover }));
      const seen: number[] = [];
      await turn();
      for (let tries = 0; tries < 3 && scene.running.length > 0; tries += 1) {
        seen.push(scene.running[0]?.timeoutMs ?? 0);
        scene.nowMs += 100;
        await scene.endNext(timeout());
      }
      expect(seen).to.deep.equal(shares);
      expect(await result).to.equal('upstream_timeout');
    }
  });

  describe('where backends differ in kind', () => {
    const made = ({ name }: BackendSpec): ChatBody => ({ model: `for ${name}`, messages: [] });

    it('makes the request again for another kind, and for the first kind when it comes back', async () => {
      const result = scene.ask(scene.open(), { alike: ['a', 'c'], reroute: made });
      for (let count = 0; count < 3; count += 1) await scene.endNext(unreachable());
      expect(await result).to.equal('upstream_unreachable');
      expect(scene.sent).to.deep.equal(['a m', 'b for b', 'c for c']);
    });

    it('asks only those that are alike where it cannot be made again', async () => {
      const result = scene.ask(scene.open(), { alike: ['a', 'c'] });
      for (let count = 0; count < 2; count += 1) await scene.endNext(unreachable());
      expect(await result).to.equal('upstream_unreachable');
      expect(scene.sent).to.deep.equal(['a m', 'c m']);
    });

    it('skips one that the request cannot go to, which costs no try and says nothing of it', async () => {
      const backends = scene.open([specOf('a'), specOf('b'), specOf('c'), specOf('d')]);
      const result = scene.ask(backends, {
        names: ['a', 'b', 'c', 'd'],
        alike: ['a'],
        reroute: (backend) => (backend.name === 'b' ? undefined : made(backend)),
      });
      for (let count = 0; count < 3; count += 1) await scene.endNext(unreachable());
      expect(await result).to.equal('upstream_unreachable');
      expect(scene.sent).to.deep.equal(['a m', 'c for c', 'd for d']);
      expect(backends.states()[1]).to.include({ state: 'up', running: 0, answered: 0, failed: 0, cancelled: 0 });
    });

    it('makes the request again where the file names another kind while the request waits', async () => {
      const backends = scene.open([specOf('a', 1)]);
      const first = scene.ask(backends);
      const second = scene.ask(backends, { names: ['a'], reroute: made });
      await turn();
      backends.replace([{ ...specOf('a', 1), upstreamDialect: 'ollama' }]);
      await turn();
      expect(scene.sent).to.deep.equal(['a m', 'a for a']);
      for (const { end } of scene.running) end();
      expect(await Promise.all([first, second])).to.deep.equal(['answered', 'answered']);
    });

    it('gives its place back when it leaves while the request is made again', async () => {
      const backends = scene.open();
      const gone = new AbortController();
      const making = Promise.withResolvers<ChatBody>();
      const result = scene.ask(backends, { alike: ['a'], reroute: () => making.promise, signal: gone.signal });
      await scene.endNext(unreachable());
      expect(backends.states()[1]?.running).to.equal(1);
      gone.abort(new ApiError('client_disconnected'));
      making.resolve({ model: 'm', messages: [] });
      expect(await result).to.equal('client_disconnected');
      expect(backends.states()[1]?.running).to.equal(0);
      expect(scene.sent).to.deep.equal(['a m']);
    });
  });

  it('tells of the try that may have run, whatever a later one says, since it keeps the idempotency key', async () => {
    const result = scene.ask(scene.open(undefined, { failover: 'any' }));
    await scene.endNext(timeout());
    await scene.endNext(unreachable());
    await scene.endNext(unreachable());
    expect(await result).to.equal('upstream_timeout');
    expect(scene.asked).to.deep.equal(['a', 'b', 'c', 'a']);
  });

  it('tells of the try that may have run where the request cannot be made again for another kind', async () => {
    const reroute = () => Promise.reject(new ApiError('server_overloaded'));
    const result = scene.ask(scene.open(undefined, { failover: 'any' }), { alike: ['a'], reroute });
    await scene.endNext(timeout());
    expect(await result).to.equal('upstream_timeout');
  });

  it('gives a backend the time to the first byte that the file says', async () => {
    const backends = scene.open([{ ...specOf('a'), timeouts: { firstByteTimeoutMs: 90 } }, specOf('b')], {
      failover: 'any',
    });
    const result = scene.ask(backends);
    await turn();
    expect(scene.running[0]?.timeoutMs).to.equal(30);
    scene.nowMs += 30;
    await scene.endNext(timeout());
    expect(scene.running[0]?.timeoutMs).to.equal(285);
    await scene.endNext();
    expect(await result).to.equal('answered');
  });

  for (const [stream, state] of [
    [true, 'resting'],
    [false, 'up'],
  ] as const) {
    it(`lets a backend ${stream ? 'rest whose streams begin slowly three times in a row' : 'take its time for answers in JSON'}`, async () => {
      const backends = scene.open();
      for (let count = 0; count < 3; count += 1) {
        const result = scene.ask(backends, { stream });
        await turn();
        scene.nowMs += 201;
        scene.running[0]?.begin();
        await scene.endNext();
        expect(await result).to.equal('answered');
      }
      expect(scene.asked).to.deep.equal(['a', 'a', 'a']);
      expect(backends.states()[0]?.state).to.equal(state);
    });
  }

  it('hears of no slow start where no other backend has the model, or after a fast one', async () => {
    const backends = scene.open();
    for (const [waitMs, names] of [
      [201, ['a']],
      [201, ['a']],
      [601, ['a']],
      [201, undefined],
      [201, undefined],
      [199, undefined],
      [201, undefined],
    ] as const) {
      const result = scene.ask(backends, { stream: true, ...(names !== undefined && { names }) });
      await turn();
      scene.nowMs += waitMs;
      scene.running[0]?.begin();
      await scene.endNext();
      await result;
    }
    expect(backends.states()[0]?.state).to.equal('up');
  });

  it('tells of the try that may have run, whatever an earlier one says that refused the key of the operator', async () => {
    const result = scene.ask(scene.open([specOf('a'), specOf('b')], { failover: 'any' }), { names: ['a', 'b'] });
    await scene.endNext(new ApiError('upstream_error', { headers: { 'x-should-retry': 'false' } }));
    await scene.endNext(timeout());
    expect(await result).to.equal('upstream_timeout');
  });
});
