import { MessageChannel } from 'node:worker_threads';
import { expect } from 'chai';
import { openRpc, type Rpc } from '../../src/rpc/rpc.ts';

type Sums = { readonly add: (one: number, other: number) => number; readonly fail: () => never };

describe('an rpc', () => {
  let sums: Rpc<Sums>;
  let sent: unknown[];

  beforeEach(() => {
    sent = [];
    const service = {
      add: async (one: number, other: number) => one + other,
      fail: () => {
        throw new RangeError('on purpose');
      },
    };
    const there = openRpc<Sums>((message) => sums.receive(structuredClone(message)), service);
    sums = openRpc<Sums>((message) => {
      sent.push(message);
      there.receive(structuredClone(message));
    }, {});
  });

  it('matches each answer to its question', async () => {
    const answers = await Promise.all([sums.ask('add', 1, 2), sums.ask('add', 3, 4)]);
    expect(answers).to.deep.equal([3, 7]);
  });

  it('moves memory in place of copying it', async () => {
    const { port1, port2 } = new MessageChannel();
    const there = openRpc((message) => port2.postMessage(message), { size: (bytes: Uint8Array) => bytes.length });
    const here = openRpc<{ size: (bytes: Uint8Array) => number }>((message, moved = []) => {
      port1.postMessage(message, [...moved]);
    }, {});
    port1.on('message', here.receive);
    port2.on('message', there.receive);
    const bytes = new Uint8Array(7);
    const asked = here.transferring([bytes.buffer]).ask('size', bytes);
    expect(bytes.length).to.equal(0);
    expect(await asked).to.equal(7);
    port1.close();
  });

  it('throws the message of a failure at the other end', async () => {
    expect(await failureOf(sums.ask('fail'))).to.equal('on purpose');
  });

  it('throws when the other end does not serve what is asked', async () => {
    const other = sums as unknown as Rpc<{ readonly multiply: () => number }>;
    expect(await failureOf(other.ask('multiply'))).to.equal('multiply is not served here');
  });

  it('ignores what others send over the same channel', async () => {
    for (const message of [null, 'text', { cmd: 'NODE_CLUSTER' }, [], ['reply', 1, 2], ['answer', 77, 'late']]) {
      sums.receive(message);
    }
    expect(await sums.ask('add', 1, 1)).to.equal(2);
  });

  it('fails all that is asked of it once it is disconnected', async () => {
    const silent = openRpc<Sums>(() => undefined, {});
    const asked = silent.ask('add', 1, 2);
    expect(silent.isDisconnected).to.equal(false);
    silent.disconnect();
    expect(silent.isDisconnected).to.equal(true);
    expect(await failureOf(asked)).to.equal('the other end is gone');
    expect(await failureOf(silent.ask('add', 1, 2))).to.equal('the other end is gone');
  });

  it('is disconnected when nothing can be sent', async () => {
    const broken = openRpc<Sums>(() => {
      throw new Error('channel closed');
    }, {});
    expect(await failureOf(broken.ask('add', 1, 2))).to.equal('the other end is gone');
  });

  async function failureOf(asked: Promise<unknown>): Promise<string> {
    return asked.then(
      () => 'no failure',
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    );
  }
});
