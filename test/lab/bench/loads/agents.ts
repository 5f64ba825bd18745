/** The turns of agents: each carries the whole history, and streams some hundred deltas. */

import { setTimeout as delay } from 'node:timers/promises';
import { openConnection, type Connection } from '../connection.ts';
import { createStreamReader, toRequest, type Ask } from '../dialects.ts';
import type { Load, Window } from '../load.ts';
import { BURST_DELTAS } from '../scripts.ts';
import { percentile } from '../statistics.ts';
import type { Target } from '../targets.ts';
import type { Usage } from '../targets/measured.ts';
import { agentHistory, showBytes } from './asks.ts';

/** Of the history alone; instructions and tools make it some 15 kB more. */
export const HISTORIES = [20_000, 100_000, 400_000, 1_000_000];
export const TURN_CPU = 'CPU ms per turn';
export const FIRST_BYTE = 'first byte p99 ms';
export const HEIGHT = 'MB at the height';

export function agentsName(agents: number, bytes: number, everyMs?: number): string {
  return `${agents} agents at ${showBytes(bytes)}${everyMs === undefined ? '' : `, a delta each ${everyMs} ms`}`;
}

/** So many agents, each with one turn after the other. Without a pace all deltas come at once. */
export function agentsLoad(
  { agents, bytes, everyMs }: { readonly agents: number; readonly bytes: number; readonly everyMs?: number },
  window: Window,
): Load {
  const script = everyMs === undefined ? 'burst-different' : `paced-${everyMs}-${BURST_DELTAS}`;
  const ask = { script, stream: true, body: agentHistory(bytes) };
  return {
    name: agentsName(agents, bytes, everyMs),
    columns: [
      { figure: TURN_CPU, beside: '× http-proxy' },
      { figure: 'turns/s' },
      { figure: 'first byte p50 ms' },
      { figure: FIRST_BYTE },
      { figure: HEIGHT },
    ],
    measure: (target) => measureTurns(target, ask, agents, window),
  };
}

async function measureTurns(target: Target, ask: Ask, agents: number, { warmUpMs, countedMs }: Window) {
  const request = toRequest(target, ask);
  const connections = Array.from({ length: agents }, () => openConnection(target.url));
  const turn = (connection: Connection) => takeTurn(connection, request, target);
  try {
    await repeat(connections, warmUpMs, turn);
    const before = await target.child.ask<Usage>('usage');
    const startMs = performance.now();
    const watched = watchHeight(target, countedMs);
    const firstMs = await repeat(connections, countedMs, turn);
    const seconds = (performance.now() - startMs) / 1000;
    const after = await target.child.ask<Usage>('usage');
    return {
      [TURN_CPU]: (after.cpuMicros - before.cpuMicros) / 1000 / firstMs.length,
      'turns/s': firstMs.length / seconds,
      'first byte p50 ms': percentile(firstMs, 50),
      [FIRST_BYTE]: percentile(firstMs, 99),
      [HEIGHT]: (await watched) / 1024 / 1024,
    };
  } finally {
    for (const connection of connections) connection.destroy();
  }
}

/** Each connection begins another turn until the time is over; all turns end. */
async function repeat(
  connections: readonly Connection[],
  ms: number,
  turn: (connection: Connection) => Promise<number>,
): Promise<number[]> {
  const endMs = performance.now() + ms;
  const firstMs: number[] = [];
  await Promise.all(
    connections.map(async (connection) => {
      do firstMs.push(await turn(connection));
      while (performance.now() < endMs);
    }),
  );
  return firstMs;
}

/** Resolves with the time from the request to the first byte of the answer. */
async function takeTurn(connection: Connection, request: Buffer, { dialect }: Target): Promise<number> {
  const reader = createStreamReader(dialect);
  const startMs = performance.now();
  let firstMs = Number.NaN;
  const { status } = await connection.exchange(request, (bytes) => {
    if (Number.isNaN(firstMs)) firstMs = performance.now() - startMs;
    reader.read(bytes);
  });
  if (status !== 200) throw new Error(`a turn was answered with ${status}`);
  reader.expectWhole(BURST_DELTAS);
  return firstMs;
}

async function watchHeight(target: Target, ms: number): Promise<number> {
  let height = 0;
  for (const endMs = performance.now() + ms; performance.now() < endMs; await delay(50)) {
    height = Math.max(height, (await target.child.ask<Usage>('usage')).rssBytes);
  }
  return height;
}
