import { measureAnswers, type Load, type Window } from '../load.ts';

/** Short questions answered as one JSON object. */
export function jsonLoad(concurrency: number, window: Window): Load {
  return {
    name: jsonName(concurrency),
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

export function jsonName(concurrency: number): string {
  return `JSON at ${concurrency}`;
}

/** Throws when this is not the short answer of the backend. */
function checkShortAnswer(body: Buffer): void {
  if (!body.includes('A short answer.')) throw new Error(`the answer lacks its text: ${body.toString()}`);
}
