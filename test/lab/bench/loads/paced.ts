import { setTimeout as delay } from 'node:timers/promises';
import { machineMs } from '../clock.ts';
import { openConnection, type Connection } from '../connection.ts';
import { createStreamReader, toRequest } from '../dialects.ts';
import type { Figures, Load } from '../load.ts';
import { percentile } from '../statistics.ts';
import type { Target } from '../targets.ts';
import type { Usage } from '../targets/measured.ts';

export interface Pace {
  readonly streams: number;
  readonly everyMs: number;
  /** So many deltas have the streams of each connection, which follow upon each other. */
  readonly deltas: number;
  /** Within this time all streams start, and it counts from its end on. */
  readonly spreadMs: number;
  readonly countedMs: number;
}

/** Streams of half a second, of which many begin, and such as last longer than it counts. */
export const PACES: readonly Pace[] = [
  { streams: 64, everyMs: 20, deltas: 25, spreadMs: 500, countedMs: 2500 },
  { streams: 500, everyMs: 100, deltas: 45, spreadMs: 1500, countedMs: 3000 },
];

export function pacedName({ streams, everyMs }: Pace): string {
  return `${streams} streams, a delta each ${everyMs} ms`;
}

/** What was seen while it counted: how late deltas came, and how long first ones took from their request on. */
interface Delays {
  readonly deltaMs: number[];
  readonly firstMs: number[];
}

/** Streams as models send them, a delta from time to time: what the target adds to each when it has time. */
export function pacedLoad(pace: Pace): Load {
  return {
    name: pacedName(pace),
    columns: [
      { figure: 'delay p50 ms' },
      { figure: 'delay p99 ms' },
      { figure: 'first delta p50 ms' },
      { figure: 'first delta p99 ms' },
      { figure: 'first deltas' },
      { figure: 'CPU µs per chunk', beside: '× http-proxy' },
      { figure: 'busy %' },
    ],
    measure: (target) => measurePaced(target, pace),
  };
}

/** Spreads numbers in a row evenly over 0 to 1, at whatever step one looks at them: none of the multiples of it come close. */
const GOLDEN_RATIO = 0.618_033_988_749_895;

/** The starts are spread, so that deltas do not come all at once: over the whole time, and over the time between two deltas. */
async function measurePaced(target: Target, pace: Pace): Promise<Figures> {
  const { spreadMs } = pace;
  const delays: Delays = { deltaMs: [], firstMs: [] };
  const counts = { from: machineMs() + spreadMs, to: machineMs() + spreadMs + pace.countedMs };
  const connections = Array.from({ length: pace.streams }, () => openConnection(target.url));
  try {
    const streams = Promise.all(
      connections.map(async (connection, index) => {
        await delay(((index * GOLDEN_RATIO) % 1) * spreadMs);
        while (machineMs() < counts.to) await readStream(connection, target, pace, counts, delays);
      }),
    );
    const [cpuMicros] = await Promise.all([cpuWhile(target, spreadMs, pace.countedMs), streams]);
    return {
      'delay p50 ms': percentile(delays.deltaMs, 50),
      'delay p99 ms': percentile(delays.deltaMs, 99),
      'first delta p50 ms': percentile(delays.firstMs, 50),
      'first delta p99 ms': percentile(delays.firstMs, 99),
      // In a load without new streams there is nothing to show.
      ...(delays.firstMs.length > 0 && { 'first deltas': delays.firstMs.length }),
      'CPU µs per chunk': cpuMicros / delays.deltaMs.length,
      'busy %': cpuMicros / pace.countedMs / 10,
    };
  } finally {
    for (const connection of connections) connection.destroy();
  }
}

async function cpuWhile(target: Target, afterMs: number, forMs: number): Promise<number> {
  await delay(afterMs);
  const before = await target.child.ask<Usage>('usage');
  await delay(forMs);
  const after = await target.child.ask<Usage>('usage');
  return after.cpuMicros - before.cpuMicros;
}

async function readStream(
  connection: Connection,
  target: Target,
  { everyMs, deltas }: Pace,
  counts: { readonly from: number; readonly to: number },
  { deltaMs, firstMs }: Delays,
): Promise<void> {
  const reader = createStreamReader(target.dialect);
  let askedAtMs: number | undefined = machineMs();
  let refusal = '';
  const { status } = await connection.exchange(
    toRequest(target, { script: `paced-${everyMs}-${deltas}`, stream: true }),
    (bytes, head) => {
      const nowMs = machineMs();
      if (head.status !== 200) refusal += bytes.toString();
      const stamps = reader.read(bytes);
      if (stamps.length === 0) return;
      if (askedAtMs !== undefined && askedAtMs > counts.from) firstMs.push(nowMs - askedAtMs);
      askedAtMs = undefined;
      if (nowMs > counts.from && nowMs < counts.to) deltaMs.push(...stamps.map((stampMs) => nowMs - stampMs));
    },
  );
  if (status !== 200) throw new Error(`a stream was answered with ${status}: ${refusal}`);
  reader.expectWhole(deltas);
}
