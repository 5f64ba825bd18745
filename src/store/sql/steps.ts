/**
 * An operation that is the same in both engines is a generator of steps: it yields what it asks of the database, and goes on with
 * the answer. SQLite answers at once, PostgreSQL after a round trip.
 */
import type { AccountId } from '../../contract/ids.ts';
import type { Funding } from '../book/unit-of-work.ts';
import type { OperationName, Operations } from '../queue/operations.ts';
import type { NamedStatement } from './dialect.ts';

export type Step =
  | {
      /** Answered with the rows of all runs, with the number of rows that they changed, or at once, before they have run. */
      readonly ask: 'rows' | 'changes' | 'send';
      /** With an empty text it does nothing: the engine does not need it. */
      readonly statement: NamedStatement;
      /** It runs once for each of these values. */
      readonly each: readonly object[];
    }
  | {
      /** Answered with the funds of these accounts, which no other transaction changes before the end of this one. */
      readonly ask: 'funding';
      readonly of: readonly AccountId[];
    };

export type Steps<Result> = Generator<Step, Result, unknown>;

export type SteppedOperations<Name extends OperationName> = {
  readonly [Each in Name]: (...parameters: Parameters<Operations[Each]>) => Steps<ReturnType<Operations[Each]>>;
};

interface Unchecked {
  /** A method accepts parameters of any type. They were checked where the operation was called. */
  begin(...parameters: unknown[]): Steps<unknown>;
}

export type AnyOperations = Readonly<Record<string, Unchecked['begin']>>;

export function rows<Row>(statement: NamedStatement, ...each: readonly object[]): Steps<readonly Row[]> {
  return answered({ ask: 'rows', statement, each });
}

export function* first<Row>(statement: NamedStatement, values: object = {}): Steps<Row | undefined> {
  return (yield* rows<Row>(statement, values))[0];
}

export function changes(statement: NamedStatement, ...each: readonly object[]): Steps<number> {
  return answered({ ask: 'changes', statement, each });
}

/** Does not wait for it: on PostgreSQL it goes to the server together with the next step, or with the commit. */
export function* send(statement: NamedStatement, ...each: readonly object[]): Steps<void> {
  yield { ask: 'send', statement, each };
}

export function fundingOf(of: readonly AccountId[]): Steps<Funding> {
  return answered({ ask: 'funding', of });
}

function* answered<Answer>(step: Step): Steps<Answer> {
  // The engines answer each step with what it says.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (yield step) as Answer;
}
