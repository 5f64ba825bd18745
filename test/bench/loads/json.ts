import { measureAnswers, type Load, type Window } from '../load.ts';

/** Short questions answered as one JSON object. */
export function jsonLoad(concurrency: number, window: Window): Load {
  return {
    name: `JSON at ${concurrency}`,
    columns: [
      { figure: 'requests/s', beside: '× http-proxy' },
      { figure: 'CPU µs per request', beside: '× http-proxy' },
      { figure: 'busy %' },
    ],
    async measure(target) {
      const measured = await measureAnswers({
        target,
        ask: { script: 'json' },
        concurrency,
        window,
        check: checkShortAnswer,
      });
      return {
        'requests/s': measured.perSecond,
        'CPU µs per request': measured.cpuMicros,
        'busy %': measured.busyPercent,
      };
    },
  };
}

/** Throws when this is not the short answer of the backend. */
export function checkShortAnswer(body: Buffer): void {
  if (!body.includes('A short answer.')) throw new Error(`the answer lacks its text: ${body.toString()}`);
}
