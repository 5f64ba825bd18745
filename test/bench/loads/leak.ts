import { setTimeout as delay } from 'node:timers/promises';
import { openConnection } from '../connection.ts';
import { toRequest } from '../dialects.ts';
import { exchangeWhole, type Load } from '../load.ts';
import type { Stage } from '../stage.ts';
import { slope } from '../statistics.ts';
import type { Target } from '../targets.ts';
import type { Usage } from '../targets/measured.ts';

const STEPS = 5;
const REQUESTS_PER_STEP = 10_000;
const ABORTS_PER_STEP = 1000;
const CONCURRENCY = 64;
const SETTLE_MS = 500;
/** A hundred bytes kept for each request would be seen; what V8 and the allocator move about is not. */
const MAX_HEAP_GROWTH_KB = 1000;
const MAX_RSS_GROWTH_KB = 8000;

/** 50,000 requests and 5,000 aborted streams: the memory of a new process must return to its level after each part of them. */
export function leakLoad(stage: Stage): Load {
  const per = `per ${REQUESTS_PER_STEP} requests and ${ABORTS_PER_STEP} aborts`;
  return {
    name: 'leak',
    columns: [{ figure: `heap KB ${per}` }, { figure: `RSS KB ${per}` }, { figure: 'heap MB at the end' }],
    once: true,
    async measure({ name }) {
      const target = await stage.start(name);
      try {
        await load(target);
        const heapKb: number[] = [];
        const rssKb: number[] = [];
        for (let step = 0; step <= STEPS; step += 1) {
          if (step > 0) await load(target);
          await delay(SETTLE_MS);
          await target.child.ask('shrink');
          const { heapBytes, rssBytes } = await target.child.ask<Usage>('usage');
          heapKb.push(heapBytes / 1024);
          rssKb.push(rssBytes / 1024);
        }
        const growth = { heap: slope(heapKb), rss: slope(rssKb) };
        if (growth.heap > MAX_HEAP_GROWTH_KB || growth.rss > MAX_RSS_GROWTH_KB) {
          throw new Error(`memory grows ${per}: heap in KB ${describe(heapKb)}; RSS in KB ${describe(rssKb)}`);
        }
        return {
          [`heap KB ${per}`]: growth.heap,
          [`RSS KB ${per}`]: growth.rss,
          'heap MB at the end': (heapKb.at(-1) ?? 0) / 1024,
        };
      } finally {
        target.child.kill();
      }
    },
  };
}

function describe(values: readonly number[]): string {
  return values.map((value) => value.toFixed(0)).join(', ');
}

async function load(target: Target): Promise<void> {
  await Promise.all(Array.from({ length: CONCURRENCY }, () => askAndAbort(target)));
}

async function askAndAbort(target: Target): Promise<void> {
  const connection = openConnection(target.url);
  const request = toRequest(target, { script: 'json' });
  for (let left = REQUESTS_PER_STEP / CONCURRENCY; left > 0; left -= 1) await exchangeWhole(connection, request);
  connection.destroy();
  for (let left = ABORTS_PER_STEP / CONCURRENCY; left > 0; left -= 1) await abortStream(target);
}

async function abortStream(target: Target): Promise<void> {
  const connection = openConnection(target.url);
  const request = toRequest(target, { script: 'hang', stream: true });
  await new Promise<void>((resolve, reject) => {
    connection.exchange(request, () => resolve()).catch(reject);
  });
  connection.destroy();
}
