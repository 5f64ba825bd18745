/** What a key could take by where it sends, and by when it leaves. Each test prints the figures that it saw. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { callerOf } from '../../records/caller.ts';
import { finish, text, USAGE } from '../../records/chunks.ts';
import { callerBy } from '../../records/web-socket-caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openManagedGateway, type ManagedGateway } from '../../support/managed.ts';
import { createTestDatabase, findPostgres } from '../../support/postgres.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { allArrived, untilRead } from '../../support/time.ts';
import { answerInJson, COST_MICRO, openScene, print } from './scene.ts';

const server = await findPostgres();

describe('a group of keys at two gateways', () => {
  useRealSockets();

  const BUDGET_MICRO = 5000;
  const KEYS = 10;
  const EACH = 5;
  const budgets = [
    { name: 'credits', draft: { credits: '0.005' } },
    { name: 'a limit per day', draft: { limits: { spend_per_day: '0.005' } } },
  ];
  for (const engine of ['SQLite', ...(server === undefined ? [] : ['PostgreSQL'])]) {
    for (const { name, draft } of budgets) {
      it(`spends no more than ${name}, on ${engine}`, async () => {
        const database = engine === 'SQLite' || server === undefined ? undefined : await createTestDatabase(server);
        let asked = 0;
        const scene = await openScene(
          {
            AUTH_MODE: 'managed',
            GATEWAY_SECRET: randomBytes(32).toString('base64url'),
            ...(database !== undefined && { DATABASE_URL: database.url }),
          },
          (res) => {
            asked += 1;
            answerInJson(res);
          },
          2,
        );
        try {
          const { id } = await scene.administrate('POST', '/groups', { name: 'a team', ...draft });
          const keys = await Promise.all(Array.from({ length: KEYS }, () => scene.issue({ group: 'a team' })));
          const callers = scene.urls.map((url) => keys.map(({ secret }) => callerOf(url, secret)));
          const ask = async (n: number): Promise<number> => {
            const caller = callers[n % 2]?.[Math.floor(n / 2) % KEYS];
            const reply = await caller?.create(
              { model: 'm', input: 'Hello', max_output_tokens: 100 },
              // Every fifth one is the same request at both gateways.
              { headers: n % 10 < 2 ? { 'idempotency-key': `${Math.floor(n / 2 / KEYS)}` } : {} },
            );
            await reply?.text();
            return reply?.status ?? 0;
          };
          const statuses = await Promise.all(Array.from({ length: 2 * KEYS * EACH }, (_, n) => ask(n)));
          const served = statuses.filter((status) => status === 200).length;
          const group = await scene.administrate('GET', `/groups/${String(id)}`);
          print(
            `${statuses.length} requests of ${KEYS} keys at once against ${name} of 0.005, ${engine}`,
            'not tried',
            `${served} of them served, ${String(group['spent_today'])} spent, ${String(group['held'])} held`,
          );
          expect(served).to.equal(asked);
          expect(served).to.be.within(1, Math.floor(BUDGET_MICRO / COST_MICRO));
          expect(group).to.include({ held: '0.00' });
        } finally {
          await scene.close();
          await database?.drop();
        }
      });
    }
  }
});

describe('a key at each byte of an answer', () => {
  useRealSockets();

  const PLENTY = 1_000_000_000;
  const AT_ONCE = 40;
  /** `npm run lab adversary` tries each byte. */
  const STEP = Number(process.env['ADVERSARY_SECONDS'] ?? 3) >= 30 ? 1 : 16;
  const WAYS = [
    { name: 'responses as JSON', kind: 'json', isStream: true },
    { name: 'responses as a stream', kind: 'stream', isStream: true },
    { name: 'responses over a WebSocket', kind: 'web socket', isStream: true },
    { name: 'chat completions as JSON', kind: 'chat', isStream: false },
    { name: 'chat completions as a stream', kind: 'chat', isStream: true },
  ] as const;
  const STREAM = [text('Hello'), text(', world'), finish('stop'), { choices: [], usage: USAGE }]
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .concat('data: [DONE]\n\n')
    .join('');
  const JSON_ANSWER = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello, world' }, finish_reason: 'stop' }],
    usage: USAGE,
  });

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  });
  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  for (const { name, kind, isStream } of WAYS) {
    for (const who of ['the caller leaves', 'the backend breaks off']) {
      it(`pays once and holds nothing when ${who}: ${name}`, async () => {
        const answer = Buffer.from(isStream ? STREAM : JSON_ANSWER);
        const written = new Map<number, PromiseWithResolvers<void>>();
        backend.always(async ({ request, start, write, hang, cut }) => {
          const bytes = Number(/after (\d+)/.exec(request.text)?.[1]);
          start(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
          if (bytes > 0) await write(answer.subarray(0, bytes));
          written.get(bytes)?.resolve();
          if (who === 'the caller leaves') await hang();
          else cut(bytes % 2 === 0 ? 'close' : 'reset');
        });
        const costs: number[] = [];
        const statuses: Record<string, number> = {};
        const leaveAfter = async (bytes: number): Promise<void> => {
          const { secret, key } = await gateway.issue({ creditsMicro: PLENTY });
          const caller = kind === 'chat' ? callerOf(gateway.url, secret) : callerBy(kind, gateway.url, secret);
          const leaving = new AbortController();
          const isWritten = Promise.withResolvers<void>();
          written.set(bytes, isWritten);
          const words = `after ${bytes}`;
          const stream = { stream: isStream && kind !== 'json' };
          const reply = (
            kind === 'chat'
              ? caller.complete(
                  { model: 'm', messages: [{ role: 'user', content: words }], ...stream },
                  { signal: leaving.signal },
                )
              : caller.create({ model: 'm', input: words, ...stream }, { signal: leaving.signal })
          ).then(
            (begun) => begun.text().catch(() => ''),
            () => '',
          );
          await isWritten.promise;
          if (who === 'the caller leaves') {
            await allArrived();
            leaving.abort();
          }
          await reply;
          await untilRead(async () => (await gateway.store.findKey(key.keyId))?.heldMicro === 0);
          const { balanceMicro } = (await gateway.store.findKey(key.keyId)) ?? expect.fail();
          const ledger = (await gateway.store.listLedger(key.keyId, { limit: 100 }))?.entries ?? [];
          const charges = ledger.filter(({ kind: entry }) => entry === 'settle');
          expect(charges.length, `charges after ${bytes}`).to.be.at.most(1);
          const list = (await (await callerOf(gateway.url, secret).get('/api/v1/requests')).json()) as {
            data: { status: string; cost: number | null }[];
          };
          const [record] = list.data;
          expect(list.data, `records after ${bytes}`).to.have.lengthOf(1);
          expect(PLENTY - (balanceMicro ?? 0), `charged after ${bytes}`).to.equal(record?.cost ?? 0);
          costs[bytes] = record?.cost ?? 0;
          statuses[record?.status ?? ''] = (statuses[record?.status ?? ''] ?? 0) + 1;
        };
        const places = Array.from({ length: Math.floor(answer.length / STEP) + 1 }, (_, n) => answer.length - n * STEP);
        for (let from = 0; from < places.length; from += AT_ONCE)
          await Promise.all(places.slice(from, from + AT_ONCE).map(leaveAfter));
        const all = places.map((bytes) => costs[bytes] ?? Number.NaN);
        print(
          `${places.length} requests, ${who}: ${name}`,
          'not tried',
          `each charged once, ${Math.min(...all)} to ${Math.max(...all)} millionths; ${JSON.stringify(statuses)}`,
        );
        expect(statuses).not.to.have.property('processing');
        if (who === 'the caller leaves') expect(Math.min(...all)).to.be.at.least(1);
        expect(Math.max(...all)).to.be.at.most(COST_MICRO + 1000);
      });
    }
  }
});
