/** The command line as a person meets it, in this process and with what it prints in hand. */
import { runCli } from '../../src/cli/program.ts';
import type { Environment } from '../../src/config/settings.ts';

export interface Printed {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliRun {
  readonly env?: Environment;
  readonly fileNames?: ReadonlySet<string>;
  readonly isTTY?: boolean;
  /** Standard output goes to a file. */
  readonly isPiped?: boolean;
  readonly nowMs?: () => number;
  /** Ends what goes on until Ctrl-C. */
  readonly interruption?: AbortSignal;
  /** Answers as a person at a terminal does. */
  readonly ask?: (question: string) => Promise<string>;
  /** Sees everything that goes to standard output, as it comes. */
  readonly onWrite?: (text: string) => void;
}

/** Runs one command line, such as `keys list`, and resolves when it is over. */
export async function run(line: string | readonly string[], options: CliRun = {}): Promise<Printed> {
  const {
    env = {},
    fileNames = new Set(),
    isTTY = false,
    isPiped = false,
    nowMs = Date.now,
    interruption,
    ask,
    onWrite,
  } = options;
  const printed = { stdout: '', stderr: '' };
  const open = (name: keyof typeof printed) => ({
    isTTY: isTTY && !(isPiped && name === 'stdout'),
    write(text: string, done?: () => void) {
      printed[name] += text;
      if (name === 'stdout') onWrite?.(text);
      done?.();
    },
  });
  const status = await runCli(typeof line === 'string' ? line.split(' ') : line, {
    env,
    fileNames,
    stdout: open('stdout'),
    stderr: open('stderr'),
    nowMs,
    ask,
    interruption: () => interruption ?? new AbortController().signal,
  });
  return { status, ...printed };
}
