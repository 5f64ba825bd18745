import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StoreJob } from './store-process.ts';

export interface OtherProcess {
  /** What it has said so far, line by line. */
  readonly lines: readonly string[];
  /** Ends it as a loss of power would, and resolves when it is gone and its last line has been read. */
  kill(): Promise<void>;
}

/** Starts a process with a store on this database, and resolves when it has done the first part of its job. */
export function startStoreProcess(job: StoreJob): Promise<OtherProcess> {
  const script = fileURLToPath(new URL('store-process.ts', import.meta.url));
  return start([script, JSON.stringify(job)]);
}

/** Starts a process that holds the lock for writing of this database, as a person with a database tool may. */
export function startLockingProcess(databaseFile: string): Promise<OtherProcess> {
  const script = fileURLToPath(new URL('locking-process.ts', import.meta.url));
  return start([script, databaseFile]);
}

async function start(parameters: readonly string[]): Promise<OtherProcess> {
  const child = spawn(process.execPath, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
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

async function kill(child: ChildProcess, over: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  await over;
}
