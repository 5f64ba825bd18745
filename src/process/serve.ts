import { lookUp } from '../backend/lookup.ts';
import { loadEnvFile } from '../config/env-file.ts';
import { ConfigError, readConfig, type Config } from '../config/config.ts';
import type { Gateway } from '../gateway.ts';
import { openWithSecret } from '../config/gateway-secret.ts';
import { createLogger, openLogOutput } from '../telemetry/log.ts';
import type { Environment } from '../config/settings.ts';
import { openStore } from '../store/open.ts';
import { forgetStart } from './young-objects.ts';
import { codeOf } from '../core/errors.ts';

/** EX_CONFIG of sysexits.h: a supervisor sees that a restart does not help. */
export const EXIT_WRONG_SETTINGS = 78;
const CRASH_LIMIT_MS = 5000;
const REPEATED_SIGNAL_MS = 200;

/**
 * Starts the gateway with the settings of the environment and of `.env`; `overrides` go first. Ends
 * the process after its signals, or when the gateway cannot start.
 */
export async function serve(overrides: Environment = {}): Promise<void> {
  ignoreGoneReaders();
  // Without a listener this signal ends the process.
  process.on('SIGHUP', () => undefined);
  try {
    loadEnvFile(process.env);
    const gateway = await openGateway(readConfig({ ...process.env, ...overrides }));
    process.on('uncaughtException', (thrown) => crash(gateway, thrown));
    process.on('unhandledRejection', (thrown) => crash(gateway, thrown));
    process.on('SIGHUP', () => gateway.reload(process.env));
    drainOnSignal(gateway);
    await gateway.listen();
    forgetStart();
    for (const line of gateway.banner) console.log(line);
    // It asks a worker, which may die meanwhile.
    const warning = await gateway.probe().catch(() => undefined);
    if (warning !== undefined) console.log(`\nWarning: ${warning}`);
  } catch (error) {
    if (error instanceof ConfigError) leave(EXIT_WRONG_SETTINGS, ...error.problems);
    leave(1, error instanceof Error ? error.message : String(error));
  }
}

/** Lets requests go on when a reader of the output has closed it. */
export function ignoreGoneReaders(): void {
  process.stdout.removeAllListeners('error').on('error', () => undefined);
  process.stderr.on('error', () => undefined);
}

/** Opens a gateway, or several in workers, without listening yet. */
export async function openGateway(config: Config): Promise<Gateway> {
  if (config.workers > 1) {
    const { openWorkers } = await import('./workers/primary.ts');
    return openWorkers(config);
  }
  const log = createLogger(config.logLevel, await openLogOutput(config.logFormat));
  const [{ store, secret }, { createGateway }] = await Promise.all([
    openWithSecret(config, openStore({ ...config, log, lookup: lookUp })),
    import('../gateway.ts'),
  ]);
  return createGateway({ ...config, gatewaySecret: secret }, { log, store });
}

function drainOnSignal(gateway: Gateway): void {
  let firstAtMs: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now();
      void gateway.drain().then(() => leave(0));
      return;
    }
    // Ctrl-C and many supervisors reach the whole process group, and npm passes a copy on where sh is bash.
    const repeated = performance.now() - firstAtMs < REPEATED_SIGNAL_MS;
    if (!repeated) leave(signal === 'SIGINT' ? 130 : 143);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Ends the process after an uncaught throw: a drain would use a state that may be half changed. */
export function crash(gateway: Gateway, thrown: unknown): void {
  console.error(JSON.stringify({ level: 60, time: Date.now(), msg: `crash: ${describeCrash(thrown)}` }));
  process.exitCode = 1;
  setTimeout(() => leave(1), CRASH_LIMIT_MS).unref();
  gateway.close().then(
    () => leave(1),
    () => leave(1),
  );
}

/** Returns the kind and the stack of a throw in one line. The message could quote a prompt. */
export function describeCrash(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `a thrown ${typeof thrown}`;
  const frames = thrown.stack?.match(FRAME)?.slice(0, MAX_FRAMES) ?? [];
  return [thrown.name, codeOf(thrown), ...frames.map((frame) => frame.trim())].filter(Boolean).join(' ');
}

const MAX_FRAMES = 10;
const FRAME = /^ {4}at [^\n]*(?:file|node):[^\n]*:\d+:\d+\)?$/gm;

function leave(exitCode: number, ...lines: readonly string[]): never {
  for (const line of lines) console.error(line);
  process.exit(exitCode);
}
