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
  let bytesBefore = socket.bytesRead - req.readableLength;
  const timer = setInterval(() => {
    if (!req.isPaused() && socket.bytesRead - bytesBefore < PACE_BYTES) onSlow();
    bytesBefore = socket.bytesRead;
  }, PACE_MS);
  const stop = (): void => clearInterval(timer);
  req.once('end', stop).once('close', stop);
  return stop;
}
