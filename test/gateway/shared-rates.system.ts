/** Requests and tokens per minute of a key that uses two gateways on one PostgreSQL in turn. */
import { expect } from 'chai';
import { openStore } from '../../src/store/open.ts';
import { callerOf, readError, type Caller } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { inOneMinute } from '../support/one-minute.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('the rates of a key at two gateways on PostgreSQL', () => {
    useRealSockets();
    let database: TestDatabase;
    let backend: ScriptedBackend;
    let gateways: ManagedGateway[];

    beforeEach(async () => {
      database = await createTestDatabase(server);
      backend = await startScriptedBackend();
      backend.always(answer());
      gateways = [];
      for (let times = 0; times < 2; times += 1) {
        const store = await openStore({ databaseUrl: database.url, recordRetentionDays: 30 });
        gateways.push(await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { store }));
      }
    });
    afterEach(async () => {
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await backend.close();
      await database.drop();
    });

    type Wishes = Parameters<ManagedGateway['issue']>[0];

    function withKey(wishes: Wishes, test: (callers: readonly [Caller, Caller]) => Promise<void>): Promise<void> {
      return inOneMinute(async () => {
        const { secret } = (await gateways[0]?.issue(wishes)) ?? { secret: '' };
        const [one, other] = gateways.map(({ url }) => callerOf(url, secret));
        if (one === undefined || other === undefined) throw new Error('two gateways were to be opened');
        await test([one, other]);
      });
    }

    it('let through at both together what one alone would let through, and say so in headers', () =>
      withKey({ limits: { requestsPerMinute: 3 } }, async ([one, other]) => {
        const asked = backend.requests.length;
        for (const [caller, remaining] of [
          [one, '2'],
          [other, '1'],
          [one, '0'],
        ] as const) {
          const reply = await caller.create({ model: 'm', input: 'Hi' });
          expect(reply.status).to.equal(200);
          expect(reply.headers.get('x-ratelimit-remaining-requests')).to.equal(remaining);
          await reply.text();
        }
        for (const caller of [one, other]) {
          const refused = await caller.create({ model: 'm', input: 'Hi' });
          expect(refused.status).to.equal(429);
          expect(refused.headers.get('x-ratelimit-remaining-requests')).to.equal('0');
          expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
          expect(await readError(refused)).to.include({ code: 'rate_limit_exceeded' });
        }
        expect(backend.requests).to.have.lengthOf(asked + 3);
      }));

    it('answer a duplicate before the rate, and the rate before the funds', () =>
      withKey({ limits: { requestsPerMinute: 1 }, creditsMicro: 1_000_000 }, async ([one, other]) => {
        const init = { headers: { 'idempotency-key': 'the same' } };
        const body = { model: 'm', input: 'Hi', max_output_tokens: 20 };
        await (await one.create(body, init)).text();
        expect((await other.create(body, init)).status).to.equal(409);
        // It costs more than the key has.
        const refused = await other.create({ model: 'm', input: 'x'.repeat(4_000_000) });
        expect(refused.status).to.equal(429);
        expect((await other.create(body, init)).status).to.equal(409);
      }));

    it('count at one the tokens which were used at the other', () =>
      withKey({ limits: { tokensPerMinute: 1000 } }, async ([one, other]) => {
        const reply = await one.create({ model: 'm', input: 'Hi', max_output_tokens: 900 });
        await reply.text();
        await one.final(reply.headers.get('x-request-id') ?? '');
        const shown = (await (await other.get('/api/v1/key')).json()) as {
          rate_limits: { tokens_per_minute: { remaining: number } };
        };
        // 11 of input and 7 of output, in the place of what was expected.
        expect(shown.rate_limits.tokens_per_minute.remaining).to.equal(982);
        const next = await other.create({ model: 'm', input: 'Hi', max_output_tokens: 900 });
        expect(next.status).to.equal(200);
        await next.text();
      }));
  });
}
