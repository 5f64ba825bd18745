import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { unacknowledgedBytes, unwrittenBytes } from '../../src/wire/acknowledged.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

describe('what the peer of a connection has not taken', () => {
  useRealSockets();

  let server: Server;
  let writer: Socket;
  let reader: Socket;

  for (const host of ['127.0.0.1', '::']) {
    it(`is what the kernel holds of what was written, of a server at ${host}`, async function () {
      if (!existsSync('/proc/net/tcp')) this.skip();
      await open(host);
      expect(unacknowledgedBytes(writer, 0)).to.equal(0);
      const piece = Buffer.alloc(64 * 1024);
      let held = 0;
      // The reader's kernel may take and acknowledge the first ones at any moment.
      await until(() => {
        writer.write(piece);
        held = unacknowledgedBytes(writer, 0);
        return held > 0;
      });
      expect(held).to.be.at.most(writer.bytesWritten);
      expect(unacknowledgedBytes(writer, 60_000)).to.equal(held);
      reader.resume();
      await until(() => writer.writableLength === 0 && unacknowledgedBytes(writer, 0) === 0);
    });
  }

  it('is 0 where the system does not say', () => {
    expect(unacknowledgedBytes({ localPort: 1, remotePort: 1 } as Socket, 0)).to.equal(0);
    expect(unwrittenBytes({} as Socket)).to.equal(0);
  });

  it('falls while a write goes on that is larger than the kernel takes', async () => {
    await open('127.0.0.1');
    const large = Buffer.alloc(128 * 1024 * 1024);
    writer.write(large);
    const atFirst = unwrittenBytes(writer);
    expect(atFirst).to.be.above(0);
    const fell = Promise.withResolvers<void>();
    reader.on('data', () => {
      if (writer.writableLength === large.length && unwrittenBytes(writer) < atFirst) fell.resolve();
    });
    reader.resume();
    await fell.promise;
  });

  async function open(host: string): Promise<void> {
    server = createServer().listen(0, host);
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    [writer] = (await accepted) as [Socket];
  }

  afterEach(() => {
    reader?.destroy();
    writer?.destroy();
    server?.close();
  });
});
