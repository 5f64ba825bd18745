import { DatabaseError } from 'pg';
import type { Failure, FailureReason } from '../shared/failures.ts';

/** What a state of PostgreSQL (its codes, or how they begin) means for the store; the first that fits holds. */
const REASONS: readonly (readonly [state: string, reason: FailureReason | undefined])[] = [
  // A lock was waited for too long, or in a circle: the transaction was taken back, and another try may do better.
  ['40', 'busy'],
  ['55P03', 'busy'],
  // An idle transaction was ended: this process was stopped meanwhile.
  ['25P03', 'busy'],
  ['57P03', 'starting'],
  ['53100', 'full'],
  ['25006', 'read_only'],
  ['XX001', 'corrupt'],
  ['XX002', 'corrupt'],
  // What the role may do, a table or a column that has gone, a statement whose name has another meaning behind a pooler: an
  // operator can mend it while the gateway runs.
  ['42501', 'io_error'],
  ['42P01', 'io_error'],
  ['42703', 'io_error'],
  ['42P05', 'io_error'],
  // Values that do not fit, constraints, statements: a mistake of ours, which no other try would mend.
  ['21', undefined],
  ['22', undefined],
  ['23', undefined],
  ['42', undefined],
  // All else is about the server or the way to it: connections, resources, passwords, an operator who intervened.
  ['', 'io_error'],
];

/** Nothing was changed, and another try may do better: what was found has just changed, or a connection has ended. */
export class PassingError extends Error {
  override readonly name = 'PassingError';
}

/** Nobody knows whether it was committed. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}

/** Why the database did not do what it was asked for; undefined for a mistake of ours, such as a broken constraint. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof PassingError) return { reason: 'busy', message: error.message };
  const message = toReason(error);
  if (error instanceof UnknownOutcome) return { reason: 'lost', message };
  if (error instanceof RangeError || error instanceof TypeError) return undefined;
  // Whatever does not come from the server itself is about the way to it.
  if (!(error instanceof DatabaseError)) return { reason: 'io_error', message };
  const reason = REASONS.find(([state]) => (error.code ?? '').startsWith(state))?.[1];
  return reason === undefined ? undefined : { reason, message };
}

/** True when the server has answered, with an error after which the connection is as good as before. */
export function isAnswer(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && !/^(?:08|57P|25P03)/.test(error.code ?? '');
}

/** Why something could not be done, for the operator. Nothing the driver says holds the password. */
export function toReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if (error instanceof AggregateError) return error.errors.map(toReason).join(', ');
  const hint = error instanceof DatabaseError ? hintOf(error) : undefined;
  return hint === undefined ? error.message : `${error.message} (${hint})`;
}

/** What the settings of a pooler can cause, and the message alone does not explain. */
function hintOf({ code = '', message }: DatabaseError): string | undefined {
  if (code === '42P05' || code === '26000') {
    return 'a pooler in transaction mode must keep prepared statements, as PgBouncer does with max_prepared_statements';
  }
  return message.startsWith('unsupported startup parameter') ? 'name it in ignore_startup_parameters' : undefined;
}
