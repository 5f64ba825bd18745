#!/usr/bin/env node
import { join } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { findStartProblem } from '../process/start-problem.ts';
import { keepRequestsYoung } from '../process/young-objects.ts';
import { CliError } from './context.ts';

const problem = findStartProblem();
if (problem === undefined) {
  process.exitCode = await run();
} else {
  console.error(problem);
  process.exitCode = 1;
}

async function run(): Promise<number> {
  keepRequestsYoung();
  // An old Node crashes while it loads the database driver, so this import comes after the check.
  const { keepCompiled } = await import('../process/compile-cache.ts');
  keepCompiled(join(import.meta.dirname, '..'), process.env);
  const { runCli } = await import('./program.ts');
  const { loadEnvFile } = await import('../config/env-file.ts');
  // A reader such as `head` has what it wants when it closes the output.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  // The exit status still says what nobody reads.
  process.stderr.on('error', () => undefined);
  let fileNames: ReadonlySet<string>;
  try {
    fileNames = loadEnvFile(process.env);
  } catch (error) {
    console.error(`The file .env cannot be read: ${messageOf(error)}.`);
    return 1;
  }
  let interruption: AbortController | undefined;
  return runCli(process.argv.slice(2), {
    fileNames,
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    nowMs: Date.now,
    interruption() {
      if (interruption === undefined) {
        const controller = new AbortController();
        process.once('SIGINT', () => controller.abort());
        interruption = controller;
      }
      return interruption.signal;
    },
    ask: process.stdin.isTTY ? ask : undefined,
  });
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  // Ctrl-C and Ctrl-D end the input, and would leave the question open.
  lines.once('close', () => closed.abort());
  try {
    return await lines.question(question, { signal: closed.signal });
  } catch {
    throw new CliError('Interrupted.');
  } finally {
    lines.close();
  }
}
