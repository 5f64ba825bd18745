import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { issueSecret } from '../../src/accounts/keys.ts';
import type { KeyId } from '../../src/contract/ids.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { UsageList } from '../../src/contract/record-types.ts';
import { callerOf, readError, type Caller } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { newKeyDraft } from '../support/keys.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const SECRET = 'a secret of the test';

describe('the prices of managed keys', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let workshop: Workshop;
  let store: SqliteStore;
  let keyId: KeyId;
  let caller: Caller;
  let pricesFile: string;
  let secretText: string;

  beforeEach(async () => {
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
    pricesFile = join(workshop.folder, 'prices.json');
    // Per token: 1 millionth in and 2 out.
    writePrices({ fast: { input: '1', output: '2' } });
    store = await workshop.open({ file: undefined });
    const secret = issueSecret((text) => createIdentities(SECRET, null).keySecret(text));
    const draft = newKeyDraft({ secret: secret.kept, creditsMicro: 1_000_000 });
    keyId = draft.keyId;
    await store.createKey(draft);
    gateway = await openGateway(
      {
        UPSTREAM_BASE_URL: backend.baseUrl,
        AUTH_MODE: 'managed',
        GATEWAY_SECRET: SECRET,
        MODEL_ALIASES: '{"fast": "llama"}',
        PRICES_FILE: pricesFile,
      },
      { store },
    );
    secretText = secret.text;
    caller = callerOf(gateway.url, secretText);
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  function writePrices(models: object): void {
    writeFileSync(pricesFile, JSON.stringify({ currency: 'USD', models }));
  }

  function complete(request: object): Promise<Response> {
    return fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secretText}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...request, messages: [{ role: 'user', content: 'Hello' }] }),
    });
  }

  /** What a request for the model cost, by its record. */
  async function costOf(reply: Response): Promise<number | null> {
    expect(reply.status).to.equal(200);
    await reply.text();
    return (await caller.final(reply.headers.get('x-request-id') ?? '')).cost;
  }

  it('are those of the moment at which a request is let in, also when they change while it runs', async () => {
    const asked = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    backend.reply(async (stage) => {
      asked.resolve();
      await letGo.promise;
      await answer()(stage);
    });
    backend.always(answer());
    const running = caller.create({ model: 'fast', input: 'Hello' });
    await asked.promise;
    writePrices({ llama: { input: '3', output: '4' } });
    gateway.reload();
    letGo.resolve();

    // 11 × 1 + 7 × 2, and then 11 × 3 + 7 × 4
    expect(await costOf(await running)).to.equal(25);
    expect(await costOf(await caller.create({ model: 'fast', input: 'Hello' }))).to.equal(61);
    expect((await store.findKey(keyId))?.balanceMicro).to.equal(1_000_000 - 25 - 61);
    const usage = (await (await caller.get('/api/v1/usage')).json()) as UsageList;
    expect(usage.data).to.have.length(1);
    expect(usage.data[0]).to.include({ model: 'fast', requests: 2, cost: 86 });
  });

  it('stay in force when the file has got a mistake', async () => {
    backend.always(answer());
    writePrices({ fast: { input: 3, output: '4' } });
    gateway.reload();
    expect(await costOf(await caller.create({ model: 'fast', input: 'Hello' }))).to.equal(25);
  });

  it('are those of the service tier that the answer names, and of its audio', async () => {
    const tier = { service_tier: 'priority', input: '2', output: '4', audio_input: '20' };
    writePrices({ fast: { input: '1', output: '2', tiers: [tier] } });
    gateway.reload();
    const usage = { prompt_tokens: 11, completion_tokens: 7, prompt_tokens_details: { audio_tokens: 10 } };
    for (const service_tier of ['priority', 'default']) {
      backend.always(async ({ start, end }) => {
        start(200, { 'content-type': 'application/json' });
        const choice = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' };
        end(JSON.stringify({ choices: [choice], usage, service_tier }));
      });
      const request = { model: 'fast', service_tier: 'priority' };
      // 1 × 2 + 10 × 20 + 7 × 4, and 11 × 1 + 7 × 2
      const cost = service_tier === 'priority' ? 230 : 25;
      expect(await costOf(await complete(request))).to.equal(cost);
      expect(await costOf(await caller.create({ ...request, input: 'Hello' }))).to.equal(cost);
    }
  });

  for (const service_tier of ['priority', 'ultrafast']) {
    it(`are needed for the service tier ${service_tier} where it is asked for`, async () => {
      const reply = await complete({ model: 'fast', service_tier });
      expect(await readError(reply)).to.deep.include({
        code: 'unsupported_parameter',
        param: 'service_tier',
        message:
          'service_tier is not supported for an API key with funds or limits: the model has no price for this service tier.',
      });
      expect(backend.requests).to.deep.equal([]);
    });
  }

  it('are needed for what costs credits', async () => {
    const reply = await caller.create({ model: 'other', input: 'Hello' });
    expect(reply.status).to.equal(403);
    expect(await readError(reply)).to.include({ code: 'forbidden', param: 'model' });
    expect(backend.requests).to.deep.equal([]);
  });
});
