import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { createBackends, type Backends, type RoutedAskOptions } from '../../src/backend/backends.ts';
import type { ChatBody } from '../../src/core/encoded-chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { BackendSpec } from '../../src/core/routes.ts';
import { onlyBackend } from '../support/only-backend.ts';

interface AskingOptions extends Partial<Omit<RoutedAskOptions<ChatBody>, 'route'>> {
  readonly stream?: boolean;
  readonly names?: readonly string[];
  readonly alike?: readonly string[];
}

describe('createBackends', () => {
  /** Requests that run, by the backend that has them. */
  let running: {
    readonly backend: string;
    readonly timeoutMs: number;
    readonly begin: () => void;
    readonly end: (error?: ApiError) => void;
  }[];
  let sent: string[];
  let closed: string[];
  let asked: string[];
  let nowMs: number;

  beforeEach(() => {
    running = [];
    sent = [];
    closed = [];
    asked = [];
    nowMs = 0;
  });

  function spec(name: string, maxConcurrent: number | null = null) {
    return onlyBackend({ name, isOnly: false, maxConcurrent, baseUrl: `http://${name}/v1` });
  }

  function open(
    specs = [spec('a'), spec('b'), spec('c')],
    failover: 'safe' | 'any' = 'safe',
    keyOwner: 'caller' | 'gateway' = 'gateway',
  ): Backends {
    return createBackends(specs, {
      keyOwner,
      failover,
      queueTimeoutMs: 60_000,
      firstByteTimeoutMs: 600,
      nowMs: () => nowMs,
      onChange: () => undefined,
      open: ({ name }) => ({
        ask: ({ model }, { signal, firstByteTimeoutMs = 0 }, listener) =>
          new Promise((resolve, reject) => {
            sent.push(`${name} ${model}`);
            const end = (error?: ApiError): void => (error === undefined ? resolve() : reject(error));
            const begin = (): void => listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
            running.push({ backend: name, timeoutMs: firstByteTimeoutMs, begin, end });
            signal.addEventListener('abort', () => end(new ApiError('client_disconnected')));
          }),
        relay: () => Promise.reject(new Error('nothing is relayed here')),
        refusals: { any: () => false, forModel: () => [] },
        count: () => Promise.resolve(undefined),
        connections: () => ({ busy: 0, idle: 0 }),
        close: async () => void closed.push(name),
      }),
    });
  }

  function ask(
    backends: Backends,
    { stream = false, names = ['a', 'b', 'c'], alike = names, ...options }: AskingOptions = {},
  ): Promise<string> {
    const listener = { begin: () => undefined, take: () => undefined };
    const asking = {
      signal: new AbortController().signal,
      headers: {},
      route: { backends: names, alike, upstreamDialect: 'generic' },
      caller: 'me',
      note: ({ name }: BackendSpec) => void asked.push(name),
      ...options,
    };
    return backends.ask({ model: 'm', messages: [], stream }, asking, listener).then(
      () => 'answered',
      (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
    );
  }

  const unreachable = () => new ApiError('upstream_unreachable');
  const timeout = () => new ApiError('upstream_timeout');

  async function endNext(error?: ApiError): Promise<void> {
    await turn();
    running.shift()?.end(error);
    await turn();
  }

  it('makes at most three tries', async () => {
    const result = ask(open([spec('a'), spec('b'), spec('c'), spec('d')]), {
      names: ['a', 'b', 'c', 'd'],
    });
    for (let count = 0; count < 3; count += 1) await endNext(unreachable());
    expect(await result).to.equal('upstream_unreachable');
    expect(asked).to.deep.equal(['a', 'b', 'c']);
  });

  it('gives each try its share of the time to the first byte where a time-out may be followed by another try', async () => {
    for (const [failover, shares] of [
      ['any', [200, 250, 400]],
      ['safe', [600]],
    ] as const) {
      nowMs = 0;
      const result = ask(open(undefined, failover));
      const seen: number[] = [];
      await turn();
      for (let tries = 0; tries < 3 && running.length > 0; tries += 1) {
        seen.push(running[0]?.timeoutMs ?? 0);
        nowMs += 100;
        await endNext(timeout());
      }
      expect(seen).to.deep.equal(shares);
      expect(await result).to.equal('upstream_timeout');
    }
  });

  describe('where backends differ in kind', () => {
    const made = ({ name }: BackendSpec): ChatBody => ({ model: `for ${name}`, messages: [] });

    it('makes the request again for another kind, and for the first kind when it comes back', async () => {
      const result = ask(open(), { alike: ['a', 'c'], move: made });
      for (let count = 0; count < 3; count += 1) await endNext(unreachable());
      expect(await result).to.equal('upstream_unreachable');
      expect(sent).to.deep.equal(['a m', 'b for b', 'c for c']);
    });

    it('asks only those that are alike where it cannot be made again', async () => {
      const result = ask(open(), { alike: ['a', 'c'] });
      for (let count = 0; count < 2; count += 1) await endNext(unreachable());
      expect(await result).to.equal('upstream_unreachable');
      expect(sent).to.deep.equal(['a m', 'c m']);
    });

    it('skips one that the request cannot go to, which costs no try and says nothing of it', async () => {
      const backends = open([spec('a'), spec('b'), spec('c'), spec('d')]);
      const result = ask(backends, {
        names: ['a', 'b', 'c', 'd'],
        alike: ['a'],
        move: (backend) => (backend.name === 'b' ? undefined : made(backend)),
      });
      for (let count = 0; count < 3; count += 1) await endNext(unreachable());
      expect(await result).to.equal('upstream_unreachable');
      expect(sent).to.deep.equal(['a m', 'c for c', 'd for d']);
      expect(backends.states()[1]).to.include({ state: 'up', running: 0, answered: 0, failed: 0, cancelled: 0 });
    });

    it('makes the request again where the file names another kind while the request waits', async () => {
      const backends = open([spec('a', 1)]);
      const first = ask(backends);
      const second = ask(backends, { names: ['a'], move: made });
      await turn();
      backends.replace([{ ...spec('a', 1), upstreamDialect: 'ollama' }]);
      await turn();
      expect(sent).to.deep.equal(['a m', 'a for a']);
      for (const { end } of running) end();
      expect(await Promise.all([first, second])).to.deep.equal(['answered', 'answered']);
    });

    it('gives its place back when it leaves while the request is made again', async () => {
      const backends = open();
      const gone = new AbortController();
      const making = Promise.withResolvers<ChatBody>();
      const result = ask(backends, { alike: ['a'], move: () => making.promise, signal: gone.signal });
      await endNext(unreachable());
      expect(backends.states()[1]?.running).to.equal(1);
      gone.abort(new ApiError('client_disconnected'));
      making.resolve({ model: 'm', messages: [] });
      expect(await result).to.equal('client_disconnected');
      expect(backends.states()[1]?.running).to.equal(0);
      expect(sent).to.deep.equal(['a m']);
    });
  });

  it('tells of the try that may have run, whatever a later one says, since it keeps the idempotency key', async () => {
    const result = ask(open(undefined, 'any'));
    await endNext(timeout());
    await endNext(unreachable());
    await endNext(unreachable());
    expect(await result).to.equal('upstream_timeout');
    expect(asked).to.deep.equal(['a', 'b', 'c', 'a']);
  });

  it('gives a backend the time to the first byte that the file says', async () => {
    const backends = open([{ ...spec('a'), timeouts: { firstByteTimeoutMs: 90 } }, spec('b')], 'any');
    const result = ask(backends);
    await turn();
    expect(running[0]?.timeoutMs).to.equal(30);
    nowMs += 30;
    await endNext(timeout());
    expect(running[0]?.timeoutMs).to.equal(285);
    await endNext();
    expect(await result).to.equal('answered');
  });

  for (const [stream, state] of [
    [true, 'resting'],
    [false, 'up'],
  ] as const) {
    it(`lets a backend ${stream ? 'rest whose streams begin slowly three times in a row' : 'take its time for answers in JSON'}`, async () => {
      const backends = open();
      for (let count = 0; count < 3; count += 1) {
        const result = ask(backends, { stream });
        await turn();
        nowMs += 201;
        running[0]?.begin();
        await endNext();
        expect(await result).to.equal('answered');
      }
      expect(asked).to.deep.equal(['a', 'a', 'a']);
      expect(backends.states()[0]?.state).to.equal(state);
    });
  }

  it('hears of no slow start where no other backend has the model, or after a fast one', async () => {
    const backends = open();
    for (const [waitMs, names] of [
      [201, ['a']],
      [201, ['a']],
      [601, ['a']],
      [201, undefined],
      [201, undefined],
      [199, undefined],
      [201, undefined],
    ] as const) {
      const result = ask(backends, { stream: true, ...(names !== undefined && { names }) });
      await turn();
      nowMs += waitMs;
      running[0]?.begin();
      await endNext();
      await result;
    }
    expect(backends.states()[0]?.state).to.equal('up');
  });

  it('tells of the try that may have run, whatever an earlier one says that refused the key of the operator', async () => {
    const result = ask(open([spec('a'), spec('b')], 'any'), { names: ['a', 'b'] });
    await endNext(new ApiError('upstream_error', { headers: { 'x-should-retry': 'false' } }));
    await endNext(timeout());
    expect(await result).to.equal('upstream_timeout');
  });

  it('lets no other caller feel the rate limit of a key of its own', async () => {
    const limited = new ApiError('rate_limit_exceeded');
    for (const [keyOwner, state] of [
      ['caller', 'up'],
      ['gateway', 'resting'],
    ] as const) {
      const backends = open([spec('a')], 'safe', keyOwner);
      const result = ask(backends, { names: ['a'] });
      await endNext(limited);
      expect(await result).to.equal('rate_limit_exceeded');
      expect(backends.states()[0]?.state).to.equal(state);
    }
  });

  it('takes the next backend where one is full, and then waits, with turns for callers', async () => {
    const backends = open([spec('a', 1), spec('b', 1)]);
    const results = [ask(backends), ask(backends)];
    await turn();
    expect(asked).to.deep.equal(['a', 'b']);
    const order: string[] = [];
    for (const caller of ['many', 'many', 'many', 'one']) {
      results.push(ask(backends, { caller, note: () => void order.push(caller) }));
    }
    await turn();
    expect(running.length).to.equal(2);
    for (let count = 0; count < 6; count += 1) await endNext();
    expect(order).to.deep.equal(['many', 'one', 'many', 'many']);
    expect(new Set(await Promise.all(results))).to.deep.equal(new Set(['answered']));
    expect(backends.states().map(({ running: left }) => left)).to.deep.equal([0, 0]);
  });

  it('forgets a request that leaves the queue', async () => {
    const backends = open([spec('a', 1)]);
    const first = ask(backends);
    const gone = new AbortController();
    const second = ask(backends, { signal: gone.signal });
    await turn();
    gone.abort(new ApiError('client_disconnected'));
    expect(await second).to.equal('client_disconnected');
    await endNext();
    expect(await first).to.equal('answered');
    expect(running.length).to.equal(0);
  });

  it('lets requests end at a backend that is no longer in the list, and closes it then', async () => {
    const backends = open([spec('a'), spec('b')]);
    const result = ask(backends);
    await turn();
    backends.replace([spec('b')]);
    expect(closed).to.deep.equal([]);
    expect(backends.states().map(({ spec: { name }, state }) => `${name} ${state}`)).to.deep.equal([
      'b up',
      'a draining',
    ]);
    await endNext();
    expect(await result).to.equal('answered');
    expect(closed).to.deep.equal(['a']);
    expect(await Promise.race([ask(backends), turn()])).to.equal(undefined);
    expect(asked).to.deep.equal(['a', 'b']);
    await endNext();
  });

  it('lets requests that wait go to a backend that came meanwhile, and no more to one that is drained', async () => {
    const backends = open([spec('a', 1)]);
    const [first, second] = [ask(backends), ask(backends)];
    await turn();
    backends.replace([spec('b', 1)]);
    await turn();
    expect(running.map(({ backend }) => backend)).to.deep.equal(['a', 'b']);
    await endNext();
    await endNext();
    expect(await Promise.all([first, second])).to.deep.equal(['answered', 'answered']);
    expect(asked).to.deep.equal(['a', 'b']);
  });

  it('remembers what it has learnt of a backend whose place in the list has changed', async () => {
    const backends = open([spec('a'), spec('b')]);
    const result = ask(backends);
    await endNext(unreachable());
    await endNext();
    expect(await result).to.equal('answered');
    backends.replace([spec('b'), spec('a', 5)]);
    expect(backends.states().map(({ spec: { name }, state }) => `${name} ${state}`)).to.deep.equal([
      'b up',
      'a resting',
    ]);
  });
});
