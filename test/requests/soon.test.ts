import { expect } from 'chai';
import { soon, takesLonger } from '../../src/requests/soon.ts';
import { standStill, useHeldTime } from '../support/held-time.ts';

describe('something that is done soon', () => {
  const pass = useHeldTime();
  let done = 0;
  const act = (): void => void (done += 1);

  beforeEach(() => {
    done = 0;
  });

  it('is done after its time, and once', async () => {
    const waiting = soon(5, act);
    await pass(4);
    expect(done).to.equal(0);
    await pass(1);
    expect(done).to.equal(1);
    waiting.now();
    expect(waiting.cancel()).to.equal(false);
    expect(done).to.equal(1);
  });

  it('is done at once where that is asked for', async () => {
    soon(5, act).now();
    expect(done).to.equal(1);
    await pass(10);
    expect(done).to.equal(1);
  });

  it('is not done where it is cancelled', async () => {
    expect(soon(5, act).cancel()).to.equal(true);
    await pass(10);
    expect(done).to.equal(0);
  });

  it('comes after what arrived while the process was busy', async () => {
    const waiting = soon(5, act);
    setTimeout(() => waiting.cancel(), 6);
    await standStill(10);
    expect(done).to.equal(0);
  });
});

describe('how long a promise takes', () => {
  const pass = useHeldTime();

  it('is told by what comes first', async () => {
    expect(await takesLonger(Promise.resolve(), 5)).to.equal(false);
    const open = Promise.withResolvers<void>();
    const told = takesLonger(open.promise, 5);
    await pass(5);
    expect(await told).to.equal(true);
    open.resolve();
  });

  it('is not told of a promise that fails', async () => {
    const failed = await takesLonger(Promise.reject(new RangeError('no')), 5).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(RangeError);
    await pass(10);
  });
});
