import type { Environment } from '../config/settings.ts';

export interface CliContext {
  readonly env: Environment;
  readonly fileNames: ReadonlySet<string>;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly nowMs: () => number;
  /** After the first call Ctrl-C aborts this signal and does not end the process. */
  readonly interruption: () => AbortSignal;
  /** Returns the answer of a person. Undefined where nobody is at a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

export interface Output {
  write(text: string, done?: () => void): unknown;
  readonly isTTY?: boolean;
}

/** The message is one sentence for the person who typed the command. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

/** What an option says cannot be; nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
