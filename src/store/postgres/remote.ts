import type { Operations } from '../shared/operations.ts';
import type { Committable, Connection } from './pool.ts';

/** Operations that run through a connection. */
export type Remote<Some extends Partial<Operations>> = {
  readonly [Name in keyof Some]: Some[Name] extends (...parameters: infer Parameters extends unknown[]) => infer Result
    ? (connection: Connection, ...parameters: Parameters) => Promise<Result>
    : never;
};

/** Operations that each run in a transaction of their own. */
export type RemoteChanges<Some extends Partial<Operations>> = {
  readonly [Name in keyof Some]: Some[Name] extends (...parameters: infer Parameters extends unknown[]) => infer Result
    ? (connection: Connection, ...parameters: Parameters) => Promise<Committable<Result>>
    : never;
};
