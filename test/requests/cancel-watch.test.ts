import { expect } from 'chai';
import { watchCancels } from '../../src/requests/cancel-watch.ts';
import { createRunningRequests } from '../../src/requests/running.ts';
import type { RequestId } from '../../src/contract/ids.ts';
import { newRequestId } from '../support/records.ts';
import { allArrived } from '../support/time.ts';
import { useHeldTime } from '../support/held-time.ts';

describe('watchCancels', () => {
  const passTime = useHeldTime();
  const EVERY_MS = 5;
  let asked: RequestId[];
  let looks: number;
  let fails: boolean;
  let stop: () => void;
  let heard: () => void;

  beforeEach(() => {
    asked = [];
    looks = 0;
    fails = false;
  });
  afterEach(() => stop());

  function watch(everyMs = EVERY_MS) {
    const running = createRunningRequests();
    const listCancelRequested = () => {
      looks += 1;
      return fails ? Promise.reject(new Error('no store')) : Promise.resolve(asked);
    };
    const hearCancels = (listener: () => void) => {
      heard = listener;
      return () => {
        heard = () => undefined;
      };
    };
    stop = watchCancels({ listCancelRequested, hearCancels }, running, everyMs);
    return running;
  }

  it('ends the request which runs here, and no other', async () => {
    const running = watch();
    const [one, other] = [newRequestId(), newRequestId()];
    const [first, second] = [running.begin(one), running.begin(other)];
    asked = [newRequestId(), one];
    await passTime(EVERY_MS);
    expect(first.signal.aborted).to.equal(true);
    expect(first.signal.reason).to.have.property('code', 'request_cancelled');
    expect(second.signal.aborted).to.equal(false);
  });

  it('looks at once when it hears of one, also when it has just looked', async () => {
    const running = watch(1e6);
    const [first, second] = [newRequestId(), newRequestId()];
    const runs = [running.begin(first), running.begin(second)];
    asked = [first];
    heard();
    asked = [first, second];
    heard();
    await allArrived();
    expect(runs.map(({ signal }) => signal.aborted)).to.deep.equal([true, true]);
    expect(looks).to.equal(2);
    stop();
    heard();
    expect(looks).to.equal(2);
  });

  it('goes on when the store could not be asked', async () => {
    const running = watch();
    const requestId = newRequestId();
    const run = running.begin(requestId);
    fails = true;
    await passTime(EVERY_MS);
    expect(looks).to.be.above(0);
    [fails, asked] = [false, [requestId]];
    await passTime(EVERY_MS);
    expect(run.signal.aborted).to.equal(true);
  });

  it('asks nobody while nothing runs, or when it was stopped', async () => {
    const running = watch();
    await passTime(10 * EVERY_MS);
    expect(looks).to.equal(0);
    running.begin(newRequestId());
    stop();
    await passTime(10 * EVERY_MS);
    expect(looks).to.equal(0);
  });
});
