import type { Failure } from './failures.ts';
import { checkReply, type Mode, type Operation, type RemoteEngine, type Reply } from './operations.ts';

interface Ask {
  readonly mode: Mode;
  readonly batch: readonly Operation[];
  readonly answer: (reply: Reply) => void;
}

const MAX_TOGETHER = 512;

/** Lets several queues share one engine, and so one sync to disk for the batches of each commit. */
export function coalesceCalls(engine: RemoteEngine): RemoteEngine {
  const waiting: Ask[] = [];
  let isBusy = false;

  async function work(): Promise<void> {
    isBusy = true;
    for (let asks = take(); asks.length > 0; asks = take()) await runTogether(asks);
    isBusy = false;
  }

  function take(): readonly Ask[] {
    let operations = 0;
    const end = waiting.findIndex(({ batch }, index) => {
      operations += batch.length;
      return index > 0 && operations > MAX_TOGETHER;
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  async function runTogether(asks: readonly Ask[]): Promise<void> {
    const mode = asks.every((ask) => ask.mode === 'read') ? 'read' : 'write';
    const together = asks.flatMap(({ batch }) => batch);
    const reply = checkReply(await engine.run(mode, together), together.length);
    if ('results' in reply) return handOut(asks, reply.results);
    if (asks.length > 1 && mayWorkAlone(reply.failure)) {
      for (const ask of asks) ask.answer(await engine.run(ask.mode, ask.batch));
    } else {
      for (const ask of asks) ask.answer(reply);
    }
  }

  return {
    run: (mode, batch) =>
      new Promise((answer) => {
        waiting.push({ mode, batch, answer });
        if (!isBusy) void work();
      }),
    close: () => engine.close(),
  };
}

function handOut(asks: readonly Ask[], results: readonly unknown[]): void {
  let at = 0;
  for (const { batch, answer } of asks) {
    answer({ results: results.slice(at, at + batch.length) });
    at += batch.length;
  }
}

/**
 * On a full disk a lookup succeeds without the changes of other queues. Each queue retries `busy`
 * and `starting` itself. After `lost` the batch may be committed, so it must not run twice.
 */
function mayWorkAlone({ reason }: Failure): boolean {
  return reason !== 'busy' && reason !== 'starting' && reason !== 'lost';
}
