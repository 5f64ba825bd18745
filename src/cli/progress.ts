import type { CliContext } from './context.ts';

/** Shows on standard error what a command does. */
export interface Progress {
  /** Shows this step until the next one begins or it ends. */
  begin(label: string): void;
  /** Shows how the step has ended. */
  end(line: string): void;
  /** Clears the line. Must be called in every case. */
  stop(): void;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const CLEAR_LINE = '\r\u{1b}[K';

/**
 * Rewrites one line on a terminal and clears it at the end; elsewhere writes a line for each step
 * that has ended.
 */
export function createProgress({ stderr }: Pick<CliContext, 'stderr'>): Progress {
  if (stderr.isTTY !== true) {
    return { begin: () => undefined, end: (line) => void stderr.write(`${line}\n`), stop: () => undefined };
  }
  let label = '';
  let frame = 0;
  const draw = (): void => {
    frame = (frame + 1) % FRAMES.length;
    stderr.write(`${CLEAR_LINE}${FRAMES[frame]} ${label}`);
  };
  const timer = setInterval(draw, FRAME_MS).unref();
  return {
    begin(next) {
      label = next;
      draw();
    },
    end: () => undefined,
    stop() {
      clearInterval(timer);
      stderr.write(CLEAR_LINE);
    },
  };
}
