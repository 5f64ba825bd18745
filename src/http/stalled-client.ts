import type { ServerResponse } from 'node:http';

/**
 * Closes the connection of a client that takes nothing for so long although there is something for it. One that reads
 * slowly is never closed: Node counts every byte that the client takes as activity.
 */
export function closeWhenStalled(res: ServerResponse, stallMs: number): void {
  res.setTimeout(stallMs, () => {
    if (res.writableLength > 0) res.destroy();
  });
}
