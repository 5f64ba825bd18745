import type { Operations } from '../queue/operations.ts';
import type { Committable, Connection } from './pool.ts';

export type Remote<Some extends Partial<Operations>> = {
  readonly [Name in keyof Some]: Some[Name] extends (...parameters: infer Parameters extends unknown[]) => infer Result
    ? (connection: Connection, ...parameters: Parameters) => Promise<Result>
    : never;
};

export type RemoteChanges<Some extends Partial<Operations>> = {
  readonly [Name in keyof Some]: Some[Name] extends (...parameters: infer Parameters extends unknown[]) => infer Result
    ? (connection: Connection, ...parameters: Parameters) => Promise<Committable<Result>>
    : never;
};
