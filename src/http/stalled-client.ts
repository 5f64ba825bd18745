import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { StopSignal } from '../core/stop-signal.ts';

/**
 * Closes the connection of a client that takes nothing for so long although there is something for it. One that reads
 * slowly is never closed: Node counts every byte that the client takes as activity.
 */
export function closeWhenStalled(res: ServerResponse, stallMs: number): void {
  res.setTimeout(stallMs, () => {
    if (res.writableLength > 0) res.destroy();
  });
}

/** Resolves when the client has read enough, is gone, or is not worth waiting for any longer. */
export function untilWritable(res: Writable, signal: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      res.off('drain', settle).off('close', settle);
      signal.removeEventListener('abort', settle);
      resolve();
    };
    res.on('drain', settle).on('close', settle);
    signal.addEventListener('abort', settle);
    if (res.destroyed || signal.aborted) settle();
  });
}
