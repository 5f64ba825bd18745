import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { createStopController } from '../../src/core/stop-signal.ts';
import { awaitWritable } from '../../src/access/stalled-client.ts';

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
