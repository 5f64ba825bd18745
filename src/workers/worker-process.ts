/** A worker as the first process sees it. */
import cluster, { type Worker } from 'node:cluster';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openLine, type Line } from './line.ts';
import type { PrimaryService, WorkerService } from './messages.ts';

export interface WorkerProcess {
  readonly pid: number;
  readonly line: Line<WorkerService>;
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
  const line = openLine<WorkerService>((message) => forked.send(message, ignore), mine);
  forked.on('message', line.receive);
  // What cannot be sent any more is told by its end.
  forked.on('error', ignore);
  forked.once('disconnect', line.cut);
  return {
    pid: forked.process.pid ?? 0,
    line,
    ended: whenEnded(forked),
    kill: () => void forked.process.kill('SIGKILL'),
  };
}

/** Either may come first: a process can be gone before all that it had sent is read. */
async function whenEnded(forked: Worker): Promise<string> {
  const [how] = await Promise.all([
    new Promise<string>((resolve) => {
      forked.once('exit', (exitCode, signal) => resolve(signal ?? `exit code ${exitCode}`));
    }),
    new Promise((resolve) => {
      forked.once('disconnect', resolve);
    }),
  ]);
  return how;
}

function ignore(): void {
  // Nothing is to be done.
}
