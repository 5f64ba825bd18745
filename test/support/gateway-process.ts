import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { KEEP_YOUNG } from '../../src/process/young-objects.ts';
import type { ScriptedBackend } from './backend.ts';
import { TEST_KEY } from './gateway.ts';
import { until } from './time.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const PATIENT = join(import.meta.dirname, 'patient.ts');

export interface GatewayProcess {
  /** Where it listens; undefined when it ended without a banner. */
  readonly url: string | undefined;
  readonly pid: number;
  readonly banner: string;
  /** Asks it to drain, and resolves as soon as it says that it takes nothing new. */
  drain(): Promise<void>;
  /** Resolves with all of stderr and the exit code when the process has ended. */
  ended(): Promise<{ readonly stderr: string; readonly exitCode: number | null }>;
  signal(signal: NodeJS.Signals): void;
  kill(): void;
  /** Ends it as a supervisor does, and resolves when it has ended. */
  stop(): Promise<void>;
}

export interface ProcessOptions {
  /** Whose `.env` holds. */
  readonly folder?: string;
  /** Of another version of the program. */
  readonly main?: string;
  /** Of this one, beside those that it shares with others. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether its store gives up as early as that of a gateway in use: for tests whose database does not answer. */
  readonly isImpatient?: boolean;
  /** The most files that it may open. */
  readonly openFiles?: number;
  /** Hears what comes after the banner: the lines of the log. */
  readonly onLog?: (text: string) => void;
}

/**
 * What `npm start` runs, in a process of its own with these settings alone, and those of the `.env` in the folder. Resolves when
 * it listens, or has ended.
 */
export async function startGatewayProcess(
  settings: Readonly<Record<string, string>>,
  {
    folder = process.cwd(),
    main = MAIN,
    settings: own = {},
    isImpatient = false,
    openFiles,
    onLog = () => {},
  }: ProcessOptions = {},
): Promise<GatewayProcess> {
  const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles} && `;
  const node = [process.execPath, KEEP_YOUNG, ...(isImpatient ? [] : ['--import', PATIENT]), main];
  const child = spawn('sh', ['-c', `${limit}exec "$@"`, 'sh', ...node], {
    cwd: folder,
    env: { PORT: '0', DATABASE_URL: ':memory:', LOG_LEVEL: 'silent', ...settings, ...own },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stderr = text(child.stderr);
  const exit = once(child, 'exit');
  const banner = await readBanner(child, onLog);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0];
  return {
    url,
    pid: child.pid ?? Number.NaN,
    banner,
    async drain() {
      child.kill('SIGTERM');
      await until(async () => !(await fetch(`${url}/readyz`)).ok);
    },
    async ended() {
      await exit;
      return { stderr: await stderr, exitCode: child.exitCode };
    },
    signal: (signal) => void child.kill(signal),
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** The same, for callers with `TEST_KEY`, in front of this backend. */
export function startStaticGateway(
  { baseUrl }: Pick<ScriptedBackend, 'baseUrl'>,
  settings: Readonly<Record<string, string>> = {},
  options: ProcessOptions = {},
): Promise<GatewayProcess> {
  const ofCallers = { UPSTREAM_BASE_URL: baseUrl, AUTH_MODE: 'static', API_KEYS: TEST_KEY };
  return startGatewayProcess({ ...ofCallers, ...settings }, options);
}

/** Its last line shows the body of a first request. What follows is read as well: a pipe that is full holds its writer up. */
function readBanner({ stdout }: ChildProcess, onLog: (text: string) => void): Promise<string> {
  let banner = '';
  let isRead = false;
  return new Promise((resolve) => {
    stdout?.on('data', (piece: Buffer) => {
      if (isRead) return onLog(piece.toString());
      banner += piece.toString();
      isRead = banner.includes('"input"');
      if (isRead) resolve(banner);
    });
    stdout?.once('end', () => resolve(banner));
  });
}
