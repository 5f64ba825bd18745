import { setTimeout as delay } from 'node:timers/promises';
import { openConnection, type Connection } from '../connection.ts';
import { toRequest } from '../dialects.ts';
import type { Figures, Load } from '../load.ts';
import type { Stage } from '../stage.ts';
import type { Target } from '../targets.ts';
import type { Usage } from '../targets/measured.ts';
import { agentsLoad } from './agents.ts';
import { jsonLoad } from './json.ts';
import { streamLoad } from './streams.ts';

const STREAMS = 1000;
export const HELD = `KB per stream of ${STREAMS}`;
const WITH_GARBAGE = 'with garbage';
export const UNREAD = 'MB when a client never reads';
export const AT_HEIGHT = 'MB at the height of a burst';
export const AFTER = 'MB some seconds after it';
const BURST_MS = 2000;
/** Collections come by themselves: nobody asks a gateway in use for one. */
const IDLE_MS = 5000;
const EVERY_MS = 100;
const SPREAD_MS = 1000;
/** Enough for a backend without limits to send hundreds of megabytes. */
const UNREAD_MS = 2000;
const MB = 1024 * 1024;
const WARM_UP = { warmUpMs: 0, countedMs: 500 };

/** What open streams and a client that never reads make a target hold, and what a burst leaves. Each time in a new process. */
export function memoryLoad(stage: Stage): Load {
  return {
    name: 'memory',
    columns: [HELD, WITH_GARBAGE, UNREAD, AT_HEIGHT, AFTER].map((figure) => ({ figure })),
    once: true,
    async measure({ name }) {
      const target = await stage.start(name);
      try {
        await jsonLoad(64, WARM_UP).measure(target);
        await streamLoad(16, WARM_UP).measure(target);
        return {
          ...(await growthByStreams(target)),
          [UNREAD]: (await growthByUnread(target)) / MB,
          ...(await growthByBurst(target)),
        };
      } finally {
        target.child.kill();
      }
    },
  };
}

async function growthByStreams(target: Target): Promise<Figures> {
  const before = await held(target);
  const request = toRequest(target, { script: `paced-${EVERY_MS}-1000000`, stream: true });
  const connections = Array.from({ length: STREAMS }, () => openConnection(target.url));
  await Promise.all(
    connections.map(async (connection, index) => {
      await delay((index * SPREAD_MS) / STREAMS);
      await beginStream(connection, request);
    }),
  );
  await delay(SPREAD_MS);
  const { rssBytes } = await target.child.ask<Usage>('usage');
  const after = await held(target);
  for (const connection of connections) connection.destroy();
  await delay(SPREAD_MS);
  return { [HELD]: (after - before) / STREAMS / 1024, [WITH_GARBAGE]: (rssBytes - before) / STREAMS / 1024 };
}

/** Resolves when the first bytes are there. Nobody waits for the end, which the client will cause. */
function beginStream(connection: Connection, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.exchange(request, () => resolve()).catch(reject);
  });
}

/** Small answers, streams and turns of agents at once. */
async function growthByBurst(target: Target): Promise<Figures> {
  const before = await held(target);
  const window = { warmUpMs: 0, countedMs: BURST_MS };
  await Promise.all([
    jsonLoad(256, window).measure(target),
    streamLoad(64, window).measure(target),
    agentsLoad({ agents: 4, bytes: 400_000 }, window).measure(target),
  ]);
  const height = await target.child.ask<Usage>('usage');
  await delay(IDLE_MS);
  const after = await target.child.ask<Usage>('usage');
  return { [AT_HEIGHT]: (height.rssBytes - before) / MB, [AFTER]: (after.rssBytes - before) / MB };
}

async function growthByUnread(target: Target): Promise<number> {
  const before = await held(target);
  const connection = openConnection(target.url);
  const request = toRequest(target, { script: 'endless', stream: true });
  connection.exchange(request, () => connection.pause()).catch(() => undefined);
  await delay(UNREAD_MS);
  const { rssBytes } = await target.child.ask<Usage>('usage');
  connection.destroy();
  return rssBytes - before;
}

/** What resides when all garbage is gone. Without that, free pages of the heap move it by tens of megabytes. */
async function held(target: Target): Promise<number> {
  await target.child.ask('shrink');
  return (await target.child.ask<Usage>('usage')).rssBytes;
}
