import { machineMs } from '../clock.ts';
import { openConnection, type Connection, type Head } from '../connection.ts';
import { toGet, toPost, toRequest } from '../dialects.ts';
import { exchangeWhole, type Load } from '../load.ts';
import type { Child } from '../processes.ts';
import { percentile } from '../statistics.ts';
import type { Target } from '../targets.ts';

export const STOPS = 'aborts and cancels, ms';
/** From when the client goes, or asks for the cancel. */
const FIGURES = ['abort seen by backend', 'cancel answered', 'cancel seen by backend', 'cancel recorded'];

/** How soon the backend sees a client go, how soon a cancel is answered, and how soon the backend and the record know of it. */
export function latencyLoad(backend: Child, samples: number): Load {
  return {
    name: STOPS,
    columns: FIGURES.flatMap((figure) => [{ figure: `${figure} p50` }, { figure: `${figure} max` }]),
    async measure(target) {
      const rows: number[][] = [];
      for (let sample = 0; sample < samples; sample += 1) {
        rows.push([await abort(target, backend), ...(await cancel(target, backend))]);
      }
      return Object.fromEntries(
        FIGURES.flatMap((figure, column) => {
          const values = rows.map((row) => row[column] ?? Number.NaN);
          return [
            [`${figure} p50`, percentile(values, 50)],
            [`${figure} max`, Math.max(...values)],
          ];
        }),
      );
    },
  };
}

async function abort(target: Target, backend: Child): Promise<number> {
  const { connection } = await openHanging(target);
  const seen = backend.hear<number>('closed');
  const leftAtMs = machineMs();
  connection.destroy();
  return (await seen) - leftAtMs;
}

async function cancel(target: Target, backend: Child): Promise<number[]> {
  const { connection, requestId } = await openHanging(target);
  const other = openConnection(target.url);
  const seen = backend.hear<number>('closed');
  const path = `/api/v1/requests/${requestId}`;
  const askedAtMs = machineMs();
  const { status } = await other.exchange(toPost(`${path}/cancel`, target.apiKey), () => undefined);
  if (status !== 202) throw new Error(`a cancel was answered with ${status}`);
  const answeredMs = machineMs() - askedAtMs;
  while (!(await exchangeWhole(other, toGet(path, target.apiKey))).includes('"status":"cancelled"'));
  const recordedMs = machineMs() - askedAtMs;
  const seenMs = (await seen) - askedAtMs;
  connection.destroy();
  other.destroy();
  return [answeredMs, seenMs, recordedMs];
}

/** A stream of which the first bytes are there, and no more will come. */
async function openHanging(target: Target): Promise<{ connection: Connection; requestId: string }> {
  const connection = openConnection(target.url);
  const request = toRequest(target, { script: 'hang', stream: true });
  const head = await new Promise<Head>((resolve, reject) => {
    connection.exchange(request, (_bytes, head) => resolve(head)).catch(reject);
  });
  return { connection, requestId: /\r\nx-request-id: (\S+)/i.exec(head.text)?.[1] ?? '' };
}
