import type { Environment } from '../config/settings.ts';

/** What the commands use of the process. Tests pass their own. */
export interface CliContext {
  readonly env: Environment;
  /** The variables of `env` that come from the file `.env`. */
  readonly fileNames: ReadonlySet<string>;
  /** Takes the results. */
  readonly stdout: Output;
  /** Takes errors and progress. */
  readonly stderr: Output;
  readonly nowMs: () => number;
  /** After the first call Ctrl-C aborts this signal and does not end the process. */
  readonly interruption: () => AbortSignal;
}

/** The part of `process.stdout` that is used. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** A command has failed. The message is one sentence for the person who typed it. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
