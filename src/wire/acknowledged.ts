import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Those of IPv4 and IPv6. Only Linux has them. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

let last: { readonly text: string; readonly atMs: number } | undefined;

/**
 * Returns how many bytes the kernel holds that the peer of this connection has not acknowledged, as it was `withinMs` ago or later;
 * 0 where the system does not say. Many connections may be looked at for one reading of the table.
 */
export function unacknowledgedBytes({ localPort = 0, remotePort = 0 }: Socket, withinMs: number): number {
  const nowMs = performance.now();
  if (last === undefined || nowMs - last.atMs > withinMs || nowMs < last.atMs)
    last = { text: readTables(), atMs: nowMs };
  const [local, remote] = [toHex(localPort), toHex(remotePort)];
  let bytes = 0;
  // Another client may have the same port at its address. Then both count, so that neither is taken for stalled too early.
  for (const [, queued = '0'] of last.text.matchAll(
    new RegExp(`:${local} [0-9A-F]+:${remote} .. ([0-9A-F]{8}):`, 'g'),
  )) {
    bytes += Number.parseInt(queued, 16);
  }
  return bytes;
}

/**
 * Returns how many bytes of its writes this connection has not given to the kernel. It falls while one of many MiB goes on, which
 * counts in `writableLength` as a whole until its end; Node's own limit of a socket's time looks at it too. 0 where Node does not say.
 */
export function unwrittenBytes({ _handle: handle }: Socket & WithHandle): number {
  return handle?.writeQueueSize ?? 0;
}

/** What Node's types do not tell of a socket. */
interface WithHandle {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

function readTables(): string {
  return TABLES.map((path) => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return '';
    }
  }).join('');
}

function toHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
