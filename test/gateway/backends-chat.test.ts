/** Managed chat completions among several backends. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { callerOf, readError, type Caller } from '../records/caller.ts';
import { answer, finish, stream, text, USAGE } from '../records/chunks.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import type { TestSettings } from '../support/settings.ts';

const ROLE = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };
const FUNDS = 1_000_000;
/** 11 tokens of input for 2 millionths each, and 7 of output for 10. */
const COST = 11 * 2 + 7 * 10;

/** Half a completion in JSON, and then a broken connection. */
const halfJson: Reply = async ({ start, write, cut }) => {
  start(200, { 'content-type': 'application/json', 'content-length': '200' });
  await write('{"choices": [');
  cut();
};

describe('a managed chat completion among several backends', () => {
  useRealSockets();

  let folder: string;
  let file: string;
  let a: ScriptedBackend;
  let b: ScriptedBackend;
  let gateway: ManagedGateway | undefined;
  let key: IssuedKey['key'];
  let caller: Caller;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'backends-'));
    file = join(folder, 'backends.json');
    a = await startScriptedBackend();
    b = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await Promise.all([a.close(), b.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(failover: 'safe' | 'any', settings: TestSettings = {}): Promise<void> {
    const backends = [
      { name: 'a', base_url: a.baseUrl },
      { name: 'b', base_url: b.baseUrl },
    ];
    writeFileSync(file, JSON.stringify({ backends, failover, expose_upstream: true }));
    const base = { BACKENDS_FILE: file };
    gateway = await openManagedGateway({ ...base, ...settings });
    const issued = await gateway.issue({ creditsMicro: FUNDS });
    key = issued.key;
    caller = callerOf(gateway.url, issued.secret);
  }

  function complete(body: object = {}): Promise<Response> {
    const messages = [{ role: 'user', content: 'Hi' }];
    return caller.complete({ model: 'm', prompt_cache_key: 'one', max_tokens: 100, messages, ...body });
  }

  /** Which of them a conversation goes to first, and the other one. It costs nothing. */
  async function inOrder(): Promise<readonly [ScriptedBackend, ScriptedBackend]> {
    for (const one of [a, b]) one.always({ status: 400, json: { error: { message: 'no' } } });
    await (await complete()).text();
    a.always(answer('from a'));
    b.always(answer('from b'));
    return a.requests.length > 0 ? [a, b] : [b, a];
  }

  async function spent(): Promise<number> {
    return FUNDS - ((await gateway?.store.findKey(key.keyId))?.balanceMicro ?? FUNDS);
  }

  for (const { what, isStream, reply } of [
    { what: 'has said nothing but its role', isStream: true, reply: stream([ROLE], 'cut') },
    { what: 'ends after nothing but its role', isStream: true, reply: stream([ROLE], 'end') },
    { what: 'has said nothing at all', isStream: true, reply: stream([], 'cut') },
    { what: 'streams to a caller who wants JSON, and breaks off', isStream: false, reply: stream([ROLE], 'cut') },
    { what: 'breaks off in the middle of its JSON', isStream: false, reply: halfJson },
    {
      what: 'begins with an error of its own',
      isStream: true,
      reply: { sse: [{ error: { code: 500, message: 'Out of memory' } }] },
    },
  ] satisfies { what: string; isStream: boolean; reply: Reply }[]) {
    it(`is asked for at the other one where the first ${what}, with failover any`, async () => {
      await open('any');
      const [first, second] = await inOrder();
      first.reply(reply);
      const answered = await complete({ stream: isStream });
      const name = second === a ? 'a' : 'b';
      expect([answered.status, answered.headers.get('x-upstream')]).to.deep.equal([200, name]);
      const said = await answered.text();
      expect(said).to.contain(`from ${name}`).and.not.to.contain('"role":"assistant","content":""');
      const record = await caller.final(answered.headers.get('x-request-id') ?? '');
      expect(record).to.include({ status: 'succeeded', upstream: name, cost: COST });
      expect(await spent()).to.equal(COST);
    });
  }

  it('is told as a status where nothing has been said and no other one may be asked', async () => {
    await open('safe');
    const [first, second] = await inOrder();
    first.reply({ sse: [{ error: { code: 500, message: 'Out of memory' } }] });
    const failed = await complete({ stream: true });
    expect([failed.status, (await readError(failed)).code]).to.deep.equal([502, 'upstream_error']);
    expect([second.requests.length, await spent()]).to.deep.equal([0, 0]);
  });

  it('is asked for at the other one after an error as the first event that says that nothing ran', async () => {
    await open('safe');
    const [first, second] = await inOrder();
    first.reply({ sse: [{ error: { code: 429, message: 'not now' } }] });
    const answered = await complete({ stream: true });
    expect(await answered.text()).to.contain(second === a ? 'from a' : 'from b');
  });

  for (const failover of ['safe', 'any'] as const) {
    it(`breaks off where the backend does after output, with failover ${failover}`, async () => {
      await open(failover);
      const [first, second] = await inOrder();
      first.reply(stream([ROLE, text('Hel')], 'cut'));
      const answered = await complete({ stream: true });
      expect(answered.status).to.equal(200);
      expect(await answered.text().catch(() => 'broken')).to.equal('broken');
      expect(second.requests.length).to.equal(0);
    });
  }

  it('passes on all that was held back', async () => {
    await open('any');
    const [first] = await inOrder();
    first.reply(async ({ start, write, sse, end }) => {
      start();
      await write(': wait\n\n');
      await sse(ROLE, text('Hello'), finish('stop'), { choices: [], usage: USAGE }, '[DONE]');
      end();
    });
    const answered = await complete({ stream: true, stream_options: { include_usage: true } });
    expect((await answered.text()).match(/: wait|"role"|Hello|"stop"|"usage"|\[DONE\]/g)).to.deep.equal([
      ': wait',
      '"role"',
      'Hello',
      '"stop"',
      '"usage"',
      '[DONE]',
    ]);
  });

  it('begins when its backend keeps it alive for longer than the headers wait', async () => {
    await open('any', { headerHoldMs: 1 });
    const [first] = await inOrder();
    const { promise: isTold, resolve: told } = Promise.withResolvers<void>();
    first.reply(async ({ start, write, sse, end, wait }) => {
      start();
      for (let isOver = false; !isOver;) {
        await write(': wait\n\n');
        isOver = await Promise.race([isTold.then(() => true), wait(1).then(() => false)]);
      }
      await sse(text('Hello'), finish('stop'), '[DONE]');
      end();
    });
    const answered = await complete({ stream: true });
    told();
    expect(await answered.text()).to.contain('Hello');
  });
});
