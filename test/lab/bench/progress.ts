/** Where a long run is. One line that is written again on a terminal; a line each elsewhere. */
export interface Progress {
  step(what: string): void;
  done(): void;
}

/** Where it is written: standard error, or what looks like it. */
interface Output {
  readonly isTTY: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export function createProgress(steps: number, out: Output = process.stderr): Progress {
  const startMs = performance.now();
  let step = 0;
  return {
    step(what) {
      const seconds = (performance.now() - startMs) / 1000;
      const left = step === 0 ? '' : `, ${Math.ceil((seconds / step) * (steps - step))} s left`;
      step += 1;
      const line = `[${step}/${steps}] ${what} (${Math.round(seconds)} s${left})`;
      out.write(out.isTTY ? `\r\u001B[2K${line.slice(0, (out.columns ?? 80) - 1)}` : `${line}\n`);
    },
    done() {
      if (out.isTTY) out.write('\r\u001B[2K');
    },
  };
}
