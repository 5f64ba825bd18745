/** The thread which has the database to itself, so that waiting for the disk stalls no stream. Started by thread.ts. */
import { parentPort } from 'node:worker_threads';
import { unreachable } from '../../core/errors.ts';
import type { Mode, Operation, Reply } from '../shared/operations.ts';
import { openEngine, type Engine, type EngineOptions } from './engine.ts';

export type ToWorker =
  | readonly ['open', options: EngineOptions]
  | readonly ['run', id: number, mode: Mode, batch: readonly Operation[]]
  | readonly ['close'];

export type FromWorker =
  | readonly ['open']
  | readonly ['refused', message: string]
  | readonly ['reply', id: number, reply: Reply];

let engine: Engine | undefined;

parentPort?.on('message', (message: ToWorker) => {
  switch (message[0]) {
    case 'open':
      return open(message[1]);
    case 'run':
      return run(message[1], message[2], message[3]);
    case 'close':
      engine?.close();
      return parentPort?.close();
    default:
      return unreachable(message);
  }
});

function open(options: EngineOptions): void {
  try {
    engine = openEngine(options);
    answer(['open']);
  } catch (error) {
    answer(['refused', error instanceof Error ? error.message : 'unknown reason']);
    parentPort?.close();
  }
}

function run(id: number, mode: Mode, batch: readonly Operation[]): void {
  if (engine !== undefined) answer(['reply', id, engine.run(mode, batch)]);
}

function answer(message: FromWorker): void {
  parentPort?.postMessage(message);
}
