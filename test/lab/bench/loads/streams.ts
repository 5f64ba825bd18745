import { createStreamReader, type Ask } from '../dialects.ts';
import { measureAnswers, type Load, type Window } from '../load.ts';
import { BURST_DELTAS, type ChunkKind } from '../scripts.ts';
import { agentHistory } from './asks.ts';

/** What has to be asked for before a backend sends such chunks, or before they are passed on. */
const BODIES: Partial<Record<ChunkKind, Ask['body']>> = {
  arguments: agentHistory(0),
  logprobs: {
    responses: { input: 'Be sure.', include: ['message.output_text.logprobs'], top_logprobs: 2 },
    chat: { messages: [{ role: 'user', content: 'Be sure.' }], logprobs: true, top_logprobs: 2 },
  },
};

/** Streams of which the backend sends all deltas at once: what a delta costs when nothing else limits it. */
export function streamLoad(concurrency: number, window: Window, kind: ChunkKind = 'repeated'): Load {
  return {
    name: streamsName(concurrency, kind),
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
      const body = BODIES[kind];
      const ask = { script: `burst-${kind}`, stream: true, ...(body !== undefined && { body }) };
      const measured = await measureAnswers({ target, ask, concurrency, window, check });
      return {
        'chunks/s': measured.perSecond * BURST_DELTAS,
        'CPU µs per chunk': measured.cpuMicros / BURST_DELTAS,
        'busy %': measured.busyPercent,
      };
    },
  };
}

/** How the load with so many of these streams is called. */
export function streamsName(concurrency: number, kind: ChunkKind = 'repeated'): string {
  return `${BURST_DELTAS} ${kind} chunks at ${concurrency}`;
}
