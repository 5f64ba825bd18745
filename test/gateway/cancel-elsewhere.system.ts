import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { run } from '../support/cli.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { createTestDatabase, findPostgres } from '../support/postgres.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { until } from '../support/time.ts';

const server = await findPostgres();

const databases: readonly { name: string; make: () => Promise<{ url: string; drop: () => Promise<void> }> }[] = [
  {
    name: 'SQLite',
    make: async () => {
      const shop = makeWorkshop();
      return { url: `file:${shop.file}`, drop: () => shop.clear() };
    },
  },
  ...(server === undefined ? [] : [{ name: 'PostgreSQL', make: () => createTestDatabase(server) }]),
];

for (const { name, make } of databases) {
  describe(`a cancel elsewhere, with ${name}`, () => {
    useRealSockets();
    let backend: ScriptedBackend;
    let database: Awaited<ReturnType<typeof make>>;
    let gateways: TestGateway[];
    let env: Readonly<Record<string, string>>;

    beforeEach(async () => {
      gateways = [];
      backend = await startScriptedBackend();
      backend.always(({ hang }) => hang());
      database = await make();
      env = {
        DATABASE_URL: database.url,
        UPSTREAM_BASE_URL: backend.baseUrl,
        GATEWAY_SECRET: 'the same secret for all of them',
      };
    });
    afterEach(async () => {
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await backend.close();
      await database.drop();
    });

    async function open(): Promise<TestGateway> {
      const gateway = await openGateway(env);
      gateways.push(gateway);
      return gateway;
    }

    async function startRequest(gateway: TestGateway): Promise<{ reply: Promise<Response>; requestId: string }> {
      const reply = gateway.create({ model: 'm', input: 'Hi' });
      let newest: { request_id: string } | undefined;
      // The record of a request for JSON may come a moment after the request to the backend.
      await until(async () => {
        const list = (await (await gateway.get('/api/v1/requests')).json()) as { data: { request_id: string }[] };
        newest = list.data[0];
        return newest !== undefined && backend.requests.length === 1;
      });
      return { reply, requestId: newest?.request_id ?? '' };
    }

    async function expectToEnd({ reply, requestId }: Awaited<ReturnType<typeof startRequest>>) {
      const closing = await backend.requests[0]?.closed;
      expect(closing).to.have.property('aborted', true);
      const answer = (await (await reply).json()) as { error: { code: string } };
      expect([(await reply).status, answer.error.code]).to.deep.equal([409, 'request_cancelled']);
      const record = await gateways[0]?.get(`/api/v1/requests/${requestId}`);
      expect(await record?.json()).to.include({ status: 'cancelled' });
    }

    it('through another gateway stops the call to the backend', async () => {
      const [here, elsewhere] = [await open(), await open()];
      const request = await startRequest(here);
      const asked = await fetch(`${elsewhere.url}/api/v1/requests/${request.requestId}/cancel`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}` },
      });
      expect(asked.status).to.equal(202);
      await expectToEnd(request);
    });

    it('through the command line stops it too', async () => {
      const request = await startRequest(await open());
      expect(await run(['requests', 'cancel', request.requestId], { env })).to.include({ status: 0 });
      await expectToEnd(request);
    });
  });
}
