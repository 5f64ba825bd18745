import { existsSync } from 'node:fs';
import { describeCrash } from './crash.ts';
import type { Gateway } from './gateway.ts';
import { findNodeProblem } from './node-version.ts';

/** EX_CONFIG of sysexits.h: a supervisor can see that another start will not help. */
const EXIT_WRONG_SETTINGS = 78;
const CRASH_LIMIT_MS = 5000;
const REPEATED_SIGNAL_MS = 200;

const nodeProblem = findNodeProblem(process.versions.node);
if (nodeProblem === undefined) await start();
else leave(1, nodeProblem);

async function start(): Promise<void> {
  // Whoever reads the output may leave; requests go on without him.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  // Imported only now: an old Node dies while it loads the database driver, before anything could be said.
  const { ConfigError, readConfig } = await import('./config.ts');
  const { createGateway } = await import('./gateway.ts');
  try {
    if (existsSync('.env')) process.loadEnvFile('.env');
    const gateway = await createGateway(readConfig(process.env));
    process.on('uncaughtException', (thrown) => crash(gateway, thrown));
    process.on('unhandledRejection', (thrown) => crash(gateway, thrown));
    drainOnSignal(gateway);
    await gateway.listen();
    for (const line of gateway.banner) console.log(line);
    const warning = await gateway.probe();
    if (warning !== undefined) console.log(`\nWarning: ${warning}`);
  } catch (error) {
    if (error instanceof ConfigError) leave(EXIT_WRONG_SETTINGS, ...error.problems);
    leave(1, error instanceof Error ? error.message : String(error));
  }
}

/** The first signal lets the running requests end; a second one ends them at once. */
function drainOnSignal(gateway: Gateway): void {
  let firstAtMs: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now();
      void gateway.drain().then(() => leave(0));
      return;
    }
    // Ctrl-C reaches the whole process group, and npm passes a copy on (to us, where sh is bash): one signal, not two.
    const repeated = signal === 'SIGINT' && performance.now() - firstAtMs < REPEATED_SIGNAL_MS;
    if (!repeated) leave(signal === 'SIGINT' ? 130 : 143);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/**
 * After a throw that nobody expected, no one knows what state is half changed, and a wrong record would be kept for ever.
 * So the running requests are told of a failure and the process ends, for a supervisor to start a clean one; a drain would
 * keep the doubtful state alive and the port shut for longer. What a caller or a backend can cause does not come this way.
 */
function crash(gateway: Gateway, thrown: unknown): void {
  console.error(JSON.stringify({ level: 60, time: Date.now(), msg: `crash: ${describeCrash(thrown)}` }));
  process.exitCode = 1;
  setTimeout(() => leave(1), CRASH_LIMIT_MS).unref();
  gateway.close().then(
    () => leave(1),
    () => leave(1),
  );
}

function leave(exitCode: number, ...lines: readonly string[]): never {
  for (const line of lines) console.error(line);
  process.exit(exitCode);
}
