import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { untilSteady } from './time.ts';

const PIECE = Buffer.alloc(64 * 1024);

let measured: Promise<number> | undefined;

/**
 * Resolves with how many bytes this kernel takes for a peer on 127.0.0.1 that never reads. Systems differ by a thousand times: it is
 * some KiB where memory is short, and 64 MiB where connections may be fast.
 */
export function kernelTakes(): Promise<number> {
  measured ??= measure();
  return measured;
}

async function measure(): Promise<number> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const writer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [reader] = (await accepted) as [Socket];
  try {
    const taken = (): number => writer.bytesWritten - writer.writableLength;
    const writeOn = (): void => {
      while (!writer.destroyed && writer.write(PIECE));
    };
    writer.on('drain', writeOn);
    writeOn();
    return await untilSteady(taken);
  } finally {
    writer.destroy();
    reader.destroy();
    server.close();
  }
}

/**
 * Returns how many bytes this kernel may hold at most of what goes from one socket to another by TCP. What it does hold depends on how
 * fast the reader was, and on what others hold.
 */
export function kernelMayTake(): number {
  try {
    const limits = ['tcp_rmem', 'tcp_wmem'].map(
      (name) => readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8').split('\t')[2],
    );
    return limits.reduce((sum, limit) => sum + Number(limit), 0);
  } catch {
    return 64 * 1024 * 1024;
  }
}
