import { DatabaseError } from 'pg';
import type { Failure, FailureReason } from '../queue/failures.ts';

/** The first entry with which the SQLSTATE begins counts. */
const REASONS: readonly (readonly [state: string, reason: FailureReason | undefined])[] = [
  // A deadlock or a lock timeout: the transaction was rolled back, and a retry may succeed.
  ['40', 'busy'],
  ['55P03', 'busy'],
  // The server ended an idle transaction, because this process was paused meanwhile.
  ['25P03', 'busy'],
  ['57P03', 'starting'],
  ['53100', 'full'],
  ['25006', 'read_only'],
  ['XX001', 'corrupt'],
  ['XX002', 'corrupt'],
  // An operator can fix missing rights, tables or columns while the gateway runs. 42P05 comes from
  // a pooler that gave the name to another statement.
  ['42501', 'io_error'],
  ['42P01', 'io_error'],
  ['42703', 'io_error'],
  ['42P05', 'io_error'],
  // A retry would fail as well.
  ['21', undefined],
  ['22', undefined],
  ['23', undefined],
  ['42', undefined],
  ['', 'io_error'],
];

/** Nothing was changed, and a retry may succeed. */
export class PassingError extends Error {
  override readonly name = 'PassingError';
}

export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}

/** Returns why the database failed; undefined for an error of the caller. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof PassingError) return { reason: 'busy', message: error.message };
  const message = toReason(error);
  if (error instanceof UnknownOutcome) return { reason: 'lost', message };
  if (error instanceof RangeError || error instanceof TypeError) return undefined;
  if (!(error instanceof DatabaseError)) return { reason: 'io_error', message };
  const reason = REASONS.find(([state]) => (error.code ?? '').startsWith(state))?.[1];
  return reason === undefined ? undefined : { reason, message };
}

/** True when the server sent an error after which the connection is usable. */
export function isAnswer(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && !/^(?:08|57P|25P03)/.test(error.code ?? '');
}

/** True of an answer that another server may give otherwise: after a fail-over this one is a replica. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25006';
}

/** Returns the error as a reason for the operator. The driver never shows the password. */
export function toReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if (error instanceof AggregateError) return error.errors.map(toReason).join(', ');
  const hint = hintOf(error);
  return hint === undefined ? error.message : `${error.message} (${hint})`;
}

function hintOf(error: Error): string | undefined {
  const { message } = error;
  const code = 'code' in error ? String(error.code) : '';
  if (code === '42P05' || code === '26000') {
    return 'a pooler in transaction mode must keep prepared statements, as PgBouncer does with max_prepared_statements';
  }
  if (/SELF_SIGNED|^UNABLE_TO/.test(code))
    return 'sslrootcert in DATABASE_URL names a file with an authority of your own';
  return message.startsWith('unsupported startup parameter') ? 'name it in ignore_startup_parameters' : undefined;
}
