import type { CliContext } from './context.ts';

/** Shows what goes on while a command runs, on standard error. */
export interface Progress {
  /** This has begun, and runs until something else begins or ends. */
  begin(label: string): void;
  /** It has ended so. */
  end(line: string): void;
  /** Nothing goes on any more; to be called in every case. */
  stop(): void;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const CLEAR_LINE = '\r\u{1b}[K';

/** On a terminal one line that is written over and over, and gone at the end; elsewhere a line for each thing that has ended. */
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
