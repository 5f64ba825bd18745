import type { TransferProgress } from '../store/transfer/transfer.ts';
import type { CliContext } from './context.ts';
import { formatCount, formatSpan } from './format.ts';

const WORDS = { copy: 'copied', compare: 'compared' } as const;
const CLEAR_LINE = '\r\u{1b}[K';

const REDRAW_MS = 100;
const LINE_MS = 10_000;

export interface ShownTransfer {
  show(progress: TransferProgress): void;
  stop(): void;
}

/** Shows the progress of a transfer on standard error. The end of each step is always shown. */
export function createTransferProgress({ stderr, nowMs }: Pick<CliContext, 'stderr' | 'nowMs'>): ShownTransfer {
  const isTTY = stderr.isTTY === true;
  let begin: { readonly step: TransferProgress['step']; readonly rows: number; readonly atMs: number } | undefined;
  let shownAtMs = 0;
  return {
    show(progress) {
      const atMs = nowMs();
      if (begin?.step !== progress.step) begin = { ...progress, atMs };
      const isOver = progress.rows === progress.ofRows;
      if (!isOver && atMs - shownAtMs < (isTTY ? REDRAW_MS : LINE_MS)) return;
      shownAtMs = atMs;
      const line = formatProgress(progress, { rows: progress.rows - begin.rows, ms: atMs - begin.atMs });
      stderr.write(isTTY ? `${CLEAR_LINE}${line}` : `${line}\n`);
    },
    stop() {
      if (isTTY) stderr.write(CLEAR_LINE);
    },
  };
}

/** Returns `copied 45 000 of 100 000 rows (45 %), 12 300 rows/s, 4.5 s left`. */
export function formatProgress(
  { step, rows, ofRows }: TransferProgress,
  inThisRun: { readonly rows: number; readonly ms: number },
): string {
  const part = ofRows === 0 ? 1 : rows / ofRows;
  const done = `${WORDS[step]} ${formatCount(rows)} of ${formatCount(ofRows)} rows (${Math.floor(part * 100)} %)`;
  if (inThisRun.rows === 0 || inThisRun.ms === 0) return done;
  const perMs = inThisRun.rows / inThisRun.ms;
  const rate = `${done}, ${formatCount(Math.round(perMs * 1000))} rows/s`;
  return rows === ofRows ? rate : `${rate}, ${formatSpan((ofRows - rows) / perMs)} left`;
}
