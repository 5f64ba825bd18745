/** The database has this thread to itself, so that waiting for the disk stalls no stream. */
import { parentPort } from 'node:worker_threads';
import { openRpc } from '../../rpc/rpc.ts';
import { openEngine, type Engine, type EngineOptions } from './engine.ts';

export type EngineService = Pick<Engine, 'run' | 'close'> & {
  readonly open: (options: EngineOptions) => void;
};

let engine: Engine | undefined;

const service: EngineService = {
  open(options) {
    engine = openEngine(options);
  },
  run(mode, batch) {
    if (engine === undefined) throw new Error('the database is not open');
    return engine.run(mode, batch);
  },
  close() {
    engine?.close();
    parentPort?.close();
  },
};

const { receive } = openRpc((message) => parentPort?.postMessage(message), service);
parentPort?.on('message', receive);
