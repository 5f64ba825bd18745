import type { OperationName, Operations } from '../queue/operations.ts';
import type { Committable, Connection } from './pool.ts';

export type Remote<Name extends OperationName> = {
  readonly [Each in Name]: (
    connection: Connection,
    ...parameters: Parameters<Operations[Each]>
  ) => Promise<ReturnType<Operations[Each]>>;
};

export type RemoteChanges<Name extends OperationName> = {
  readonly [Each in Name]: (
    connection: Connection,
    ...parameters: Parameters<Operations[Each]>
  ) => Promise<Committable<ReturnType<Operations[Each]>>>;
};
