import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StoreJob } from './store-process.ts';
import { until } from './time.ts';

export interface OtherProcess {
  /** What it has said so far, line by line. */
  readonly lines: readonly string[];
  /** Ends it as a loss of power would, and resolves when it is gone and its last line has been read. */
  kill(): Promise<void>;
}

/** Starts a process with a store on this database, and resolves when it has done the first part of its job. */
export async function startStoreProcess(job: StoreJob): Promise<OtherProcess> {
  const script = fileURLToPath(new URL('store-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(job)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const ready = new Promise<void>((resolve) => {
    reader.on('line', (line) => {
      lines.push(line);
      if (line === 'ready') resolve();
    });
  });
  const over = once(reader, 'close');
  await Promise.race([ready, over]);
  if (!lines.includes('ready')) throw new Error('the process ended before it was ready');
  return { lines, kill: () => kill(child, over) };
}

/** Ends it as soon as it has finished a request and then said some more, which is less or more each time. */
export async function killInTheMiddle(other: OtherProcess): Promise<void> {
  await until(() => other.lines.some((line) => line.startsWith('finished')));
  const enough = other.lines.length + Math.random() * LINES_OF_A_ROUND;
  await until(() => other.lines.length >= enough);
  await other.kill();
}

const LINES_OF_A_ROUND = 200;

async function kill(child: ChildProcess, over: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  await over;
}
