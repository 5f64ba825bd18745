import { expect } from 'chai';
import { watchForStuck } from '../../../src/process/workers/watchdog.ts';
import { standStill, useHeldTime } from '../../support/held-time.ts';

describe('the watch over a process', () => {
  const passTime = useHeldTime();
  let stop: () => void;
  let stuck: number;

  beforeEach(() => {
    stuck = 0;
  });
  afterEach(() => stop());

  function watch(ping: () => Promise<unknown>): void {
    stop = watchForStuck(ping, () => (stuck += 1), { everyMs: 5, withinMs: 20 });
  }

  it('calls out, once, when it does not answer', async () => {
    watch(() => new Promise(() => undefined));
    // It is asked after the first 5 ms.
    await passTime(24);
    expect(stuck).to.equal(0);
    await passTime(1);
    expect(stuck).to.equal(1);
    await passTime(100);
    expect(stuck).to.equal(1);
  });

  it('does not count the time in which this process stood still', async () => {
    watch(() => new Promise(() => undefined));
    await passTime(5);
    await standStill(1000);
    expect(stuck).to.equal(0);
  });

  it('goes on asking while it answers', async () => {
    let asked = 0;
    watch(async () => {
      asked += 1;
    });
    await passTime(100);
    expect(asked).to.equal(20);
    expect(stuck).to.equal(0);
  });

  it('leaves it to others to see that it has ended', async () => {
    let asked = 0;
    watch(() => {
      asked += 1;
      return Promise.reject(new Error('gone'));
    });
    await passTime(100);
    expect(asked).to.equal(20);
    expect(stuck).to.equal(0);
  });

  it('asks no more when it is stopped', async () => {
    let asked = 0;
    watch(async () => {
      asked += 1;
    });
    await passTime(5);
    stop();
    await passTime(50);
    expect(asked).to.equal(1);
  });
});
