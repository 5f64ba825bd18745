/** What becomes of a request, and of its repetitions, when a process of the gateway is paused while it is being accepted. */
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import type { ErrorReply } from '../../../src/contract/types.ts';
import { answer } from '../../records/chunks.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import { openWorkers, type Answer, type Connection, type Workers } from './open-workers.ts';

describe('workers on one SQLite file, while one of their processes is paused', () => {
  useRealSockets();
  let workers: Workers;
  let one: Connection;
  let other: Connection;

  beforeEach(async () => {
    workers = await openWorkers({}, { isImpatient: true });
    // The first process hands connections over, so they are made before it is paused.
    [one, other] = [await workers.connect(1), await workers.connect(2)];
  });
  afterEach(() => workers.close());

  const create = (connection: Connection) =>
    connection.ask('POST', '/api/v1/responses', { model: 'm', input: 'Hello' }, { 'idempotency-key': 'the same' });

  function expectToTryAgain({ status, headers, text }: Answer): void {
    const { error } = JSON.parse(text) as ErrorReply;
    expect([status, error.code, headers['retry-after']]).to.deep.equal([503, 'store_unavailable', '1']);
  }

  /** What it is told in the end who does as `retry-after` says. */
  async function createAgain(connection: Connection): Promise<Answer> {
    let reply = await create(connection);
    await until(async () => {
      if (reply.status !== 503) return true;
      reply = await create(connection);
      return false;
    });
    return reply;
  }

  function countRecords(): number {
    const database = new Sqlite(workers.file, { readonly: true });
    try {
      return database.prepare<[], number>('SELECT count(*) FROM requests').pluck().get() ?? 0;
    } finally {
      database.close();
    }
  }

  it('run a request once that was refused while the process that writes stood still', async () => {
    workers.backend.always(answer());
    workers.gateway.signal('SIGSTOP');
    const refused = await create(one);
    expectToTryAgain(refused);
    workers.gateway.signal('SIGCONT');
    expect(await createAgain(other)).to.include({ status: 200 });
    expect(await createAgain(one)).to.include({ status: 409 });
    expect(workers.backend.requests).to.have.lengthOf(1);
    expect(countRecords()).to.equal(1);
  });

  it('run a request once whose worker stood still when it was accepted', async () => {
    const repeated = Promise.withResolvers<void>();
    workers.backend.always(async (stage) => {
      await repeated.promise;
      await answer()(stage);
    });
    const first = createAgain(one);
    await until(() => countRecords() > 0);
    process.kill(workers.pidOf(1), 'SIGSTOP');
    expectToTryAgain(await create(other));
    process.kill(workers.pidOf(1), 'SIGCONT');
    repeated.resolve();
    const replies = await Promise.all([first, createAgain(other)]);
    expect(replies.map(({ status }) => status)).to.have.members([200, 409]);
    expect(workers.backend.requests).to.have.lengthOf(1);
    expect(countRecords()).to.equal(1);
  });
});
