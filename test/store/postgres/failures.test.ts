import { expect } from 'chai';
import { DatabaseError } from 'pg';
import type { FailureReason } from '../../../src/store/queue/failures.ts';
import { isAnswer, PassingError, toFailure, toReason, UnknownOutcome } from '../../../src/store/postgres/failures.ts';

function stateOf(code: string | undefined): DatabaseError {
  const error = new DatabaseError('on purpose', 10, 'error');
  if (code !== undefined) error.code = code;
  return error;
}

describe('a failure of PostgreSQL', () => {
  const states: readonly { what: string; code: string | undefined; reason: FailureReason | undefined }[] = [
    { what: 'a deadlock', code: '40P01', reason: 'busy' },
    { what: 'a serialization failure', code: '40001', reason: 'busy' },
    { what: 'a lock that was waited for too long', code: '55P03', reason: 'busy' },
    { what: 'an idle transaction that was ended', code: '25P03', reason: 'busy' },
    { what: 'a server that starts', code: '57P03', reason: 'starting' },
    { what: 'a full disk', code: '53100', reason: 'full' },
    { what: 'a read-only transaction', code: '25006', reason: 'read_only' },
    { what: 'a damaged page', code: 'XX001', reason: 'corrupt' },
    { what: 'a damaged index', code: 'XX002', reason: 'corrupt' },
    { what: 'an internal error', code: 'XX000', reason: 'io_error' },
    { what: 'too many connections', code: '53300', reason: 'io_error' },
    { what: 'a wrong password', code: '28P01', reason: 'io_error' },
    { what: 'a database that has gone', code: '3D000', reason: 'io_error' },
    { what: 'a database that takes no connections', code: '55000', reason: 'io_error' },
    { what: 'a statement that took too long', code: '57014', reason: 'io_error' },
    { what: 'a right that was taken', code: '42501', reason: 'io_error' },
    { what: 'a table that has gone', code: '42P01', reason: 'io_error' },
    { what: 'a column that has gone', code: '42703', reason: 'io_error' },
    { what: 'a name of a statement that means another', code: '42P05', reason: 'io_error' },
    { what: 'a name of a statement that means nothing', code: '26000', reason: 'io_error' },
    { what: 'an exception of a trigger', code: 'P0001', reason: 'io_error' },
    { what: 'no state at all', code: undefined, reason: 'io_error' },
    { what: 'a broken constraint', code: '23505', reason: undefined },
    { what: 'a value that does not fit', code: '22003', reason: undefined },
    { what: 'a wrong statement', code: '42601', reason: undefined },
  ];
  for (const { what, code, reason } of states) {
    it(`such as ${what} is ${reason ?? 'a mistake of ours'}`, () => {
      expect(toFailure(stateOf(code))?.reason).to.equal(reason);
    });
  }

  it('is told from mistakes of ours, from what passes, and from what nobody knows', () => {
    expect(toFailure(new RangeError('too large'))).to.equal(undefined);
    expect(toFailure(new TypeError('not a function'))).to.equal(undefined);
    expect(toFailure(new PassingError('gone'))).to.deep.equal({ reason: 'busy', message: 'gone' });
    expect(toFailure(new UnknownOutcome('cut'))).to.deep.equal({ reason: 'lost', message: 'cut' });
    expect(toFailure(new Error('ECONNREFUSED'))).to.deep.equal({ reason: 'io_error', message: 'ECONNREFUSED' });
  });

  it('is an answer, unless the connection has ended with it', () => {
    for (const code of ['23505', '40P01', '57014', '53100']) expect(isAnswer(stateOf(code)), code).to.equal(true);
    for (const code of ['57P01', '57P02', '57P03', '25P03', '08006']) expect(isAnswer(stateOf(code))).to.equal(false);
    expect(isAnswer(new Error('cut'))).to.equal(false);
  });

  it('that settings of a pooler cause comes with a hint', () => {
    const [mixedUp, unsupported] = [stateOf('42P05'), stateOf('08P01')];
    unsupported.message = 'unsupported startup parameter: statement_timeout';
    expect(toReason(mixedUp)).to.match(/^on purpose \(a pooler .* max_prepared_statements\)$/);
    expect(toReason(unsupported)).to.match(
      /^unsupported .*: statement_timeout \(name it in ignore_startup_parameters\)$/,
    );
    expect(toReason(stateOf('08P01'))).to.equal('on purpose');
  });

  it('of several addresses of one server is told for each', () => {
    const error = new AggregateError([new Error('one'), new Error('other')]);
    expect(toReason(error)).to.equal('one, other');
    expect(toReason('text')).to.equal('unknown reason');
  });
});
