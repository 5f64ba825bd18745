import { expect } from 'chai';
import { toRequestId, toUniquePart } from '../../src/core/ids.ts';
import { createRunningRequests, type RunningRequests } from '../../src/requests/running.ts';
import { useHeldTime } from '../support/held-time.ts';

const [FIRST, SECOND] = ['1', '2'].map((digit) => toRequestId(toUniquePart(digit.repeat(32)))) as [never, never];

describe('whenIdle', () => {
  const pass = useHeldTime();

  let running: RunningRequests;
  let isIdle: boolean;

  beforeEach(() => {
    running = createRunningRequests();
    isIdle = false;
  });

  async function wait(withinMs: number): Promise<void> {
    await running.whenIdle(withinMs);
    isIdle = true;
  }

  it('resolves at once when no request runs', async () => {
    void wait(1000);
    await pass(0);
    expect(isIdle).to.equal(true);
  });

  it('resolves when the last request has ended', async () => {
    const runs = [running.begin(FIRST), running.begin(SECOND)];
    void wait(1000);
    runs[0]?.end();
    await pass(999);
    expect(isIdle).to.equal(false);
    runs[1]?.end();
    await pass(0);
    expect(isIdle).to.equal(true);
  });

  it('resolves after the time when a request still runs', async () => {
    running.begin(FIRST);
    void wait(1000);
    await pass(999);
    expect(isIdle).to.equal(false);
    await pass(1);
    expect(isIdle).to.equal(true);
  });
});
