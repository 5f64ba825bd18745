import { setTimeout as delay } from 'node:timers/promises';
import { machineMs } from '../clock.ts';
import { openConnection, type Connection } from '../connection.ts';
import { createStreamReader, toRequest, type Ask } from '../dialects.ts';
import { exchangeWhole, type Figures, type Load } from '../load.ts';
import { percentile } from '../statistics.ts';
import type { Target } from '../targets.ts';
import { agentHistory, image, showBytes } from './asks.ts';

/** Many strings, or a single one. */
const BODIES = { turn: agentHistory, image } satisfies Record<string, (bytes: number) => Ask['body']>;

export interface Large {
  readonly part: keyof typeof BODIES;
  readonly bytes: number;
}

export const LARGE: readonly Large[] = [
  { part: 'turn', bytes: 1_000_000 },
  { part: 'turn', bytes: 4_000_000 },
  { part: 'image', bytes: 16_000_000 },
];

/** Small requests start at this pace whether the ones before have been answered or not. */
const EACH_MS = 4;
const STREAMS = 16;
const DELTA_EACH_MS = 20;
const WARM_UP_MS = 200;
const MAX_IDLE_MS = 2000;
/** Between two large ones. */
const PAUSE_MS = 50;

interface Delays {
  readonly smallMs: number[];
  readonly deltaMs: number[];
}

/** How late small requests and the deltas of running streams are, without and with one large request after the other. */
export function besideLoad(large: Large, countedMs: number): Load {
  const ask = { script: 'json', body: BODIES[large.part](large.bytes) };
  return {
    name: besideName(large),
    columns: ['small p99 ms', 'delta p99 ms'].flatMap((figure) => [
      { figure: `alone: ${figure}` },
      { figure: `beside it: ${figure}` },
    ]),
    async measure(target) {
      const streams = await openStreams(target);
      try {
        const alone = await measureSmall(target, streams, delay(countedMs));
        // The first one is for the compiler.
        await sendLarge(target, toRequest(target, ask), machineMs());
        const beside = await measureSmall(
          target,
          streams,
          sendLarge(target, toRequest(target, ask), machineMs() + countedMs),
        );
        return { ...named('alone', alone), ...named('beside it', beside) };
      } finally {
        streams.close();
      }
    },
  };
}

export function besideName({ part, bytes }: Large): string {
  return `beside ${part === 'turn' ? 'turns of an agent' : 'images'} of ${showBytes(bytes)}`;
}

function named(when: string, { smallMs, deltaMs }: Delays): Figures {
  return {
    [`${when}: small p99 ms`]: percentile(smallMs, 99),
    [`${when}: delta p99 ms`]: percentile(deltaMs, 99),
  };
}

async function sendLarge(target: Target, request: Buffer, untilMs: number): Promise<void> {
  const connection = openConnection(target.url);
  try {
    do {
      await exchangeWhole(connection, request);
      await delay(PAUSE_MS);
    } while (machineMs() < untilMs);
  } finally {
    connection.destroy();
  }
}

interface Streams {
  /** Who is told how late each delta was, in milliseconds. */
  onDelta: (delayMs: number) => void;
  /** Rejects when a stream breaks. */
  readonly broken: Promise<never>;
  close(): void;
}

async function openStreams(target: Target): Promise<Streams> {
  const connections = Array.from({ length: STREAMS }, () => openConnection(target.url));
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  const streams: Streams = {
    onDelta: () => undefined,
    broken,
    close: () => connections.forEach((connection) => connection.destroy()),
  };
  const request = toRequest(target, { script: `paced-${DELTA_EACH_MS}-1000000`, stream: true });
  for (const connection of connections) {
    const reader = createStreamReader(target.dialect);
    const read = (bytes: Buffer) => {
      for (const stampMs of reader.read(bytes)) streams.onDelta(machineMs() - stampMs);
    };
    connection.exchange(request, read).catch(reject);
    await delay(DELTA_EACH_MS / STREAMS);
  }
  return streams;
}

/** For as long as `end` is pending. */
async function measureSmall(target: Target, streams: Streams, end: Promise<unknown>): Promise<Delays> {
  const delays: Delays = { smallMs: [], deltaMs: [] };
  const request = toRequest(target, { script: 'json' });
  const idle: { readonly connection: Connection; readonly sinceMs: number }[] = [];
  const all: Connection[] = [];
  const fromMs = machineMs() + WARM_UP_MS;
  const pending = new Set<Promise<unknown>>();
  const asks: { isOver: boolean; failure?: Error } = { isOver: false };
  streams.onDelta = (delayMs) => {
    if (machineMs() > fromMs) delays.deltaMs.push(delayMs);
  };

  async function ask(startMs: number): Promise<void> {
    const last = idle.pop();
    // A server closes what has been idle for some seconds.
    const connection = last !== undefined && startMs - last.sinceMs < MAX_IDLE_MS ? last.connection : open();
    await exchangeWhole(connection, request);
    if (startMs > fromMs) delays.smallMs.push(machineMs() - startMs);
    idle.push({ connection, sinceMs: machineMs() });
  }

  function open(): Connection {
    const connection = openConnection(target.url);
    all.push(connection);
    return connection;
  }

  async function askOn(): Promise<void> {
    for (let nextMs = machineMs(); !asks.isOver; nextMs += EACH_MS) {
      await delay(Math.max(1, nextMs - machineMs()));
      // What is late for its turn counts from its turn on.
      const asked = ask(nextMs)
        .catch((cause: unknown) => void (asks.failure ??= new Error('a small request failed', { cause })))
        .finally(() => pending.delete(asked));
      pending.add(asked);
      if (asks.failure !== undefined) throw asks.failure;
    }
    await Promise.all(pending);
    if (asks.failure !== undefined) throw asks.failure;
  }

  try {
    const asking = askOn();
    asking.catch(() => undefined);
    await Promise.race([end, streams.broken, asking]);
    asks.isOver = true;
    await asking;
    return delays;
  } finally {
    asks.isOver = true;
    streams.onDelta = () => undefined;
    for (const connection of all) connection.destroy();
  }
}
