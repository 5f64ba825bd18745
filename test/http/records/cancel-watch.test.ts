import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { watchCancels } from '../../../src/http/records/cancel-watch.ts';
import { createRunningRequests } from '../../../src/http/records/running.ts';
import type { RequestId } from '../../../src/core/ids.ts';
import { newRequestId } from '../../support/records.ts';
import { until } from '../../support/sqlite.ts';

describe('watchCancels', () => {
  const EVERY_MS = 5;
  let asked: RequestId[];
  let looks: number;
  let fails: boolean;
  let stop: () => void;

  beforeEach(() => {
    asked = [];
    looks = 0;
    fails = false;
  });
  afterEach(() => stop());

  function watch() {
    const running = createRunningRequests();
    const listCancelRequested = () => {
      looks += 1;
      return fails ? Promise.reject(new Error('no store')) : Promise.resolve(asked);
    };
    stop = watchCancels({ listCancelRequested }, running, EVERY_MS);
    return running;
  }

  it('ends the request which runs here, and no other', async () => {
    const running = watch();
    const [one, other] = [newRequestId(), newRequestId()];
    const [first, second] = [running.begin(one), running.begin(other)];
    asked = [newRequestId(), one];
    await until(() => first.signal.aborted);
    expect(first.signal.reason).to.have.property('code', 'request_cancelled');
    expect(second.signal.aborted).to.equal(false);
  });

  it('goes on when the store could not be asked', async () => {
    const running = watch();
    const requestId = newRequestId();
    const run = running.begin(requestId);
    fails = true;
    await until(() => looks > 1);
    [fails, asked] = [false, [requestId]];
    await until(() => run.signal.aborted);
  });

  it('asks nobody while nothing runs, or when it was stopped', async () => {
    const running = watch();
    await delay(10 * EVERY_MS);
    expect(looks).to.equal(0);
    running.begin(newRequestId());
    stop();
    await delay(10 * EVERY_MS);
    expect(looks).to.equal(0);
  });
});
