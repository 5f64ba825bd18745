import { measureAnswers, type Load, type Window } from '../load.ts';

/** Short questions answered as one JSON object. */
export function jsonLoad(concurrency: number, window: Window): Load {
  return {
    name: `JSON at ${concurrency}`,
    columns: [
      { figure: 'requests/s', beside: '× http-proxy' },
      { figure: 'CPU µs per request', beside: '× http-proxy' },
      { figure: 'p50 ms' },
      { figure: 'p99 ms' },
      { figure: 'busy %' },
    ],
    async measure(target) {
      const ask = { script: 'json' };
      const measured = await measureAnswers({ target, ask, concurrency, window, check: checkShortAnswer });
      return {
        'requests/s': measured.perSecond,
        'CPU µs per request': measured.cpuMicros,
        'p50 ms': measured.p50Ms,
        'p99 ms': measured.p99Ms,
        'busy %': measured.busyPercent,
      };
    },
  };
}

/** So many at a time, up to what fills a core. */
export const STEPS = [1, 2, 4, 8, 16, 32, 64, 128];
export const BOUNDS = 'JSON within a bound of p99';
/** In milliseconds: p99 that somebody may still find quick. */
export const BOUNDS_MS = [5, 10, 50];

/** How many requests a second a target answers before one in a hundred waits longer than a bound. */
export function boundsLoad(window: Window): Load {
  return {
    name: BOUNDS,
    columns: BOUNDS_MS.map((boundMs) => ({ figure: `requests/s at p99 ≤ ${boundMs} ms`, beside: '× http-proxy' })),
    async measure(target) {
      const figures: Record<string, number> = {};
      const within = new Map(BOUNDS_MS.map((boundMs) => [boundMs, 0]));
      for (const concurrency of STEPS) {
        const ask = { script: 'json' };
        const { perSecond, p99Ms } = await measureAnswers({
          target,
          ask,
          concurrency,
          window,
          check: checkShortAnswer,
        });
        figures[`at ${concurrency}: requests/s`] = perSecond;
        figures[`at ${concurrency}: p99 ms`] = p99Ms;
        for (const [boundMs, most] of within) if (p99Ms <= boundMs) within.set(boundMs, Math.max(most, perSecond));
      }
      for (const [boundMs, most] of within) figures[`requests/s at p99 ≤ ${boundMs} ms`] = most;
      return figures;
    },
  };
}

/** Throws when this is not the short answer of the backend. */
export function checkShortAnswer(body: Buffer): void {
  if (!body.includes('A short answer.')) throw new Error(`the answer lacks its text: ${body.toString()}`);
}
