/** A worker as the first process sees it. */
import cluster, { type Worker } from 'node:cluster';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { watchHandovers } from './handover.ts';
import { openRpc, type Rpc } from '../../core/rpc.ts';
import type { PrimaryService, WorkerService } from './messages.ts';

export interface WorkerProcess {
  readonly pid: number;
  readonly rpc: Rpc<WorkerService>;
  /** Resolves when the process is gone and all that it had sent has been received. Says how it ended. */
  readonly ended: Promise<string>;
  kill(): void;
}

/** Starts one, which may ask for these things. */
export function forkWorker(mine: PrimaryService): WorkerProcess {
  const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
  // Connections are handed to the workers in turn, by this process; maps, dates and errors pass between them as they are.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: fileURLToPath(file), args: [], serialization: 'advanced' });
  const forked = cluster.fork();
  const giveBack = watchHandovers(forked.process);
  const rpc = openRpc<WorkerService>((message) => forked.send(message, () => undefined), mine);
  forked.on('message', rpc.receive);
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
      // The system has no room for another process. Of one that lives, what cannot be sent to it is told by its end.
      if (forked.process.pid === undefined) resolve(error.message);
    });
  });
  // It can be gone before all that it had sent is read. There is no event for that while it owes an answer.
  while (forked.isConnected()) await delay(LOOK_EVERY_MS);
  return how;
}
