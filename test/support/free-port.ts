import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Systems give ports from 32768 on to whoever asks for any, connections too. */
const PORTS = { from: 20_000, below: 32_000 };

/**
 * A port of 127.0.0.1 that was free a moment ago, for a program that cannot be told to take any, or that ends and comes
 * back. Nobody gets it by chance.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.below);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
