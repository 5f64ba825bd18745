import { createStreamReader } from '../dialects.ts';
import { measureAnswers, type Load, type Window } from '../load.ts';
import { BURST_DELTAS } from '../scripts.ts';

/** Streams of which the backend sends all deltas at once: what a delta costs when nothing else limits it. */
export function streamLoad(concurrency: number, window: Window): Load {
  return {
    name: `streams of ${BURST_DELTAS} chunks at ${concurrency}`,
    columns: [
      { figure: 'chunks/s', beside: '× http-proxy' },
      { figure: 'CPU µs per chunk', beside: '× http-proxy' },
      { figure: 'busy %' },
    ],
    async measure(target) {
      const check = (body: Buffer) => {
        const reader = createStreamReader(target.dialect);
        reader.read(body);
        reader.expectWhole(BURST_DELTAS);
      };
      const ask = { script: 'burst', stream: true };
      const measured = await measureAnswers({ target, ask, concurrency, window, check });
      return {
        'chunks/s': measured.perSecond * BURST_DELTAS,
        'CPU µs per chunk': measured.cpuMicros / BURST_DELTAS,
        'busy %': measured.busyPercent,
      };
    },
  };
}
