import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { createStopController } from '../../src/core/stop-signal.ts';
import { awaitWritable, watchStall } from '../../src/access/stalled-client.ts';
import { useHeldTime } from '../support/held-time.ts';

describe('watchStall', () => {
  const passTime = useHeldTime();
  const STALL_MS = 1000;

  for (const { what, takes, stalled } of [
    { what: 'one that takes a single large write by and by', takes: 1, stalled: 0 },
    { what: 'one that takes nothing', takes: 0, stalled: 1 },
  ]) {
    it(`calls back ${stalled === 0 ? 'never' : 'once'} for ${what}`, async () => {
      // The write counts as a whole until its end, and the kernel holds as much of it each time.
      const writing = { writableLength: 100, bytesWritten: 100, localPort: 1, remotePort: 1 };
      const handle = { writeQueueSize: 90 };
      let calls = 0;
      const stop = watchStall(
        () => Object.assign(writing, { _handle: handle }) as unknown as Socket,
        STALL_MS,
        () => {
          calls += 1;
          stop();
        },
      );
      for (let times = 0; times < 10; times += 1) {
        await passTime(STALL_MS / 2);
        handle.writeQueueSize -= takes;
      }
      stop();
      expect(calls).to.equal(stalled);
    });
  }
});

describe('awaitWritable', () => {
  it('waits for the same client once, however much is written meanwhile', async () => {
    const client = new PassThrough();
    const untilWritable = awaitWritable(client, createStopController().signal);

    const waits = Array.from({ length: 20 }, () => untilWritable());
    expect(client.listenerCount('drain')).to.equal(1);
    client.emit('drain');
    await Promise.all(waits);
    expect(client.listenerCount('drain')).to.equal(0);
  });

  it('waits again after that', async () => {
    const client = new PassThrough();
    const untilWritable = awaitWritable(client, createStopController().signal);

    const first = untilWritable();
    client.emit('drain');
    await first;
    const second = untilWritable();
    expect(second).not.to.equal(first);
    client.destroy();
    await second;
  });

  it('does not wait for a request that is over', async () => {
    const over = createStopController();
    over.abort(new Error('over'));
    await awaitWritable(new PassThrough(), over.signal)();
  });
});
