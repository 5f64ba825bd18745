import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import type { Said } from './backend.ts';
import type { Manner } from './manners.ts';

/** A backend in a process of its own, which can be killed, stopped and changed. */
export interface BackendProcess {
  /** With its `/v1`. It is the same after each start. */
  readonly baseUrl: string;
  /** Resolves when later requests are answered in this manner. */
  behave(manner: Manner): Promise<void>;
  /** Stops it where it is, or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
  /** After a kill. Resolves when it listens. */
  start(): Promise<void>;
  /** Resolves when so many more generations have begun. */
  begun(count: number): Promise<void>;
}

const PROGRAM = join(import.meta.dirname, 'backend.ts');

/** Starts one that begins after this time while it is slow; `onBegun` gets the prompt of each generation. */
export async function startBackendProcess(
  beginsAfterMs: number,
  onBegun: (prompt: string) => void,
): Promise<BackendProcess> {
  const waiting = new Set<{ left: number; readonly resolve: () => void }>();
  const port = await freePort();
  let child = await open();

  async function open(): Promise<ChildProcess> {
    const opened = fork(PROGRAM, [String(port), String(beginsAfterMs)]);
    opened.on('message', (said: Said) => {
      if (said.kind !== 'begun') return;
      onBegun(said.prompt);
      for (const waiter of waiting) {
        waiter.left -= 1;
        if (waiter.left > 0) continue;
        waiting.delete(waiter);
        waiter.resolve();
      }
    });
    await next(opened, 'listening');
    return opened;
  }

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async behave(manner) {
      const changed = next(child, 'changed');
      child.send(manner);
      await changed;
    },
    signal: (signal) => void child.kill(signal),
    async kill() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async start() {
      child = await open();
    },
    begun: (left) => new Promise((resolve) => void waiting.add({ left, resolve })),
  };
}

/** Rejects when the process ends before it has said this. */
function next<Kind extends Said['kind']>(child: ChildProcess, kind: Kind): Promise<Extract<Said, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error(`a backend ended before it was ${kind}`));
    const onMessage = (said: Said): void => {
      if (said.kind !== kind) return;
      child.off('exit', onExit);
      child.off('message', onMessage);
      resolve(said as Extract<Said, { kind: Kind }>);
    };
    child.on('exit', onExit);
    child.on('message', onMessage);
  });
}
