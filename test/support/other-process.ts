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

async function kill(child: ChildProcess, over: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  await over;
}
