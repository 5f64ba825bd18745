import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server which a test can hold up or cut. */
export interface StallingProxy {
  readonly port: number;
  /** From now on nothing passes, and nobody is told. */
  stall(): void;
  /** From now on what is sent to the server arrives, and its answers do not. */
  loseAnswers(): void;
  /** As `loseAnswers`, from the moment at which something with this text is sent to the server. */
  loseAnswersFrom(text: string): void;
  /** From that moment on answers are held back, until `release`. */
  holdAnswersFrom(text: string): void;
  /** How many answers are held back. */
  readonly held: number;
  /** Sends what was held back, and lets everything pass again. */
  release(): void;
  /** How many connections there have been. */
  readonly connections: number;
  /** From now on everything passes but the notices of PostgreSQL, as behind a pooler that shares connections. */
  loseNotices(): void;
  /** New connections lead to this port; those there are stay where they are. */
  leadTo(port: number): void;
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
  let state: 'open' | 'stalled' | 'answers lost' | 'answers held' | 'notices lost' | 'cut' = 'open';
  let trigger: { readonly text: string; readonly state: 'answers lost' | 'answers held' } | undefined;
  let held: (() => void)[] = [];
  let connections = 0;
  let { port } = target;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (state === 'cut') return near.destroy();
    connections += 1;
    const far = connect({ host: target.host, port });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      const pass = from === near ? (bytes: Buffer) => bytes : createNoticeFilter(() => state === 'notices lost');
      from.on('data', (bytes: Buffer) => {
        if (from === near && trigger !== undefined && bytes.includes(trigger.text)) ({ state } = trigger);
        const passed = pass(bytes);
        const isAnswered = state === 'open' || state === 'notices lost';
        const isAsked = from === near && (state === 'answers lost' || state === 'answers held');
        if (isAnswered || isAsked) to.write(passed);
        else if (state === 'answers held') held.push(() => to.write(passed));
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
    loseAnswersFrom(text) {
      trigger = { text, state: 'answers lost' };
    },
    holdAnswersFrom(text) {
      trigger = { text, state: 'answers held' };
    },
    get held() {
      return held.length;
    },
    release() {
      const released = held;
      held = [];
      state = 'open';
      trigger = undefined;
      for (const send of released) send();
    },
    get connections() {
      return connections;
    },
    loseNotices() {
      state = 'notices lost';
    },
    leadTo(other) {
      port = other;
    },
    cut() {
      state = 'cut';
      drop();
    },
    mend() {
      drop();
      state = 'open';
      trigger = undefined;
      held = [];
    },
    async close() {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
}

const NOTIFICATION_RESPONSE = 'A'.charCodeAt(0);

/** Passes the messages of a server on, as a whole each, but for its notices while they are to be lost. */
function createNoticeFilter(loses: () => boolean): (bytes: Buffer) => Buffer {
  let waiting = Buffer.alloc(0);
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes]);
    const passed: Buffer[] = [];
    // A byte for the type, and the length of the rest, which counts itself.
    while (waiting.length >= 5 && waiting.length > waiting.readUInt32BE(1)) {
      const end = waiting.readUInt32BE(1) + 1;
      if (waiting[0] !== NOTIFICATION_RESPONSE || !loses()) passed.push(waiting.subarray(0, end));
      waiting = waiting.subarray(end);
    }
    return Buffer.concat(passed);
  };
}
