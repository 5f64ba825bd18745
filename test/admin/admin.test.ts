import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import type { AdminGroup, AdminKey, IssuedKey } from '../../src/contract/operator-types.ts';
import { openStore } from '../../src/store/open.ts';
import { newKeyDraft } from '../support/keys.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway } from '../support/managed.ts';
import { compileSchema } from '../support/schemas.ts';

const ADMIN_TOKEN = 'admin-token-canary-1';
const GATEWAY_SECRET = 'gateway-secret-canary';
const UNKNOWN_KEY = `key_${'0'.repeat(32)}`;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    readonly error?: { readonly code: string; readonly param: string; readonly message: string };
  } & Record<string, unknown>;
}

describe('the admin API', () => {
  const isAdminKey = compileSchema('admin.json#/$defs/AdminKey', { closed: true });
  const isKeyList = compileSchema('admin.json#/$defs/KeyList', { closed: true });
  const isLedger = compileSchema('admin.json#/$defs/Ledger', { closed: true });
  const isUsage = compileSchema('admin.json#/$defs/KeyUsageList');
  const isGroup = compileSchema('admin.json#/$defs/AdminGroup', { closed: true });
  const isGroupList = compileSchema('admin.json#/$defs/GroupList', { closed: true });
  const isRequestList = compileSchema('request-replies.json#/$defs/AdminRequestList');
  let gateway: TestGateway;
  let nowMs: number;

  beforeEach(() => {
    nowMs = Date.UTC(2026, 10, 21, 12, 30);
  });
  afterEach(() => gateway.close());

  async function open(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    gateway = await openGateway({ AUTH_MODE: 'managed', ADMIN_TOKEN, ...settings }, { nowMs: () => nowMs });
  }

  async function ask(
    line: string,
    { body, headers, raw }: { body?: unknown; headers?: Record<string, string>; raw?: string } = {},
  ): Promise<Answer> {
    const [method = '', path = ''] = line.split(' ');
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const reply = await fetch(`${gateway.url}${path.startsWith('/api') ? '' : '/admin/v1'}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', ...headers },
      ...(sent !== undefined && { body: sent }),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, text, body: JSON.parse(text) as Answer['body'] };
  }

  async function issue(body: object = {}): Promise<IssuedKey> {
    const answer = await ask('POST /keys', { body: { name: 'a key', ...body } });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body as unknown as IssuedKey;
  }

  async function change(line: string, body?: unknown): Promise<AdminKey> {
    const answer = await ask(line, { body });
    expect(answer.status, answer.text).to.equal(200);
    return answer.body as unknown as AdminKey;
  }

  /** The status that a request under this secret gets. */
  async function statusOf(secret: string): Promise<number> {
    const reply = await gateway.create(
      { model: 'demo', input: 'Hi' },
      { headers: { authorization: `Bearer ${secret}` } },
    );
    await reply.text();
    return reply.status;
  }

  describe('the door', () => {
    it('is not there without ADMIN_TOKEN', async () => {
      await open({ ADMIN_TOKEN: '' });
      const { status, body } = await ask('GET /keys');
      const unknown = await fetch(`${gateway.url}/nowhere`);
      expect(status).to.equal(404);
      expect(body).to.deep.equal(await unknown.json());
    });

    for (const { what, authorization, code } of [
      { what: 'no token', authorization: '', code: 'missing_api_key' },
      { what: 'another token', authorization: 'Bearer admin-token-canary-2', code: 'invalid_api_key' },
      {
        what: 'the beginning of the token',
        authorization: `Bearer ${ADMIN_TOKEN.slice(0, -1)}`,
        code: 'invalid_api_key',
      },
      { what: 'the token and more', authorization: `Bearer ${ADMIN_TOKEN}1`, code: 'invalid_api_key' },
    ]) {
      it(`is shut for ${what}, on every path`, async () => {
        await open();
        for (const line of ['GET /keys', 'POST /keys', 'GET /usage', `DELETE /keys/${UNKNOWN_KEY}`, 'GET /nowhere']) {
          const { status, headers, body } = await ask(line, { headers: { authorization } });
          expect({ status, code: body.error?.code }, line).to.deep.equal({ status: 401, code });
          expect(headers.get('www-authenticate')).to.equal('Bearer');
        }
      });
    }

    it('holds up an address that guesses, but not the one who knows the token', async () => {
      await open();
      const guess = () => ask('GET /keys', { headers: { authorization: 'Bearer wrong' } });
      const statuses = [];
      for (let guesses = 0; guesses < 31; guesses += 1) statuses.push((await guess()).status);
      expect(statuses).to.deep.equal([...Array.from({ length: 30 }, () => 401), 429]);
      expect((await guess()).headers.get('retry-after')).to.equal('60');
      expect((await ask('GET /keys')).status).to.equal(200);
    });

    it('takes no key of a caller, and the API takes no admin token', async () => {
      await open();
      const { secret } = await issue();
      expect((await ask('GET /keys', { headers: { authorization: `Bearer ${secret}` } })).status).to.equal(401);
      expect(await statusOf(ADMIN_TOKEN)).to.equal(401);
    });
  });

  describe('keys', () => {
    beforeEach(() => open());

    it('are issued with a secret that works at once, and that is shown nowhere else', async () => {
      const { secret, ...key } = await issue();
      expect(secret).to.match(/^rgk_[0-9A-Za-z]{40}$/);
      expect(isAdminKey(key), JSON.stringify(isAdminKey.errors)).to.equal(true);
      expect(key).to.deep.equal({
        object: 'key',
        id: key.id,
        name: 'a key',
        group: null,
        prefix: secret.slice(0, 10),
        status: 'active',
        created_at: nowMs / 1000,
        expires_at: null,
        former_secret_until: null,
        last_used_at: null,
        gateway_secret: 'current',
        models: null,
        limits: {
          requests_per_minute: null,
          tokens_per_minute: null,
          spend_per_day: null,
          spend_per_week: null,
          spend_per_month: null,
        },
        balance: null,
        held: '0.00',
        spent_today: '0.00',
        spent_this_week: '0.00',
        spent_this_month: '0.00',
        day_ends_at: Date.UTC(2026, 10, 22) / 1000,
        week_ends_at: Date.UTC(2026, 10, 23) / 1000,
        month_ends_at: Date.UTC(2026, 11, 1) / 1000,
      });
      expect(await change(`GET /keys/${key.id}`)).to.deep.equal(key);
      expect(await statusOf(secret)).to.equal(200);
      expect((await ask('GET /keys')).text).not.to.contain(secret);
    });

    it('are issued as they were asked for', async () => {
      const limits = {
        requests_per_minute: 60,
        tokens_per_minute: 1000,
        spend_per_day: '1.50',
        spend_per_week: '9.00',
        spend_per_month: '30.000001',
      };
      const models = ['demo', 'gpt-*'];
      const expires_at = nowMs / 1000 + 60;
      const key = await issue({ name: 'Ünïcode 鍵', limits, models, expires_at, credits: '10' });
      expect(key).to.deep.include({ name: 'Ünïcode 鍵', limits, models, expires_at, balance: '10.00' });
      expect((await ask(`GET /keys/${key.id}/ledger`)).body['data']).to.have.nested.property('[0].amount', '10.00');
    });

    it('are listed newest first, page by page', async () => {
      const ids = [];
      for (const name of ['one', 'two', 'three']) ids.push((await issue({ name })).id);
      const first = await ask('GET /keys?limit=2');
      expect(isKeyList(first.body), JSON.stringify(isKeyList.errors)).to.equal(true);
      expect(first.body).to.deep.include({ has_more: true });
      expect((first.body['data'] as AdminKey[]).map(({ name }) => name)).to.deep.equal(['three', 'two']);
      const rest = await ask(`GET /keys?after=${ids[1]}`);
      expect((rest.body['data'] as AdminKey[]).map(({ id }) => id)).to.deep.equal([ids[0]]);
    });

    it('are changed in what is named alone', async () => {
      const { id, secret, ...key } = await issue({
        models: ['demo'],
        limits: { requests_per_minute: 5, spend_per_day: '1' },
      });
      const changed = await change(`PATCH /keys/${id}`, { name: 'new', limits: { spend_per_day: null }, models: null });
      expect(secret).to.be.a('string');
      expect(changed).to.deep.equal({
        ...key,
        id,
        name: 'new',
        models: null,
        limits: { ...key.limits, spend_per_day: null },
      });
    });

    it('stop at once when they are disabled, and work again when they are not', async () => {
      const { id, secret } = await issue();
      expect(await statusOf(secret)).to.equal(200);
      expect(await change(`PATCH /keys/${id}`, { disabled: true })).to.include({ status: 'disabled' });
      expect(await statusOf(secret)).to.equal(401);
      expect(await change(`PATCH /keys/${id}`, { disabled: false })).to.include({ status: 'active' });
      expect(await statusOf(secret)).to.equal(200);
    });

    it('tell the hour in which they were used last', async () => {
      const { id, secret } = await issue();
      expect(await change(`GET /keys/${id}`)).to.include({ last_used_at: null });
      nowMs += 90_000;
      expect(await statusOf(secret)).to.equal(200);
      const usedAt = Math.floor(nowMs / 3_600_000) * 3600;
      nowMs += 7_200_000;
      expect(await change(`GET /keys/${id}`)).to.include({ last_used_at: usedAt, gateway_secret: 'current' });
    });

    it('end at their expiry', async () => {
      const { id, secret } = await issue({ expires_at: nowMs / 1000 + 60 });
      expect(await statusOf(secret)).to.equal(200);
      nowMs += 60_000;
      expect(await statusOf(secret)).to.equal(401);
      expect(await change(`GET /keys/${id}`)).to.include({ status: 'expired' });
      expect(await change(`PATCH /keys/${id}`, { expires_at: null })).to.include({ status: 'active' });
      expect(await statusOf(secret)).to.equal(200);
    });

    it('get a new secret, and the former one ends at once', async () => {
      const { id, secret: former } = await issue();
      expect(await statusOf(former)).to.equal(200);
      const { secret, ...key } = (await change(`POST /keys/${id}/rotate`)) as IssuedKey;
      expect(key).to.include({ id, prefix: secret.slice(0, 10), former_secret_until: null });
      expect([await statusOf(former), await statusOf(secret)]).to.deep.equal([401, 200]);
    });

    it('get a new secret while the former one is good for its grace', async () => {
      const { id, secret: former } = await issue();
      const rotated = (await change(`POST /keys/${id}/rotate`, { grace_seconds: 60 })) as IssuedKey;
      expect(rotated.former_secret_until).to.equal(nowMs / 1000 + 60);
      expect([await statusOf(former), await statusOf(rotated.secret)]).to.deep.equal([200, 200]);
      nowMs += 61_000;
      expect([await statusOf(former), await statusOf(rotated.secret)]).to.deep.equal([401, 200]);
      expect(await change(`GET /keys/${id}`)).to.include({ former_secret_until: null });
    });

    it('are deleted', async () => {
      const { id, secret } = await issue();
      expect(await statusOf(secret)).to.equal(200);
      expect(await change(`DELETE /keys/${id}`)).to.deep.equal({ object: 'key', id, deleted: true });
      expect(await statusOf(secret)).to.equal(401);
      expect((await ask(`DELETE /keys/${id}`)).status).to.equal(404);
    });

    it('are nowhere to be stored on the way', async () => {
      const { id } = await issue();
      for (const line of ['GET /keys', 'POST /keys', `GET /keys/${id}`, `POST /keys/${id}/rotate`, 'GET /usage']) {
        const { headers, status } = await ask(line, { ...(line === 'POST /keys' && { body: { name: 'k' } }) });
        expect({ status: status < 300, control: headers.get('cache-control') }, line).to.deep.equal({
          status: true,
          control: 'no-store',
        });
      }
    });

    for (const line of [
      `GET /keys/${UNKNOWN_KEY}`,
      `PATCH /keys/${UNKNOWN_KEY}`,
      `DELETE /keys/${UNKNOWN_KEY}`,
      `POST /keys/${UNKNOWN_KEY}/rotate`,
      `POST /keys/${UNKNOWN_KEY}/credits`,
      `GET /keys/${UNKNOWN_KEY}/ledger`,
      `GET /keys?after=${UNKNOWN_KEY}`,
      'GET /keys/nonsense',
      'GET /keys?after=nonsense',
    ]) {
      it(`are a clear 404 where there is none (${line})`, async () => {
        const body = line.startsWith('PATCH') ? { name: 'x' } : line.includes('credits') ? { amount: '1' } : undefined;
        const answer = await ask(line, { body });
        expect(answer.status).to.equal(404);
        expect(answer.body.error).to.include({ code: 'not_found' });
        expect(answer.body.error?.message).to.match(/^There is no key /);
      });
    }

    it('answer other methods with 405 and what they take', async () => {
      const { status, headers } = await ask(`PUT /keys/${UNKNOWN_KEY}`);
      expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, PATCH, DELETE']);
    });
  });

  describe('credits', () => {
    let id: string;

    beforeEach(async () => {
      await open();
      ({ id } = await issue());
    });

    it('are granted and corrected, and the ledger says why', async () => {
      expect(await change(`POST /keys/${id}/credits`, { amount: '10.00', note: 'paid' })).to.include({
        balance: '10.00',
      });
      nowMs += 1000;
      const correction = { kind: 'adjust', amount: '-12.5', note: 'a mistake', reference: 'ticket 7' };
      expect(await change(`POST /keys/${id}/credits`, correction)).to.include({ balance: '-2.50' });
      const { body } = await ask(`GET /keys/${id}/ledger`);
      expect(isLedger(body), JSON.stringify(isLedger.errors)).to.equal(true);
      const [last, first] = body['data'] as Record<string, unknown>[];
      expect(last).to.include({ ...correction, amount: '-12.50', request_id: null, created_at: nowMs / 1000 });
      expect(first).to.include({ kind: 'grant', amount: '10.00', note: 'paid', reference: null });
    });

    it('are added once for a reference, however often it is sent', async () => {
      const body = { amount: '5', reference: 'invoice 1' };
      const answers = await Promise.all(Array.from({ length: 5 }, () => ask(`POST /keys/${id}/credits`, { body })));
      expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(1);
      expect(answers.filter(({ status }) => status === 409)).to.have.lengthOf(4);
      const refused = answers.find(({ status }) => status === 409);
      expect(refused?.body.error).to.include({ code: 'duplicate_request', param: 'reference' });
      expect(refused?.headers.get('x-should-retry')).to.equal('false');
      expect(await change(`GET /keys/${id}`)).to.include({ balance: '5.00' });
    });

    it('are listed page by page', async () => {
      for (const amount of ['1', '2', '3']) await change(`POST /keys/${id}/credits`, { amount });
      const first = await ask(`GET /keys/${id}/ledger?limit=2`);
      const entries = first.body['data'] as { id: number; amount: string }[];
      expect(entries.map(({ amount }) => amount)).to.deep.equal(['3.00', '2.00']);
      expect(first.body).to.include({ has_more: true });
      const rest = await ask(`GET /keys/${id}/ledger?before=${entries[1]?.id}`);
      expect(rest.body['data']).to.have.nested.property('[0].amount', '1.00');
      expect(rest.body).to.include({ has_more: false });
    });

    it('are listed without the reservations of requests that have ended', async () => {
      await gateway.close();
      gateway = await openManagedGateway({ ADMIN_TOKEN });
      const { id: paying, secret } = await issue({ credits: '5' });
      const headers = { authorization: `Bearer ${secret}` };
      await (await gateway.create({ model: 'm', input: 'Hi' }, { headers })).text();
      const kinds = async (query: string) => {
        const { body } = await ask(`GET /keys/${paying}/ledger?${query}`);
        return (body['data'] as { kind: string }[]).map(({ kind }) => kind);
      };
      expect(await kinds('net=true')).to.deep.equal(['settle', 'grant']);
      for (const all of ['', 'net=false'])
        expect(await kinds(all)).to.deep.equal(['settle', 'release', 'reserve', 'grant']);
    });

    it('are ended, so that a key or a group is no longer prepaid', async () => {
      await ask('POST /groups', { body: { name: 'r', credits: '5' } });
      await change(`POST /keys/${id}/credits`, { amount: '5' });
      for (const account of [`keys/${id}`, 'groups/r'])
        for (const time of ['first', 'again'])
          expect(await change(`DELETE /${account}/credits`), time).to.include({ balance: null });
      const { body } = await ask(`GET /keys/${id}/ledger`);
      expect(body['data']).to.have.lengthOf(2).and.have.nested.property('[0].amount', '-5.00');
    });

    it('cannot grow beyond what can be counted', async () => {
      let status = 200;
      let body: Answer['body'] = {};
      for (let grants = 0; grants < 10 && status === 200; grants += 1) {
        ({ status, body } = await ask(`POST /keys/${id}/credits`, { body: { amount: '999999999.999999' } }));
      }
      expect(body.error).to.include({ code: 'invalid_request', param: 'amount' });
      expect(body.error?.message).to.equal('amount would make the balance too large.');
    });
  });

  describe('groups', () => {
    async function makeGroup(body: object = {}): Promise<AdminGroup> {
      const answer = await ask('POST /groups', { body: { name: 'a group', ...body } });
      expect(answer.status, answer.text).to.equal(201);
      expect(isGroup(answer.body), JSON.stringify(isGroup.errors)).to.equal(true);
      return answer.body as unknown as AdminGroup;
    }

    it('are made, found by id and by name, changed, granted credits and listed', async () => {
      await open();
      const limits = {
        requests_per_minute: 5,
        tokens_per_minute: 6,
        spend_per_day: '7.00',
        spend_per_week: '7.50',
        spend_per_month: '8.00',
      };
      const made = await makeGroup({ name: 'Research / 鍵', limits, models: ['m'], expires_at: 4e9, credits: '10' });
      expect(made).to.deep.include({ name: 'Research / 鍵', keys: 0, limits, models: ['m'], balance: '10.00' });
      const byName = `/groups/${encodeURIComponent('Research / 鍵')}`;
      expect((await ask(`GET ${byName}`)).body).to.deep.equal(made);
      const { body: changed } = await ask(`PATCH ${byName}`, { body: { name: 'r', models: null, disabled: true } });
      expect(changed).to.deep.equal({ ...made, name: 'r', models: null, status: 'disabled' });
      const { body: credited } = await ask('POST /groups/r/credits', { body: { amount: '5', reference: 'one' } });
      expect(credited).to.include({ balance: '15.00' });
      expect((await ask('POST /groups/r/credits', { body: { amount: '5', reference: 'one' } })).status).to.equal(409);
      const { body: ledger } = await ask('GET /groups/r/ledger?limit=1');
      expect(ledger).to.deep.include({ has_more: true });
      expect((ledger['data'] as { amount: string }[]).map(({ amount }) => amount)).to.deep.equal(['5.00']);
      const other = await makeGroup({ name: 'other' });
      const { body: list } = await ask('GET /groups');
      expect(isGroupList(list), JSON.stringify(isGroupList.errors)).to.equal(true);
      expect((list['data'] as AdminGroup[]).map(({ id }) => id)).to.deep.equal([other.id, made.id]);
      expect((await ask(`GET /groups?after=${other.id}`)).body['data']).to.have.length(1);
      expect((await ask('GET /groups?name=other')).body['data']).to.have.length(1);
      expect((await ask('GET /groups?search=OTH')).body['data']).to.have.length(1);
    });

    it('have one of all keys, which limits nothing but spending and keeps its name', async () => {
      await open();
      const key = await issue({ name: 'one' });
      const name = 'whole gateway';
      const whole = `/groups/${encodeURIComponent(name)}`;
      expect((await ask('POST /groups', { body: { name, credits: '1' } })).body.error?.param).to.equal('credits');
      const made = await makeGroup({ name, limits: { spend_per_week: '7.00' } });
      expect((await ask(`GET ${whole}`)).body).to.deep.equal(made);
      expect((await ask('POST /groups', { body: { name } })).body.error).to.include({ code: 'duplicate_request' });
      const wrong: readonly (readonly [path: string, body: object, param: string])[] = [
        [`PATCH ${whole}`, { limits: { tokens_per_minute: 5 } }, 'limits.tokens_per_minute'],
        [`PATCH ${whole}`, { name: 'other' }, 'name'],
        [`POST ${whole}/credits`, { amount: '5' }, 'amount'],
        [`PATCH /groups/${(await makeGroup({ name: 'r' })).id}`, { name }, 'name'],
        [`PATCH /keys/${key.id}`, { group: name }, 'group'],
        [`PATCH /keys/${key.id}`, { group: made.id }, 'group'],
      ];
      for (const [path, body, param] of wrong) {
        const answer = await ask(path, { body });
        expect([answer.status, answer.body.error?.param], path).to.deep.equal([400, param]);
      }
      expect((await ask(`PATCH ${whole}`, { body: { disabled: true } })).body['status']).to.equal('disabled');
      expect(await statusOf(key.secret)).to.equal(401);
      expect((await ask(`DELETE ${whole}`)).body).to.include({ deleted: true });
      expect(await statusOf(key.secret)).to.equal(200);
    });

    it('hold for their keys, which can be moved, and are deleted without keys', async () => {
      await open();
      const group = await makeGroup({ name: 'poor', limits: { requests_per_minute: 1 } });
      const key = await issue({ group: 'poor' });
      expect(key.group).to.deep.equal({ id: group.id, name: 'poor' });
      expect([await statusOf(key.secret), await statusOf(key.secret)]).to.deep.equal([200, 429]);
      const { body: refused, status } = await ask('DELETE /groups/poor');
      expect([status, refused.error?.message]).to.deep.equal([
        400,
        'The group has keys; move them or delete them first.',
      ]);
      expect((await ask('GET /keys?group=poor')).body['data']).to.have.length(1);
      expect((await ask('PATCH /keys/a%20key', { body: { group: null } })).body['group']).to.equal(null);
      expect(await statusOf(key.secret)).to.equal(200);
      expect((await ask('GET /keys?group=poor')).body['data']).to.deep.equal([]);
      expect((await ask('DELETE /groups/poor')).body).to.deep.equal({ object: 'group', id: group.id, deleted: true });
      expect((await ask('GET /groups/poor')).status).to.equal(404);
    });

    it('are told of in 404 and 409 with the field that names them', async () => {
      await open();
      await makeGroup();
      const cases = [
        { line: 'POST /groups', body: { name: 'a group' }, status: 409, param: 'name' },
        { line: 'POST /keys', body: { name: 'k', group: 'nobody' }, status: 404, param: 'group' },
        { line: 'POST /groups', body: { name: 'x', group: 'nested' }, status: 400, param: 'group' },
        { line: `GET /groups?after=group_${'0'.repeat(32)}`, body: undefined, status: 404, param: 'after' },
        { line: 'GET /groups/nobody', body: undefined, status: 404, param: '' },
      ];
      for (const { line, body, status, param } of cases) {
        const answer = await ask(line, { body });
        expect([line, answer.status, answer.body.error?.param]).to.deep.equal([line, status, param]);
      }
    });

    it('have new keys that name them, and their usage and their requests by themselves', async () => {
      await open();
      const { body: missing } = await ask('POST /keys', { body: { name: 'k', group: 'everybody' } });
      expect(missing.error?.message).to.equal('There is no group "everybody".');
      const group = await makeGroup({ name: 'everybody' });
      const [one, other] = [await issue({ name: 'k', group: 'everybody' }), await issue({ name: 'apart' })];
      expect([one.group?.id, other.group]).to.deep.equal([group.id, null]);
      for (const { secret } of [one, one, other]) {
        nowMs += 1;
        expect(await statusOf(secret)).to.equal(200);
      }
      for (const which of ['everybody', group.id, '*']) {
        const { body } = await ask(`GET /usage?group=${encodeURIComponent(which)}`);
        expect(isUsage(body), JSON.stringify(isUsage.errors)).to.equal(true);
        const rows = body['data'] as { key: string; group: string; requests: number }[];
        expect(rows.map(({ key, group, requests }) => [key, group, requests])).to.deep.equal([[one.id, group.id, 2]]);
      }
      expect((await ask('GET /usage?group=*&key=apart')).status).to.equal(400);
      const idsOf = async (query: string) => {
        const { body } = await ask(`GET /requests${query}`);
        expect(isRequestList(body), JSON.stringify(isRequestList.errors)).to.equal(true);
        return (body['data'] as { request_id: string; key: string; group: string | null }[]).map(
          ({ request_id, key, group }) => ({ request_id, key, group }),
        );
      };
      const all = await idsOf('');
      expect(all.map(({ key, group }) => [key, group])).to.deep.equal([
        [other.id, null],
        [one.id, group.id],
        [one.id, group.id],
      ]);
      expect(await idsOf('?group=everybody')).to.deep.equal(all.slice(1));
      expect(await idsOf('?key=apart&status=succeeded&model=demo')).to.deep.equal(all.slice(0, 1));
      expect(await idsOf('?group=everybody&error_code=upstream_error')).to.deep.equal([]);
      const { request_id } = all[2] ?? { request_id: '' };
      expect((await ask(`GET /requests/${request_id}`)).body).to.include({ request_id, key: one.id, group: group.id });
      expect((await ask(`POST /requests/${request_id}/cancel`)).status).to.equal(200);
      expect((await ask(`GET /requests/req_${'0'.repeat(32)}`)).status).to.equal(404);
    });
  });

  describe('usage', () => {
    it('is that of all keys, or of one', async () => {
      await open();
      const one = await issue();
      const other = await issue({ name: 'another key' });
      for (const { secret } of [one, one, other]) expect(await statusOf(secret)).to.equal(200);
      const { body } = await ask('GET /usage?per=day');
      expect(isUsage(body), JSON.stringify(isUsage.errors)).to.equal(true);
      const rows = body['data'] as { key: string; requests: number }[];
      expect(Object.fromEntries(rows.map(({ key, requests }) => [key, requests]))).to.deep.equal({
        [one.id]: 2,
        [other.id]: 1,
      });
      const own = (await ask(`GET /usage?key=${other.id}`)).body['data'] as { key: string }[];
      expect(own.map(({ key }) => key)).to.deep.equal([other.id]);
    });

    it('is there in every mode, but keys are for managed mode alone', async () => {
      await open({ AUTH_MODE: 'static', API_KEYS: 'test-key-of-a-caller' });
      expect(await statusOf('test-key-of-a-caller')).to.equal(200);
      const usage = await ask('GET /usage');
      expect(usage.body['data']).to.have.nested.property('[0].key').that.has.lengthOf(8);
      for (const line of ['GET /keys', 'POST /keys', `GET /keys/${UNKNOWN_KEY}`]) {
        const { status, body } = await ask(line, { ...(line === 'POST /keys' && { body: { name: 'k' } }) });
        expect(status).to.equal(404);
        expect(body.error?.message).to.equal(
          'The gateway issues keys only with AUTH_MODE=managed; it runs with AUTH_MODE=static.',
        );
      }
    });
  });

  it('leaves a key the name that it has, though it could not be given any more', async () => {
    const store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30 });
    const { keyId } = await store.createKey(newKeyDraft({ name: 'a\u202eb' }));
    gateway = await openGateway({ AUTH_MODE: 'managed', ADMIN_TOKEN }, { store });
    const changed = await change(`PATCH /keys/${encodeURIComponent('a\u202eb')}`, { disabled: true });
    expect(changed).to.include({ id: keyId, name: 'a\u202eb', status: 'disabled' });
  });

  describe('a wrong request', () => {
    const long = (length: number) => 'x'.repeat(length);
    const create = (name: string, value: unknown) => ({ line: 'POST /keys', body: { name: 'k', [name]: value } });
    const limit = (name: string, value: unknown) => create('limits', { [name]: value });
    const update = (name: string, value: unknown) => ({ line: 'PATCH /keys/:id', body: { [name]: value } });
    const credit = (name: string, value: unknown) => ({
      line: 'POST /keys/:id/credits',
      body: { amount: '1', [name]: value },
    });
    const cases: readonly { line: string; body?: unknown; param: string; code?: string }[] = [
      { line: 'POST /keys', body: {}, param: 'name', code: 'missing_required_parameter' },
      { line: 'POST /keys', param: 'name', code: 'missing_required_parameter' },
      { line: 'POST /keys', body: [], param: '' },
      { line: 'POST /keys', body: 'name', param: '' },
      { line: 'POST /keys', body: null, param: '' },
      ...['', long(101), 'a\nb', '\u{1b}[2J', 'a\u202eb', 'a\u2028b', 'a\u2066b', 'a\u200bb', 7, null, ['k']].map(
        (name) => ({
          ...create('name', name),
          param: 'name',
        }),
      ),
      ...['2027-01-01', 1.5, -1, 1e12, true].map((at) => ({ ...create('expires_at', at), param: 'expires_at' })),
      ...['demo', [], Array.from({ length: 101 }, () => 'm')].map((list) => ({
        ...create('models', list),
        param: 'models',
      })),
      ...['', long(257), 7, 'a\u0000'].map((model) => ({ ...create('models', ['ok', model]), param: 'models[1]' })),
      ...[[], 'none', 5].map((limits) => ({ ...create('limits', limits), param: 'limits' })),
      ...[0, -1, 1.5, 1e10, '60', true].flatMap((rate) => [
        { ...limit('requests_per_minute', rate), param: 'limits.requests_per_minute' },
        { ...limit('tokens_per_minute', rate), param: 'limits.tokens_per_minute' },
      ]),
      ...[5, '-1', '1.0000001', '1e3', '1,5', '', ' 1', '.5', '1.', '1234567890', 'NaN'].flatMap((amount) => [
        { ...limit('spend_per_day', amount), param: 'limits.spend_per_day' },
        { ...limit('spend_per_month', amount), param: 'limits.spend_per_month' },
        { ...create('credits', amount), param: 'credits' },
      ]),
      { ...create('credit', '1'), param: 'credit' },
      { ...create('disabled', true), param: 'disabled' },
      { ...limit('rpm', 5), param: 'limits.rpm' },
      { line: 'PATCH /keys/:id', body: {}, param: '' },
      { ...update('name', null), param: 'name' },
      { ...update('disabled', 'yes'), param: 'disabled' },
      { ...update('credits', '1'), param: 'credits' },
      { ...update('limits', { spend_per_day: 1 }), param: 'limits.spend_per_day' },
      ...[-1, 1.5, '60', null, 31_536_001].map((grace_seconds) => ({
        line: 'POST /keys/:id/rotate',
        body: { grace_seconds },
        param: 'grace_seconds',
      })),
      { line: 'POST /keys/:id/rotate', body: { grace: 5 }, param: 'grace' },
      { line: 'POST /keys/:id/credits', body: {}, param: 'amount', code: 'missing_required_parameter' },
      ...[5, '0', '0.00', '-0', '', '1e3', '+1', '1.0000001', null].map((amount) => ({
        ...credit('amount', amount),
        param: 'amount',
      })),
      { ...credit('amount', '-1'), param: 'amount' },
      { ...credit('kind', 'reserve'), param: 'kind' },
      { ...credit('note', long(501)), param: 'note' },
      { ...credit('note', 5), param: 'note' },
      { ...credit('reference', ''), param: 'reference' },
      { ...credit('reference', long(201)), param: 'reference' },
      { line: 'GET /keys?limit=0', param: 'limit' },
      { line: 'GET /keys?limit=101', param: 'limit' },
      { line: 'GET /keys?limit=1&limit=2', param: 'limit' },
      { line: 'GET /keys/:id/ledger?before=x', param: 'before' },
      { line: 'GET /keys/:id/ledger?limit=x', param: 'limit' },
      { line: 'GET /keys/:id/ledger?net=yes', param: 'net' },
      { line: 'GET /usage?per=week', param: 'per' },
    ];

    it('is a 400 that names the field and says nothing of its value, and changes nothing', async () => {
      await open();
      const { id, secret: _secret, ...before } = await issue();
      for (const { line, body, param, code = 'invalid_request' } of cases) {
        const answer = await ask(line.replace(':id', id), { body });
        const about = `${line} ${JSON.stringify(body)}`;
        expect(answer.status, about).to.equal(400);
        expect(answer.body.error, about).to.include({ code, param });
        expect(answer.body.error?.message, about).to.match(/^[^\n]+\.$/);
        expect(answer.text, about).not.to.match(/xxxx|1e3|NaN|yes|2027/);
      }
      expect((await ask('GET /keys')).body['data']).to.deep.equal([{ ...before, id }]);
    });

    for (const { what, raw, headers, status, code } of [
      { what: 'that is no JSON', raw: '{"name": "canary', status: 400, code: 'invalid_json' },
      {
        what: 'of another type',
        raw: 'a=b',
        headers: { 'content-type': 'text/plain' },
        status: 415,
        code: 'unsupported_media_type',
      },
      {
        what: 'that is too large',
        raw: JSON.stringify({ name: long(70_000) }),
        status: 413,
        code: 'payload_too_large',
      },
    ]) {
      it(`is a ${status} with a body ${what}`, async () => {
        await open();
        const answer = await ask('POST /keys', { raw, ...(headers !== undefined && { headers }) });
        expect({ status: answer.status, code: answer.body.error?.code }).to.deep.equal({ status, code });
        expect(answer.text).not.to.contain('canary');
      });
    }
  });

  it('leaves no secret, hash or token in logs, replies and the database, but in the reply that issues it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'admin-'));
    let logged = '';
    const log = createLogger('trace', { write: (line: string) => (logged += line) });
    gateway = await openGateway(
      { AUTH_MODE: 'managed', ADMIN_TOKEN, GATEWAY_SECRET, DATABASE_URL: `file:${folder}/gateway.db` },
      { log },
    );
    try {
      const { id, secret } = await issue({ credits: '1' });
      const rotated = (await change(`POST /keys/${id}/rotate`, { grace_seconds: 60 })) as IssuedKey;
      const others = [
        await ask('GET /keys'),
        await ask(`GET /keys/${id}`),
        await ask(`PATCH /keys/${id}`, { body: { name: 7 } }),
        await ask(`GET /keys/${id}/ledger`),
        await ask('GET /usage'),
        await ask('GET /keys', { headers: { authorization: `Bearer ${secret}` } }),
      ];
      const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
      const { keySecret } = createIdentities(GATEWAY_SECRET, null);
      const told = [logged, ...others.map(({ text, headers }) => text + JSON.stringify([...headers]))].join('\n');
      expect(logged).to.contain('/admin/v1/keys');
      for (const text of [secret, rotated.secret]) {
        expect(told).not.to.contain(text);
        expect(told).not.to.contain(keySecret(text)[0]);
        expect(files.join('\n')).not.to.contain(text);
        expect(files.join('\n')).to.contain(keySecret(text)[0]);
      }
      expect(told + files.join('\n')).not.to.contain(ADMIN_TOKEN);
    } finally {
      await gateway.close();
      rmSync(folder, { recursive: true });
    }
  });
});
