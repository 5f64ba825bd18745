import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import type { Writable } from 'node:stream';
import type { StopSignal } from '../core/stop-signal.ts';
import { callerOf } from './authenticate.ts';
import { takeBytes, type Load } from './load.ts';
import { unacknowledgedBytes, unwrittenBytes } from '../wire/acknowledged.ts';
import { onceServed } from '../wire/until-served.ts';

/**
 * Calls back when the peer of a connection has taken nothing for at least `stallMs` of what waits for it. Node counts what it gives to
 * the kernel, which may hold many MiB, and a peer that takes these steadily lives. A limit of the socket would start again with
 * whatever the peer sends, such as pings. Returns how to stop.
 */
export function watchStall(socketNow: () => Socket | null, stallMs: number, onStalled: () => void): () => void {
  let seen = '';
  let quiet = 0;
  const timer = setInterval(() => {
    const socket = socketNow();
    if (socket === null || socket.writableLength === 0) return;
    const { bytesWritten, writableLength } = socket;
    const now = `${bytesWritten - writableLength} ${unwrittenBytes(socket)} ${unacknowledgedBytes(socket, stallMs / 8)}`;
    quiet = now === seen ? quiet + 1 : 0;
    seen = now;
    if (quiet >= 3) onStalled();
  }, stallMs / 2);
  return () => clearInterval(timer);
}

/** Disconnects a client that takes no byte for this long. */
export function closeWhenStalled(res: ServerResponse, stallMs: number): void {
  onceServed(
    res,
    watchStall(
      () => res.socket,
      stallMs,
      () => res.destroy(),
    ),
  );
}

/** As `closeWhenStalled`, from the end of a reply on. One that the system takes at once needs no timer. */
export function closeIfUnread(res: ServerResponse, stallMs: number): void {
  // Node emits this when it has written all of the reply to the socket.
  res.on('prefinish', () => {
    if (res.writableLength > 0) closeWhenStalled(res, stallMs);
  });
}

/**
 * Returns how to count what is held of an answer while its client does not read. It only grows, and is held until its request
 * is over. The client is disconnected if `take` throws.
 */
export function countUnread(take: (bytes: number) => void, disconnect: () => void): (bytes: number) => void {
  let counted = 0;
  return (bytes) => {
    if (bytes <= counted) return;
    try {
      take(bytes - counted);
      counted = bytes;
    } catch {
      disconnect();
    }
  };
}

/** Counts what is held of a reply that has ended, if its client has not taken all. */
export function countUnreadReply(res: ServerResponse, bytes = res.writableLength): void {
  if (res.writableLength === 0) return;
  countUnread(
    (more) => takeBytes(res.req, more),
    () => res.destroy(),
  )(bytes);
}

/** Returns what counts the unread replies of routes that are not limited by load. */
export function countUnreadReplies({ bodyBytes }: Load): RequestHandler {
  return (_req, res, next) => {
    const { holder } = callerOf(res);
    res.once('prefinish', () => {
      if (res.writableLength === 0) return;
      const share = bodyBytes.open(holder);
      onceServed(res, () => share.release());
      countUnread(
        (bytes) => share.take(bytes),
        () => res.destroy(),
      )(res.writableLength);
    });
    next();
  };
}

/**
 * Returns how to wait until the client can take more, has disconnected, or the signal aborts. Everything that waits at a
 * time waits together, since the last words of a large answer are written without waiting for each.
 */
export function awaitWritable(res: Writable, signal: StopSignal): () => Promise<void> {
  let waiting: Promise<void> | undefined;
  return () => (waiting ??= wait());

  function wait(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        res.off('drain', settle).off('close', settle);
        signal.removeEventListener('abort', settle);
        waiting = undefined;
        resolve();
      };
      res.on('drain', settle).on('close', settle);
      signal.addEventListener('abort', settle);
      if (res.destroyed || signal.aborted) settle();
    });
  }
}

/**
 * Returns how much is held of an answer while its client does not read, since the last event repeats it. Some strings take two bytes
 * for each code unit, and all of them have parts that are strings of their own.
 */
export function heldBytesOf({ outputLength }: { readonly outputLength: number }): number {
  return 2 * outputLength;
}
