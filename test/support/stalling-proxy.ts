import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server which a test can hold up or cut. */
export interface StallingProxy {
  readonly port: number;
  /** From now on nothing passes, and nobody is told. */
  stall(): void;
  /** From now on what is sent to the server arrives, and its answers do not. */
  loseAnswers(): void;
  /** Cuts all connections, and refuses new ones. */
  cut(): void;
  /** Lets everything pass again; what was held up is lost, with its connections. */
  mend(): void;
  close(): Promise<void>;
}

/** Listens on a port of its own, in front of this one. */
export async function startStallingProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<StallingProxy> {
  let state: 'open' | 'stalled' | 'answers lost' | 'cut' = 'open';
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (state === 'cut') return near.destroy();
    const far = connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => {
        if (state === 'open' || (state === 'answers lost' && from === near)) to.write(bytes);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    stall() {
      state = 'stalled';
    },
    loseAnswers() {
      state = 'answers lost';
    },
    cut() {
      state = 'cut';
      drop();
    },
    mend() {
      drop();
      state = 'open';
    },
    async close() {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
}
