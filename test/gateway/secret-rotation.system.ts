/**
 * A change of GATEWAY_SECRET under two gateways on one PostgreSQL, in the order that README gives.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createGateway, readConfig, type Gateway } from '../../src/gateway.ts';
import { openWithSecret } from '../../src/config/gateway-secret.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import type { IssuedKey } from '../../src/contract/operator-types.ts';
import { callerOf } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { newKeyDraft } from '../support/keys.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const server = await findPostgres();
const [OLD, NEW] = ['the old secret of all', 'the new secret of all'];
const ADMIN_TOKEN = 'the-admin-token-of-a-rotation';

interface Place {
  readonly gateway: Gateway;
  readonly url: string;
  /** What it has not answered yet. */
  readonly asked: Set<Promise<unknown>>;
}

if (server !== undefined) {
  describe('a change of the secret of several gateways', () => {
    useRealSockets();
    let database: TestDatabase;
    let backend: ScriptedBackend;
    let places: Place[];

    beforeEach(async () => {
      database = await createTestDatabase(server);
      backend = await startScriptedBackend();
      backend.always(answer());
      places = [];
    });
    afterEach(async () => {
      await Promise.all(places.map(({ gateway }) => gateway.close()));
      await backend.close();
      await database.drop();
    });

    /** As `npm start` does, with a store that waits for a busy machine. */
    async function start(secret: string, previous = ''): Promise<Place> {
      const config = readConfig({
        PORT: '0',
        DATABASE_URL: database.url,
        UPSTREAM_BASE_URL: backend.baseUrl,
        AUTH_MODE: 'managed',
        ADMIN_TOKEN,
        GATEWAY_SECRET: secret,
        GATEWAY_SECRET_PREVIOUS: previous,
        LOG_LEVEL: 'silent',
      });
      const opened = await openWithSecret(config, openStore({ ...config }));
      // A clock by which no key is remembered: each request looks for its key, as the first one of
      // a second does.
      let nowMs = Date.now();
      const gateway = await createGateway(config, { store: opened.store, nowMs: () => (nowMs += 1001) });
      const { url } = await gateway.listen();
      return { gateway, url, asked: new Set() };
    }

    async function issueKey({ url }: Place): Promise<string> {
      const reply = await fetch(`${url}/admin/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `customer ${randomUUID()}` }),
      });
      return ((await reply.json()) as IssuedKey).secret;
    }

    it('refuses no key at any moment, one gateway being started anew after the other', async () => {
      places = [await start(OLD), await start(OLD)];
      const keys: string[] = [];
      for (const place of [...places, ...places]) keys.push(await issueKey(place));
      const statuses = new Map<number, number>();
      const over = new AbortController();

      async function ask({ url, asked }: Place, key: string): Promise<void> {
        const reply = callerOf(url, key).create({ model: 'm', input: 'Hello' });
        const answered = reply.then((reply) => reply.text());
        asked.add(answered);
        await answered;
        asked.delete(answered);
        const { status } = await reply;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      /** Goes to whichever gateways are there, with a key after the other. */
      async function load(first: number): Promise<void> {
        for (let times = first; !over.signal.aborted; times += 1) {
          const [place, key] = [places[times % places.length], keys[(times >> 1) % keys.length]];
          if (place !== undefined && key !== undefined) await ask(place, key);
          await endOfTurn();
        }
      }
      const loads = [0, 1, 2, 3].map(load);

      try {
        for (const [secret, previous] of [
          [OLD, NEW],
          [NEW, OLD],
          [NEW, ''],
        ] as const) {
          for (let times = 0; times < 2; times += 1) {
            const [leaving] = places.splice(0, 1);
            // As a load balancer does it: nothing new goes there, and then it ends.
            if (leaving !== undefined) await Promise.all(leaving.asked);
            await leaving?.gateway.drain();
            places.push(await start(secret, previous));
            // Both of them meet all keys, whatever the load has come to.
            for (const place of places) for (const key of keys) await ask(place, key);
          }
        }
      } finally {
        over.abort();
      }
      await Promise.all(loads);
      expect([...statuses.keys()]).to.deep.equal([200]);
      const refused: unknown = await start(OLD).catch((error: unknown) => error);
      expect(String(refused)).to.match(/GATEWAY_SECRET: is not the secret by which the database/);
    });

    it('leaves a gateway unready that was not told of the new secret before', async () => {
      places = [await start(OLD), await start(NEW, OLD)];
      const checks = [];
      for (const { url } of places) {
        const readiness = (await (await fetch(`${url}/readyz`)).json()) as {
          status: string;
          checks: { secret: boolean };
        };
        checks.push([readiness.status, readiness.checks.secret]);
      }
      expect(checks).to.deep.equal([
        ['not ready', false],
        ['ready', true],
      ]);
    });

    it('finds a key at every moment, while gateways know it by one secret and the other in turn', async () => {
      const open = () => openStore({ databaseUrl: database.url, recordRetentionDays: 30 });
      const stores = [await open(), await open()] as const;
      const { keyId } = await stores[0].createKey(newKeyDraft({ secret: { hash: ['old'], prefix: 'rgk_' } }));
      const lookAs = async (store: Store, ...hash: [string, string]) => {
        for (let times = 0; times < 100; times += 1) {
          expect(await store.findKeyByHash(hash)).to.have.property('keyId', keyId);
        }
      };
      try {
        const several = Array.from({ length: 6 }).flatMap(() => [
          lookAs(stores[0], 'new', 'old'),
          lookAs(stores[1], 'old', 'new'),
        ]);
        await Promise.all(several);
      } finally {
        for (const store of stores) await store.close();
      }
    });
  });
}
