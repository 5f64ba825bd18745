import cluster, { type Worker } from 'node:cluster';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { watchHandovers } from './handover.ts';
import { openRpc, type Rpc } from '../../rpc/rpc.ts';
import { KEEP_YOUNG } from '../young-objects.ts';
import type { PrimaryService, WorkerService } from './messages.ts';

export interface WorkerProcess {
  readonly pid: number;
  readonly rpc: Rpc<WorkerService>;
  /** Resolves when all that the process had sent has been received. */
  readonly ended: Promise<string>;
  kill(): void;
}

export function forkWorker(service: PrimaryService): WorkerProcess {
  const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
  // `advanced` passes maps, dates and errors as they are.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const execArgv = [...process.execArgv, KEEP_YOUNG];
  cluster.setupPrimary({ exec: fileURLToPath(file), args: [], execArgv, serialization: 'advanced' });
  const forked = cluster.fork();
  const giveBack = watchHandovers(forked.process);
  const post = (message: object): unknown => forked.send(message, () => undefined);
  // `node:cluster` drops what comes before the worker listens, which its first message shows.
  let early: object[] | undefined = [];
  const rpc = openRpc<WorkerService>((message) => void (early?.push(message) ?? post(message)), service);
  forked.on('message', (message: unknown) => {
    const waiting = early ?? [];
    early = undefined;
    for (const each of waiting) post(each);
    rpc.receive(message);
  });
  return {
    pid: forked.process.pid ?? 0,
    rpc,
    ended: whenEnded(forked).then((how) => {
      giveBack();
      rpc.disconnect();
      return how;
    }),
    kill: () => void forked.process.kill('SIGKILL'),
  };
}

const LOOK_EVERY_MS = 10;

async function whenEnded(forked: Worker): Promise<string> {
  const how = await new Promise<string>((resolve) => {
    forked.once('exit', (exitCode, signal) => resolve(signal ?? `exit code ${exitCode}`));
    forked.on('error', (error) => {
      // Without a pid the process could not be started; after any other error it exits.
      if (forked.process.pid === undefined) resolve(error.message);
    });
  });
  // Its last messages can be read after its exit, and no event says when the last one was.
  while (forked.isConnected()) await delay(LOOK_EVERY_MS);
  return how;
}
