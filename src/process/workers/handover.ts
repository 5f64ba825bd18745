/**
 * `node:cluster` (as of Node 24) waits without a limit for a dead worker to accept the connections
 * on their way to it. The first process refuses them, and another worker gets them.
 */
import type { ChildProcess } from 'node:child_process';
import { isObject } from '../../core/json.ts';

/** Notes which connections a worker is sent. Returns a function to call when the worker is dead. */
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
