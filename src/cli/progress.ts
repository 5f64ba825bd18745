import type { Output } from './context.ts';

export interface Progress {
  begin(label: string): void;
  /** Must be called in every case, since it clears the line. */
  stop(): void;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const CLEAR_LINE = '\r\u{1b}[K';

/** Returns a progress on standard error: one line of a terminal, and nothing where nobody watches. */
export function createProgress({ stderr }: { readonly stderr: Output }): Progress {
  if (stderr.isTTY !== true) {
    return { begin: () => undefined, stop: () => undefined };
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
    stop() {
      clearInterval(timer);
      stderr.write(CLEAR_LINE);
    },
  };
}
