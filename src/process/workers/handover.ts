/**
 * Connections which a worker was handed when it died. `node:cluster` waits for ever for a dead worker to say that it has
 * accepted one (as of Node 24), and so does the client. Here the first process answers in its place that it has not; then
 * the connection goes to another.
 */
import type { ChildProcess } from 'node:child_process';
import { isObject } from '../../core/json.ts';

/** Notes which connections a worker is handed. Returns what to call when it is dead. */
export function watchHandovers(worker: ChildProcess): () => void {
  const handed = new Set<unknown>();
  const send = worker.send.bind(worker);
  worker.send = (...message: unknown[]): boolean => {
    const [first] = message;
    if (isClusterMessage(first) && first['act'] === 'newconn') handed.add(first['seq']);
    return Boolean(Reflect.apply(send, worker, message));
  };
  worker.on('internalMessage', (message: unknown) => {
    if (isClusterMessage(message)) handed.delete(message['ack']);
  });
  return () => {
    for (const ack of handed) worker.emit('internalMessage', { cmd: CLUSTER, ack, accepted: false });
  };
}

const CLUSTER = 'NODE_CLUSTER';

function isClusterMessage(message: unknown): message is Readonly<Record<string, unknown>> {
  return isObject(message) && message['cmd'] === CLUSTER;
}
