import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants as system, platform, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Environment } from '../../config/settings.ts';
import type { Configuration } from './agents.ts';

/** Returns the path of a program that this environment finds; undefined when there is none. */
export function findProgram(name: string, { PATH = '' }: Environment): string | undefined {
  return PATH.split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  return isAllowed(path, constants.X_OK) && statSync(path).isFile();
}

export interface Child {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly configure: (folder: string) => Configuration;
}

/** A terminal sends these to the child too. */
const FROM_KEYBOARD: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const SIGNALS: readonly NodeJS.Signals[] = [...FROM_KEYBOARD, 'SIGTERM', 'SIGHUP'];

/**
 * Runs a program on this terminal, with a private folder that is removed at its end, and passes
 * signals on to it. Returns its exit status, as a shell does for one that a signal has ended.
 */
export async function runChild({ path, args, env, configure }: Child): Promise<number> {
  const folder = mkdtempSync(join(findParent(env), 'responses-gateway-'));
  let forward: NodeJS.SignalsListener = () => undefined;
  const listener: NodeJS.SignalsListener = (...heard) => forward(...heard);
  for (const signal of SIGNALS) process.on(signal, listener);
  try {
    const { files, env: own } = configure(folder);
    for (const [name, content] of Object.entries(files)) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    const child = spawn(path, args, { env: { ...env, ...own }, stdio: 'inherit' });
    forward = (signal) => {
      if (!process.stdin.isTTY || !FROM_KEYBOARD.includes(signal)) child.kill(signal);
    };
    await once(child, 'exit');
    return child.signalCode === null ? Number(child.exitCode) : 128 + system.signals[child.signalCode];
  } finally {
    for (const signal of SIGNALS) process.off(signal, listener);
    // What the program has left running may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

const FOR_LONGER = '/var/tmp';

/** Codex warns, and makes no helper programs such as `apply_patch`, where its folder is below that of temporary files. */
function findParent({ TMPDIR = '' }: Environment): string {
  return platform() === 'linux' && TMPDIR === '' && isAllowed(FOR_LONGER, constants.W_OK) ? FOR_LONGER : tmpdir();
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
