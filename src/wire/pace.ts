import type { IncomingMessage } from 'node:http';

/** A body that brings less than 1 KiB/s over this time would hold its share for too long. */
const PACE_MS = 10_000;
const PACE_BYTES = 10 * 1024;

/**
 * Calls back if the body comes too slowly. One that is paused waits for the gateway, not for its
 * client. Returns how to stop; the end of the body stops it too.
 */
export function watchPace(req: IncomingMessage, onSlow: () => void): () => void {
  // A body that was read before has no event any more that would stop it.
  if (req.readableEnded || req.destroyed) return () => undefined;
  const { socket } = req;
  const stop = watchBytes({
    bytesBefore: socket.bytesRead - req.readableLength,
    bytesNow: () => socket.bytesRead,
    isPaused: () => req.isPaused(),
    onSlow,
  });
  req.once('end', stop).once('close', stop);
  return stop;
}

export interface Watched {
  readonly bytesBefore: number;
  readonly bytesNow: () => number;
  readonly isPaused: () => boolean;
  readonly onSlow: () => void;
}

/** As `watchPace`, for what has no end that would stop it. */
export function watchBytes({ bytesBefore, bytesNow, isPaused, onSlow }: Watched): () => void {
  let before = bytesBefore;
  const timer = setInterval(() => {
    const now = bytesNow();
    if (!isPaused() && now - before < PACE_BYTES) onSlow();
    before = now;
  }, PACE_MS);
  return () => clearInterval(timer);
}
