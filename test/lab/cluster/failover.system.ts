import { expect } from 'chai';
import { readRecord, readTold } from '../../records/caller.ts';
import { answer, stream, text } from '../../records/chunks.ts';
import { expectServerBooksToAddUp } from '../../support/books.ts';
import { findPostgres } from '../../support/postgres.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import { COST_MICRO, CURRENT, openCluster, type Cluster, type Key } from './open-cluster.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('a gateway on PostgreSQL that falls silent', () => {
    useRealSockets();
    let cluster: Cluster;
    let key: Key;

    beforeEach(async () => {
      cluster = await openCluster(server, [CURRENT, CURRENT]);
      key = await cluster.issueKey('1.00');
    });
    afterEach(() => cluster.close());

    /** A request which the first gateway runs until the test ends it. */
    async function start(name: string, isStream: boolean) {
      const headers = { 'idempotency-key': name };
      const asked = cluster.backend.requests.length;
      const reply = cluster.at(0, key.secret).create({ model: 'm', input: name, stream: isStream }, { headers });
      // It may come to no reply, and nobody waits for it then.
      reply.catch(() => undefined);
      await cluster.backend.request(asked + 1);
      const { request_id } = await readRecord(await cluster.at(1, key.secret).get('/api/v1/requests', headers));
      return { reply, requestId: request_id, name };
    }

    it('leaves nothing unfinished when it was killed: another closes it, releases its holds, and calls no backend again', async () => {
      cluster.backend.always(stream([text('Hello')], 'hang'));
      const left = [await start('for JSON', false), await start('a stream', true), await start('cancelled', false)];
      cluster.gateways[0]?.kill();
      await cluster.gateways[0]?.ended();
      const cancelled = left[2]?.requestId ?? '';
      expect((await cluster.at(1, key.secret).cancel(cancelled)).status).to.equal(202);
      await cluster.silence(cancelled);
      for (const { requestId } of left) {
        const record = await cluster.at(1, key.secret).final(requestId);
        expect([record.status, record.error?.code]).to.deep.equal(
          requestId === cancelled ? ['cancelled', 'request_cancelled'] : ['failed', 'gateway_interrupted'],
        );
      }
      for (const { requestId, name } of left) {
        const headers = { 'idempotency-key': name };
        const again = await cluster
          .at(1, key.secret)
          .create({ model: 'm', input: name, stream: name === 'a stream' }, { headers });
        expect([again.status, (await readRecord(again)).request_id]).to.deep.equal([409, requestId]);
      }
      expect(cluster.backend.requests).to.have.lengthOf(3);
      expect(await expectServerBooksToAddUp(cluster.database.url, key.id)).to.include({ requests: 3 });
    });

    it('cannot change what others have closed when it was paused and goes on, and serves under another name', async () => {
      const goOn = Promise.withResolvers<void>();
      cluster.backend.always(async (stage) => {
        await goOn.promise;
        await answer()(stage);
      });
      const { reply, requestId } = await start('before the pause', false);
      cluster.gateways[0]?.signal('SIGSTOP');
      await cluster.silence(requestId);
      const closed = await cluster.at(1, key.secret).final(requestId);
      expect([closed.status, closed.error?.code]).to.deep.equal(['failed', 'gateway_interrupted']);
      const books = await expectServerBooksToAddUp(cluster.database.url, key.id);

      cluster.gateways[0]?.signal('SIGCONT');
      goOn.resolve();
      await readTold(await reply);
      const next = await cluster.at(0, key.secret).create({ model: 'm', input: 'after the pause' });
      expect(next.status).to.equal(200);
      await next.text();
      const nextId = next.headers.get('x-request-id') ?? '';
      expect(await cluster.at(1, key.secret).final(nextId)).to.include({ status: 'succeeded' });
      // What came of the late end is decided: the calls of one gateway reach the database in their order.
      expect(await cluster.at(1, key.secret).record(requestId)).to.deep.equal(closed);
      await until(async () => (await owners()) === cluster.gateways.length);
      expect(await expectServerBooksToAddUp(cluster.database.url, key.id)).to.deep.include({
        spentMicro: books.spentMicro + COST_MICRO,
        requests: 2,
      });
    });

    /** How many processes have shown lately that they live. */
    async function owners(): Promise<number> {
      const living = await cluster.database.run(
        `SELECT 1 FROM owners WHERE seen_at > clock_timestamp() - interval '10 seconds'`,
      );
      return living.length;
    }
  });
}
