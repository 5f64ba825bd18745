import { startChild } from '../processes.ts';
import type { Figures, Load, Window } from '../load.ts';
import type { Target } from '../targets.ts';
import type { LoopDelay } from '../targets/measured.ts';
import { streamLoad } from './streams.ts';

const HOLD_MS = 8;

/** Streams go on while every commit has to wait: the event loop must not wait with it. */
export function slowDiskLoad(window: Window): Load {
  return {
    name: `event loop while commits wait ${HOLD_MS} ms`,
    columns: [
      { figure: 'at once: p99 ms' },
      { figure: 'at once: max ms' },
      { figure: 'they wait: p99 ms' },
      { figure: 'they wait: max ms' },
    ],
    async measure(target) {
      const free = await loopDelays(target, window, 'at once');
      const lock = startChild('lock.ts', [target.database ?? '', String(HOLD_MS)], 'load');
      try {
        return { ...free, ...(await loopDelays(target, window, 'they wait')) };
      } finally {
        lock.kill();
      }
    },
  };
}

async function loopDelays(target: Target, window: Window, name: string): Promise<Figures> {
  await target.child.ask('watchLoop');
  await streamLoad(16, window).measure(target);
  const { p99Ms, maxMs } = await target.child.ask<LoopDelay>('loopDelay');
  return { [`${name}: p99 ms`]: p99Ms, [`${name}: max ms`]: maxMs };
}
