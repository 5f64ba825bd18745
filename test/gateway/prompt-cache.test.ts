import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ChatRequest } from '../../src/core/chat.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import type { RequestRecord } from '../../src/contract/types.ts';
import type { UsageList } from '../../src/contract/record-types.ts';
import { callerOf, type Caller } from '../records/caller.ts';
import { answer, USAGE } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { expectLonger } from '../support/chat-prefix.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway } from '../support/managed.ts';
import type { TestSettings } from '../support/settings.ts';
import { speakTo } from '../support/web-socket.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const READ = { ...USAGE, prompt_tokens: 1000, prompt_tokens_details: { cached_tokens: 640 } };

const tool = (name: string) => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  strict: true,
});
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });

/** A conversation of an agent after its second answer. */
const SECOND = {
  model: 'm',
  prompt_cache_key: 'a session',
  instructions: 'You are an agent.',
  tools: [tool('look'), tool('write')],
  input: [user('Hello'), assistant('Hello!'), user('Look.'), assistant('I see.'), user('Write.')],
};
const FIRST = { ...SECOND, input: SECOND.input.slice(0, 3) };

describe('the prefix cache of a backend', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;
  let workshop: Workshop;
  let caller: Caller;

  beforeEach(async () => {
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
    backend.always(answer('Hello', 'stop', READ));
  });
  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await backend.close();
    await workshop.clear();
  });

  async function open(settings: TestSettings = {}, overrides: GatewayOverrides = {}): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, overrides);
    caller = callerOf(gateway.url);
  }

  /** What the record of a request says of the cache. */
  async function ask(body: object, path: 'create' | 'complete' = 'create'): Promise<RequestRecord['cache']> {
    const reply = await caller[path](body);
    expect(reply.status, await reply.text()).to.equal(200);
    return (await caller.final(reply.headers.get('x-request-id') ?? '')).cache;
  }

  const BROKEN = (broken_at: string, broken_by: string) => ({ turn: 'broken', broken_at, broken_by });
  const WHOLE = (turn: string) => ({ turn, broken_at: null, broken_by: null });

  it('is shown with what it saved, in the record and in the usage, of each backend too', async () => {
    const file = join(workshop.folder, 'backends.json');
    writeFileSync(
      file,
      JSON.stringify({ backends: [{ name: 'gpu-a', base_url: backend.baseUrl }], expose_upstream: true }),
    );
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: undefined, BACKENDS_FILE: file });
    gateway = managed;
    const { secret } = await managed.issue();
    caller = callerOf(managed.url, secret);
    // A cached token costs 1 millionth in the place of 2.
    const shown = { cached_tokens: 640, saved: 640 };
    expect(await ask({ model: 'm', input: 'Hello' })).to.include({ ...shown, share: 0.64 });
    const { data, backends } = (await (await caller.get('/api/v1/usage')).json()) as UsageList;
    expect(data[0]).to.include({ ...shown, cached_share: 0.64 });
    expect(backends[0]).to.include({ ...shown, backend: 'gpu-a' });
  });

  it('keeps each turn of a conversation that the client only adds to', async () => {
    await open();
    expect(await ask(FIRST)).to.include(WHOLE('first'));
    expect(await ask(SECOND)).to.include(WHOLE('extended'));
    expect(await ask({ ...SECOND, temperature: 0.5, metadata: { turn: '3' } })).to.include(WHOLE('extended'));
    expect(await ask({ ...FIRST, prompt_cache_key: 'another session' })).to.include(WHOLE('first'));
  });

  const later = (change: object) => ({ ...SECOND, ...change });
  const edited = SECOND.input.map((item) => (item.content === 'Hello!' ? assistant('Hello, hello!') : item));
  for (const { what, body, broken } of [
    { what: 'a time in the instructions', body: later({ instructions: 'It is noon.' }), broken: 'instructions' },
    { what: 'tools in another order', body: later({ tools: SECOND.tools.toReversed() }), broken: 'tools' },
    { what: 'an edited message', body: later({ input: edited }), broken: 'message 3 of 4' },
    { what: 'another model', body: later({ model: 'n' }), broken: 'model' },
    { what: 'one tool, chosen by name', body: later({ tools: [SECOND.tools[0]] }), broken: 'tools' },
  ]) {
    it(`is lost by ${what}, which the record names`, async () => {
      await open();
      await ask(FIRST);
      expect(await ask(body)).to.include(BROKEN(broken, 'client'));
    });
  }

  it('is lost by an alias that has moved, and by another dialect, which are settings', async () => {
    const file = join(workshop.folder, 'backends.json');
    const write = (to: string, dialect: string) =>
      writeFileSync(
        file,
        JSON.stringify({ backends: [{ name: 'a', base_url: backend.baseUrl, dialect, aliases: { m: to } }] }),
      );
    write('m-1', 'generic');
    await open({ UPSTREAM_BASE_URL: undefined, BACKENDS_FILE: file });
    const input = SECOND.input.toSpliced(2, 0, { role: 'developer', content: 'Be brief.' });
    const session = { ...SECOND, input };
    await ask(session);
    write('m-2', 'generic');
    gateway?.reload();
    expect(await ask(session)).to.include(BROKEN('model', 'settings'));
    write('m-2', 'openai');
    gateway?.reload();
    expect(await ask(session)).to.include(BROKEN('message 4 of 6', 'settings'));
  });

  it('is kept by an upgrade between two turns, after which no turn before is known', async () => {
    await open();
    await ask(FIRST);
    await gateway?.close();
    await open();
    expect(await ask(SECOND)).to.include(WHOLE('first'));
    const [before, chat] = backend.requests.map(({ body }) => body as ChatRequest);
    expectLonger(chat ?? expect.fail('nothing was asked'), before, 'generic');
  });

  it('is watched over a WebSocket, where a client sends only what is new', async () => {
    await open();
    const speaker = await speakTo(gateway?.url ?? '');
    const ask = async (request: object): Promise<string> => {
      const last = [await speaker.ask({ type: 'response.create', model: 'm', ...request })].flat().at(-1);
      return last !== undefined && 'response' in last ? last.response.id : expect.fail('there is no response');
    };
    const first = await ask({ input: 'Hello' });
    const second = await ask({ input: 'Look.', previous_response_id: first });
    expect((await caller.final(first)).cache).to.include(WHOLE('first'));
    expect((await caller.final(second)).cache).to.include(WHOLE('extended'));
    speaker.close();
    await speaker.closed;
  });

  it('is watched for chat completions as well', async () => {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    gateway = managed;
    caller = callerOf(managed.url, (await managed.issue()).secret);
    const system = { role: 'system', content: 'You are an agent.' };
    const chat = { model: 'm', messages: [system, ...FIRST.input] };
    expect(await ask(chat, 'complete')).to.include(WHOLE('first'));
    expect(await ask({ ...chat, messages: [system, ...SECOND.input] }, 'complete')).to.include(WHOLE('extended'));
    const changed = { ...chat, messages: [{ ...system, content: 'It is noon.' }, ...SECOND.input] };
    expect(await ask(changed, 'complete')).to.include(WHOLE('first'));
    const keyed = { ...changed, prompt_cache_key: 'a session' };
    await ask({ ...chat, prompt_cache_key: 'a session' }, 'complete');
    expect(await ask(keyed, 'complete')).to.include(BROKEN('instructions', 'client'));
  });

  it('serves 16 agents from several replicas as well as from one with as much cache', async () => {
    const rates = new Map<number, number>();
    for (const replicas of [1, 4]) rates.set(replicas, await hitRateOf(replicas));
    const one = rates.get(1) ?? 0;
    expect(one).to.be.greaterThan(0.55);
    for (const [replicas, rate] of rates) expect(rate, `of ${replicas} replicas`).to.be.within(one - 0.02, one + 0.02);
  });

  const AGENTS = 16;
  const TURNS = 4;
  /** All conversations together take a third of them. */
  const BLOCKS = 4096;

  async function hitRateOf(replicas: number): Promise<number> {
    const backends = await Promise.all(Array.from({ length: replicas }, () => startScriptedBackend()));
    const counted = { input: 0, cached: 0 };
    for (const each of backends) {
      const read = createBlockCache(BLOCKS / replicas);
      each.always(async (stage) => {
        const { messages } = stage.request.body as { messages: readonly object[] };
        const { input, cached } = read(JSON.stringify(messages));
        counted.input += input;
        counted.cached += cached;
        const usage = { ...USAGE, prompt_tokens: input, prompt_tokens_details: { cached_tokens: cached } };
        await answer('Hello', 'stop', usage)(stage);
      });
    }
    const file = join(workshop.folder, `${replicas}.json`);
    const named = backends.map(({ baseUrl }, at) => ({ name: `replica-${at}`, base_url: baseUrl }));
    writeFileSync(file, JSON.stringify({ backends: named }));
    await open({ UPSTREAM_BASE_URL: undefined, BACKENDS_FILE: file });
    await Promise.all(Array.from({ length: AGENTS }, (_, at) => runAgent(at)));
    await gateway?.close();
    gateway = undefined;
    await Promise.all(backends.map((each) => each.close()));
    return counted.cached / counted.input;
  }

  async function runAgent(agent: number): Promise<void> {
    const input: object[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      input.push(user(`Agent ${agent} has read file ${turn}. ${'A line of it. '.repeat(100)}`));
      const session = `agent ${agent}`;
      const reply = await caller.create({
        model: 'm',
        instructions: 'You are an agent.',
        input,
        prompt_cache_key: session,
      });
      expect(reply.status, await reply.text()).to.equal(200);
      input.push(assistant('Hello'));
    }
  }
});

/** In characters: 16 tokens, as in vLLM. */
const BLOCK = 64;

/** Counts as vLLM does: whole blocks, each known by its own text and all before it, and the one that was used longest ago goes first. */
function createBlockCache(most: number): (prompt: string) => { readonly input: number; readonly cached: number } {
  const blocks = new Set<string>();
  return (prompt) => {
    let known = '';
    let cached = 0;
    let isPrefix = true;
    for (let end = BLOCK; end <= prompt.length; end += BLOCK) {
      known = hash('sha256', known + prompt.slice(end - BLOCK, end));
      isPrefix &&= blocks.delete(known);
      if (isPrefix) cached += BLOCK / 4;
      blocks.add(known);
    }
    for (const oldest of blocks) {
      if (blocks.size <= most) break;
      blocks.delete(oldest);
    }
    return { input: Math.ceil(prompt.length / 4), cached };
  };
}
