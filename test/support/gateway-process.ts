import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface GatewayProcess {
  /** Where it listens; undefined when it ended without a banner. */
  readonly url: string | undefined;
  readonly banner: string;
  /** Asks it to drain, and resolves as soon as it says that it takes nothing new. */
  drain(): Promise<void>;
  /** Resolves with all of stderr and the exit code when the process has ended. */
  ended(): Promise<{ readonly stderr: string; readonly exitCode: number | null }>;
  kill(): void;
}

/**
 * What `npm start` runs, in a process of its own with these settings alone, and those of the `.env` in the folder. Resolves when
 * it listens, or has ended.
 */
export async function startGatewayProcess(
  settings: Readonly<Record<string, string>>,
  folder = process.cwd(),
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: { PORT: '0', DATABASE_URL: ':memory:', LOG_LEVEL: 'silent', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stderr = text(child.stderr);
  const exit = once(child, 'exit');
  const banner = await readBanner(child);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0];
  return {
    url,
    banner,
    async drain() {
      child.kill('SIGTERM');
      while ((await fetch(`${url}/readyz`)).ok) await delay(5);
    },
    async ended() {
      await exit;
      return { stderr: await stderr, exitCode: child.exitCode };
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Its last line shows the body of a first request. */
async function readBanner({ stdout }: ChildProcess): Promise<string> {
  let banner = '';
  for await (const piece of stdout ?? []) {
    banner += String(piece);
    if (banner.includes('"input"')) break;
  }
  return banner;
}
