import { expect } from 'chai';
import type { Connection } from '../../../src/store/postgres/pool.ts';
import { runSteps } from '../../../src/store/postgres/steps.ts';
import { first, rows, send, type Steps } from '../../../src/store/sql/steps.ts';

const one = { name: 'one', text: 'UPDATE one SET a = :a, b = :b WHERE a <> :a' };
const two = { name: 'two', text: 'SELECT :c::text' };
const none = { name: 'none', text: '' };

describe('the steps of an operation on PostgreSQL', () => {
  /** What was sent, and how often the server was waited for before it. */
  let sent: { readonly text: string; readonly values: unknown; readonly waits: number }[];
  let waits: number;
  let connection: Connection;

  beforeEach(() => {
    sent = [];
    waits = 0;
    const answer = async <Answer>(name: string, text: string, values: unknown, answered: Answer): Promise<Answer> => {
      sent.push({ text, values, waits });
      await new Promise(setImmediate);
      waits = sent.length;
      if (name === 'broken') throw new Error('it failed');
      return answered;
    };
    connection = {
      rows: <Row extends object>({ name, text }: { name: string; text: string }, values: unknown) =>
        answer<readonly Row[]>(name, text, values, []),
      changes: ({ name, text }, values) => answer(name, text, values, 1),
    };
  });

  function* twoThatAreSent(): Steps<number> {
    yield* send(one, { a: 1, b: 2 }, { a: 3, b: 4 });
    yield* first(two, { c: 'x' });
    yield* send(one, { a: 5, b: 6 });
    return 7;
  }

  it('numbers the values, each once', async () => {
    await runSteps(connection, twoThatAreSent());
    expect(sent.map(({ text }) => text).slice(0, 3)).to.deep.equal([
      'UPDATE one SET a = $1, b = $2 WHERE a <> $1',
      'UPDATE one SET a = $1, b = $2 WHERE a <> $1',
      'SELECT $1::text',
    ]);
  });

  it('sends what needs no answer together with the next step, and leaves the last for the commit', async () => {
    const { result, last } = await runSteps(connection, twoThatAreSent());
    expect(sent.map((each) => each.waits)).to.deep.equal([0, 0, 0, 3]);
    expect({ result, left: last?.length }).to.deep.equal({ result: 7, left: 1 });
  });

  it('fails with what was sent and failed, whatever comes after it', async () => {
    function* breaking(): Steps<void> {
      yield* send({ name: 'broken', text: 'BROKEN' }, {});
      yield* rows(two, { c: 'x' });
    }
    let failure: unknown;
    await runSteps(connection, breaking()).catch((error: unknown) => (failure = error));
    expect(failure).to.have.property('message', 'it failed');
  });

  it('sends nothing for a statement that PostgreSQL does not need', async () => {
    function* nothing(): Steps<number> {
      yield* send(none, {});
      return (yield* rows(none, {})).length;
    }
    expect(await runSteps(connection, nothing())).to.deep.equal({ result: 0, last: [] });
    expect(sent).to.deep.equal([]);
  });
});
