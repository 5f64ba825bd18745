import { expect } from 'chai';
import type { UsageList } from '../../src/contract/types.ts';
import { callerOf } from '../records/caller.ts';
import { answer, USAGE } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import type { TestGateway } from '../support/gateway.ts';
import { openManagedGateway } from '../support/managed.ts';

describe('the prefix cache of a backend', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });
  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await backend.close();
  });

  it('is shown with what it saved, in the record and in the usage', async () => {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    gateway = managed;
    const { secret } = await managed.issue();
    const caller = callerOf(managed.url, secret);
    const usage = { ...USAGE, prompt_tokens: 1000, prompt_tokens_details: { cached_tokens: 640 } };
    backend.always(answer('Hello', 'stop', usage));
    const reply = await caller.create({ model: 'm', input: 'Hello' });
    await reply.text();
    // A cached token costs 1 millionth in the place of 2.
    const shown = { cached_tokens: 640, saved: 640 };
    const { cache } = await caller.final(reply.headers.get('x-request-id') ?? '');
    expect(cache).to.include({ ...shown, share: 0.64 });
    const { data } = (await (await caller.get('/api/v1/usage')).json()) as UsageList;
    expect(data[0]).to.include({ ...shown, cached_share: 0.64 });
  });
});
