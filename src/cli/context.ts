import type { Environment } from '../config/settings.ts';

/** What the commands know of the world around them; a test hands in a world of its own. */
export interface CliContext {
  readonly env: Environment;
  /** The variables of `env` which come from the file `.env`. */
  readonly fileNames: ReadonlySet<string>;
  /** For what was asked for. */
  readonly stdout: Output;
  /** For what went wrong, and for progress. */
  readonly stderr: Output;
  readonly nowMs: () => number;
  /** From the first call on, Ctrl-C aborts this signal instead of ending the process. */
  readonly interruption: () => AbortSignal;
}

/** `process.stdout` is one. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** A command cannot do what it was asked for. The message is one sentence for the person who typed it. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
