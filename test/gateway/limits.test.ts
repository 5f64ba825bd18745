/** The limits of managed keys at their edges: as the clock moves, and as a key ends, while requests run. */

import { expect } from 'chai';
import type { OwnKey } from '../../src/contract/record-types.ts';
import { callerOf, readError, type Caller } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { openStore } from '../../src/store/open.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

const ENDPOINTS = ['responses', 'chat.completions'] as const;

/** 11 tokens of input at 2 millionths, and 7 of output at 10. */
const COST_MICRO = 92;
/** Enough for the 100 tokens of output that each request reserves and for its input, and not for what one has cost besides. */
const ROOM_MICRO = 1090;
const DAY_MS = 86_400_000;

describe('the limits of a managed key', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let nowMs: number;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs: () => nowMs });
    backend.always(answer());
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function reopen(timeZone: string): Promise<void> {
    await gateway.close();
    const store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, timeZone, clock: () => nowMs });
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs: () => nowMs, store });
  }

  function ask(caller: Caller, endpoint: (typeof ENDPOINTS)[number], stream = false): Promise<Response> {
    return endpoint === 'responses'
      ? caller.create({ model: 'priced', input: 'Hello', max_output_tokens: 100, stream })
      : caller.complete({
          model: 'priced',
          messages: [{ role: 'user', content: 'Hello' }],
          max_tokens: 100,
          stream,
        });
  }

  /** The status of a request that is over. */
  async function run(caller: Caller, endpoint: (typeof ENDPOINTS)[number] = 'responses'): Promise<number> {
    const reply = await ask(caller, endpoint);
    await reply.text();
    if (reply.ok) await caller.final(reply.headers.get('x-request-id') ?? '');
    return reply.status;
  }

  async function issue(wishes: Parameters<ManagedGateway['issue']>[0]): Promise<IssuedKey & { caller: Caller }> {
    const issued = await gateway.issue(wishes);
    return { ...issued, caller: callerOf(gateway.url, issued.secret) };
  }

  async function show(caller: Caller): Promise<OwnKey> {
    return (await caller.get('/api/v1/key')).json() as Promise<OwnKey>;
  }

  const windows = [
    { what: 'day', field: 'spendPerDayMicro', endMs: Date.UTC(2026, 10, 22), zone: 'UTC' },
    { what: 'week', field: 'spendPerWeekMicro', endMs: Date.UTC(2026, 10, 23), zone: 'UTC' },
    { what: 'month', field: 'spendPerMonthMicro', endMs: Date.UTC(2027, 0), zone: 'UTC' },
    { what: 'day', field: 'spendPerDayMicro', endMs: Date.UTC(2026, 9, 25, 23), zone: 'Europe/Berlin' },
    { what: 'month', field: 'spendPerMonthMicro', endMs: Date.UTC(2026, 10, 30, 10), zone: 'Pacific/Kiritimati' },
    // The end of a leap day.
    { what: 'month', field: 'spendPerMonthMicro', endMs: Date.UTC(2028, 1, 29, 15), zone: 'Asia/Tokyo' },
  ] as const;
  for (const { what, field, endMs, zone } of windows) {
    describe(`at the change of the ${what} in ${zone}`, () => {
      beforeEach(async () => {
        nowMs = endMs - 1;
        await reopen(zone);
      });

      it('begin anew with its first millisecond, on both endpoints', async () => {
        const { caller } = await issue({ limits: { [field]: ROOM_MICRO } });
        expect(await run(caller, 'chat.completions')).to.equal(200);
        for (const endpoint of ENDPOINTS) {
          const refused = await ask(caller, endpoint);
          expect(refused.status).to.equal(402);
          const { code, message } = await readError(refused);
          expect(code).to.equal('spend_limit_exceeded');
          expect(message)
            .to.include(`per ${what}`)
            .and.to.include(`until ${new Date(endMs).toISOString()}`);
        }
        nowMs += 1;
        expect(await run(caller, 'responses')).to.equal(200);
        expect(await run(caller, 'responses')).to.equal(402);
      });

      it('count a request in the one in which it ends', async () => {
        const { caller } = await issue({ limits: { [field]: ROOM_MICRO } });
        const letGo = Promise.withResolvers<void>();
        backend.reply(async (stage) => {
          await letGo.promise;
          await answer()(stage);
        });
        const running = run(caller);
        await backend.request(1);
        nowMs += 1;
        // What is held counts in any of them.
        expect(await run(caller)).to.equal(402);
        letGo.resolve();
        expect(await running).to.equal(200);
        expect((await show(caller)).spent).to.deep.equal({
          today: COST_MICRO,
          this_week: COST_MICRO,
          this_month: COST_MICRO,
        });
        expect(await run(caller)).to.equal(402);
      });
    });
  }

  describe('when the clock is set back', () => {
    const midnightMs = Date.UTC(2026, 10, 22);

    it('of a day cannot be used twice, and requests still run', async () => {
      nowMs = midnightMs;
      const { caller, key } = await issue({ limits: { spendPerDayMicro: ROOM_MICRO }, creditsMicro: 10_000 });
      expect(await run(caller)).to.equal(200);
      nowMs = midnightMs - 3_600_000;
      expect(await run(caller)).to.equal(402);
      expect((await show(caller)).spent.today).to.equal(COST_MICRO);
      nowMs = midnightMs + DAY_MS;
      expect(await run(caller)).to.equal(200);
      nowMs = midnightMs;
      await gateway.store.updateKey(key.keyId, { limits: { spendPerDayMicro: null } });
      nowMs += 1000;
      expect(await run(caller)).to.equal(200);
      expect(await gateway.store.findKey(key.keyId)).to.include({
        balanceMicro: 10_000 - 3 * COST_MICRO,
        heldMicro: 0,
        daySpentMicro: 2 * COST_MICRO,
        monthSpentMicro: 3 * COST_MICRO,
      });
    });
  });

  describe('when it ends while it streams', () => {
    const ends: readonly { readonly name: string; readonly end: (issued: IssuedKey) => Promise<unknown> }[] = [
      {
        name: 'disabled',
        end: ({ key }) => gateway.store.updateKey(key.keyId, { isDisabled: true }),
      },
      { name: 'expired', end: () => Promise.resolve() },
      {
        name: 'given a new secret',
        end: ({ key }) => gateway.store.rotateKey(key.keyId, { hash: ['x'], prefix: 'y' }, 0),
      },
    ];
    for (const { name, end } of ends) {
      for (const endpoint of ENDPOINTS) {
        it(`and is ${name} let it finish, charge it, and let nothing else in (${endpoint})`, async () => {
          nowMs = Date.UTC(2026, 10, 21, 12);
          const expiresAtMs = name === 'expired' ? nowMs + 1000 : null;
          const { caller, ...issued } = await issue({ creditsMicro: 10_000, expiresAtMs });
          const letGo = Promise.withResolvers<void>();
          backend.reply(async (stage) => {
            await letGo.promise;
            await answer()(stage);
          });
          const asked = ask(caller, endpoint, true);
          await backend.request(1);
          await end(issued);
          nowMs += 1000;
          for (const other of ENDPOINTS) expect((await ask(caller, other)).status).to.equal(401);
          letGo.resolve();
          expect(await (await asked).text()).to.match(/"Hello"[^]*data: \[DONE\]\n\n$/);
          await until(async () => (await gateway.store.findKey(issued.key.keyId))?.heldMicro === 0);
          const page = await gateway.store.list([issued.key.keyId], { limit: 10 });
          expect(page?.records.map(({ status, costMicro }) => ({ status, costMicro }))).to.deep.equal([
            { status: 'succeeded', costMicro: COST_MICRO },
          ]);
          expect(await gateway.store.findKey(issued.key.keyId)).to.include({ balanceMicro: 10_000 - COST_MICRO });
        });
      }
    }
  });
});
