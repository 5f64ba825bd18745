import { expect } from 'chai';
import { mergeModelLists } from '../../src/backend/model-list.ts';
import type { BackendSpec } from '../../src/core/routes.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('mergeModelLists', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  beforeEach(async () => {
    backend = await startScriptedBackend();
  });
  afterEach(() => backend.close());

  const specOf = (name: string): BackendSpec => ({
    name,
    dialect: DIALECTS.generic,
    upstreamDialect: 'generic',
    modelAliases: new Map(),
    models: null,
    weight: 1,
    baseUrl: `${backend.baseUrl}/v1`,
    apiKey: null,
    maxConcurrent: null,
    timeouts: {},
    isOnly: false,
  });
  const merge = (data: readonly unknown[]) => {
    for (let lists = 2; lists > 0; lists -= 1) {
      backend.reply(({ start, end }) => {
        start(200, { 'content-type': 'application/json' });
        end(JSON.stringify({ object: 'list', data }));
      });
    }
    const { signal } = new AbortController();
    return mergeModelLists([specOf('one'), specOf('two')], { headers: {}, keyOwner: 'gateway', signal });
  };

  it('names each backend once for a model that its list has often', async () => {
    const { models } = await merge([{ id: 'm' }, { id: 'm' }, { id: 'm' }, null, {}]);

    expect(models).to.deep.equal([{ model: { id: 'm' }, backends: ['one', 'two'] }]);
  });

  it('takes the first 2,000 models of each backend', async () => {
    const { models } = await merge(Array.from({ length: 5000 }, (_, number) => ({ id: `m${number}` })));

    expect(models).to.have.length(2000);
    expect(models.at(-1)).to.deep.equal({ model: { id: 'm1999' }, backends: ['one', 'two'] });
  });

  it('asks over a new connection each time, as one that was kept may be about to close', async () => {
    await merge([]);
    await merge([]);

    expect(backend.requests.map(({ connection }) => connection)).to.deep.equal([0, 1, 2, 3]);
  });
});
