import { machineMs } from '../clock.ts';
import { openConnection, type Connection } from '../connection.ts';
import { toRequest, type Ask } from '../dialects.ts';
import type { Load } from '../load.ts';
import { percentile } from '../statistics.ts';
import type { Target } from '../targets.ts';

/** When the request came to the backend, and when its answer went. */
const TIMES = /@([\d.]+) @([\d.]+)/;

interface Late {
  /** JSON, or the first delta of a stream. */
  readonly stream: boolean;
  /** How long the backend takes. */
  readonly ms: number;
  readonly concurrency: number;
  readonly samples: number;
}

/** What a target adds before the backend has a request and after it has answered: how long the backend took is left out. */
export function lateLoad(late: Late): Load {
  return {
    name: lateName(late),
    columns: [
      { figure: 'added p50 ms', beside: 'over direct' },
      { figure: 'added p99 ms', beside: 'over direct' },
    ],
    async measure(target) {
      const { stream, ms, concurrency, samples } = late;
      const ask = { script: `${stream ? 'think' : 'late'}-${ms}`, stream };
      const connections = Array.from({ length: concurrency }, () => openConnection(target.url));
      const addedMs: number[] = [];
      try {
        await Promise.all(
          connections.map(async (connection) => {
            while (addedMs.length < samples) addedMs.push(await measureAdded(connection, target, ask));
          }),
        );
      } finally {
        for (const connection of connections) connection.destroy();
      }
      return { 'added p50 ms': percentile(addedMs, 50), 'added p99 ms': percentile(addedMs, 99) };
    },
  };
}

/** How the load is called in which the backend takes so long. */
export function lateName({ stream, ms, concurrency }: Pick<Late, 'stream' | 'ms' | 'concurrency'>): string {
  return `${stream ? 'first delta' : 'JSON'} at ${concurrency}, from a backend that takes ${ms} ms`;
}

async function measureAdded(connection: Connection, target: Target, ask: Ask): Promise<number> {
  const askedAtMs = machineMs();
  let text = '';
  let addedMs: number | undefined;
  const { status } = await connection.exchange(toRequest(target, ask), (bytes) => {
    text += bytes.toString('latin1');
    const times = TIMES.exec(text);
    if (times === null) return;
    addedMs ??= Number(times[1]) - askedAtMs + (machineMs() - Number(times[2]));
  });
  if (status !== 200 || addedMs === undefined) throw new Error(`the answer was ${status}: ${text.slice(0, 500)}`);
  return addedMs;
}
