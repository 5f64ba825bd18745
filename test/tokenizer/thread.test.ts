import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import type { ThreadOptions } from '../../src/rpc/resting-thread.ts';
import { createThread, type TokenizerThread } from '../../src/tokenizer/thread.ts';
import { useHeldTime } from '../support/held-time.ts';

/** A worker that answers when the test says so. */
class ScriptedWorker extends EventEmitter {
  readonly asked: unknown[] = [];
  readonly terminated: Promise<void>;
  isUnref = false;
  lastId = 0;
  readonly #terminated = Promise.withResolvers<void>();

  constructor() {
    super();
    this.terminated = this.#terminated.promise;
  }

  postMessage([, id, , parameters]: readonly [kind: string, id: number, name: string, parameters: unknown]): void {
    this.lastId = id;
    this.asked.push(parameters);
  }

  answer(tokens: number): void {
    this.emit('message', ['answer', this.lastId, tokens]);
  }

  unref(): void {
    this.isUnref = true;
  }

  async terminate(): Promise<number> {
    this.#terminated.resolve();
    this.emit('exit', 1);
    return 1;
  }
}

describe('the thread of the tokenizer', () => {
  let thread: TokenizerThread;
  let workers: ScriptedWorker[];
  let deaths: string[];

  beforeEach(() => open());
  afterEach(() => thread.close());

  function open(options: Partial<ThreadOptions> = {}): void {
    workers = [];
    deaths = [];
    thread = createThread({
      onDeath: (message) => void deaths.push(message),
      startWorker() {
        const worker = new ScriptedWorker();
        workers.push(worker);
        return worker as unknown as Worker;
      },
      ...options,
    });
  }

  it('is started for the first count, and keeps no process from its end', async () => {
    expect(workers).to.have.length(0);
    const counted = thread.count('o200k_base', ['Hello']);
    expect(workers[0]?.isUnref).to.equal(true);
    expect(workers[0]?.asked).to.deep.equal([['o200k_base', ['Hello']]]);
    workers[0]?.answer(7);
    expect(await counted).to.equal(7);
  });

  it('is the same for the next one', async () => {
    for (const tokens of [7, 8]) {
      const counted = thread.count('o200k_base', ['Hello']);
      workers[0]?.answer(tokens);
      expect(await counted).to.equal(tokens);
    }
    expect(workers).to.have.length(1);
  });

  it('is another one after its death, of which the cause is told', async () => {
    const counted = thread.count('o200k_base', ['Hello']);
    workers[0]?.emit('error', new Error('no vocabulary'));
    workers[0]?.emit('exit', 1);
    expect(await counted).to.equal(undefined);
    expect(deaths).to.deep.equal(['no vocabulary']);
    void thread.count('o200k_base', ['Hello']);
    expect(workers).to.have.length(2);
  });

  it('is another one after a count that failed in it', async () => {
    const counted = thread.count('o200k_base', ['Hello']);
    workers[0]?.emit('message', ['failure', 1, 'no vocabulary']);
    expect(await counted).to.equal(undefined);
    await workers[0]?.terminated;
    expect(deaths).to.deep.equal(['no vocabulary']);
    void thread.count('o200k_base', ['Hello']);
    expect(workers).to.have.length(2);
  });

  describe('with nothing to do, or nothing to say', () => {
    const REST_AFTER_MS = 1000;
    const passTime = useHeldTime();

    beforeEach(() => open({ restAfterMs: REST_AFTER_MS }));

    it('ends after a while, which is no death', async () => {
      const counted = thread.count('o200k_base', ['Hello']);
      workers[0]?.answer(7);
      await counted;
      await passTime(REST_AFTER_MS);
      await workers[0]?.terminated;
      void thread.count('o200k_base', ['Hello']);
      expect([workers.length, deaths.length]).to.deep.equal([2, 0]);
    });

    it('is not ended by what was left to the one before it, as long as there is something to do', async () => {
      const first = thread.count('o200k_base', ['Hello']);
      workers[0]?.emit('exit', 1);
      await first;
      for (let passedMs = 0; passedMs < 2 * REST_AFTER_MS; passedMs += REST_AFTER_MS / 2) {
        const counted = thread.count('o200k_base', ['Hello']);
        workers.at(-1)?.answer(7);
        await counted;
        await passTime(REST_AFTER_MS / 2);
      }
      expect(workers).to.have.length(2);
    });

    it('ends when it has not answered for a while', async () => {
      const counted = thread.count('o200k_base', ['Hello']);
      await passTime(REST_AFTER_MS);
      expect(await counted).to.equal(undefined);
      await workers[0]?.terminated;
    });

    it('is not heard any more when it was given up', async () => {
      void thread.count('o200k_base', ['Hello']);
      await passTime(REST_AFTER_MS);
      const counted = thread.count('o200k_base', ['Hello again']);
      workers[0]?.answer(7);
      workers[1]?.answer(8);
      expect(await counted).to.equal(8);
    });
  });

  it('ends with the gateway, and so does what it was asked', async () => {
    const counted = thread.count('o200k_base', ['Hello']);
    await thread.close();
    await workers[0]?.terminated;
    expect(await counted).to.equal(undefined);
    expect(deaths).to.deep.equal([]);
  });
});
