import { rememberUsedFields } from '../../../src/core/request/used-fields.ts';
import { once } from 'node:events';
import { request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { ADMIT_ALL } from '../../../src/accounts/admission.ts';
import type { ChatBody } from '../../../src/core/encoded-chat.ts';
import { openOnlyBackend } from '../../support/only-backend.ts';
import { authenticate } from '../../../src/access/authenticate.ts';
import { errorHandler } from '../../../src/http/error-handler.ts';
import { countInputTokens } from '../../../src/http/responses/count-input-tokens.ts';
import { createItemMemory } from '../../../src/requests/item-memory.ts';
import type { Caller } from '../../../src/accounts/caller.ts';
import { openPreparation } from '../../../src/requests/preparation/preparation.ts';
import type { Tokenizer } from '../../../src/tokenizer/tokenizer.ts';
import { newStoredKey } from '../../support/keys.ts';
import { observe } from '../../support/observe.ts';
import { useRealSockets } from '../../support/real-sockets.ts';

const sealer = { seal: () => 'sealed', open: () => undefined };
const preparation = openPreparation({
  backends: openOnlyBackend(),
  models: { present: null },
  sealers: { reasoning: sealer, compaction: sealer },
  estimator: { estimateInput: () => 1 },
  usedFields: rememberUsedFields(),
  itemMemory: createItemMemory({ itemMemoryTtlS: 0, maxBodyBytes: 1000, nowMs: () => 0 }),
  hostedTools: 'drop',
  history: 'keep',
  imageUrls: 'any',
  authMode: 'passthrough',
  compactionModel: null,
  compactionMaxOutputTokens: 1000,
  itemMemoryTtlS: 0,
  maxBodyBytes: 1000,
  defaultMaxOutputTokens: 1000,
  secret: 'a secret of a test of counts',
  gatewaySecretPrevious: null,
  onDeath: (why) => expect.fail(why),
});

describe('countInputTokens', () => {
  useRealSockets();

  let server: Server;
  let asked: PromiseWithResolvers<AbortSignal>;
  let caller: Caller;
  let counts: { readonly chat: ChatBody; readonly headers: object }[];
  let tokensAtBackend: number | undefined;

  beforeEach(async () => {
    asked = Promise.withResolvers();
    caller = {
      identity: ['a caller'],
      backendHeaders: { authorization: 'Bearer sk-of-caller' },
      holder: () => ({ name: 'a caller', isStranger: false }),
    };
    counts = [];
    tokensAtBackend = undefined;
    // One that never comes to an end by itself.
    const tokenizer: Tokenizer = {
      count(_texts, { signal }) {
        asked.resolve(signal);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
      },
      close: () => Promise.resolve(),
    };
    const app = express();
    app.use(
      observe(),
      authenticate(() => ({ caller })),
      countInputTokens({
        inputCounter: {
          count(chat, { headers }) {
            counts.push({ chat, headers });
            return Promise.resolve(tokensAtBackend);
          },
        },
        tokenizer,
        estimator: { estimateInput: () => 1 },
        admission: ADMIT_ALL,
        models: { present: null },
        preparation,
        maxBodyBytes: 1000,
      }),
      errorHandler,
    );
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  it('is over for the tokenizer as soon as the client has gone', async () => {
    const sent = request({ port: (server.address() as AddressInfo).port, method: 'POST' });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify({ model: 'm', input: 'Hello' }));
    const signal = await asked.promise;
    expect(signal.aborted).to.equal(false);
    const aborted = once(signal, 'abort');
    sent.destroy();
    await aborted;
  });

  async function post(body: object): Promise<unknown> {
    const { port } = server.address() as AddressInfo;
    const reply = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return reply.json();
  }

  it("is the backend's own where it counts, which sees the caller's key", async () => {
    tokensAtBackend = 9;
    expect(await post({ model: 'm', input: 'Hello' })).to.deep.equal({
      object: 'response.input_tokens',
      estimated: false,
      input_tokens: 9,
    });
    const chat = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: false };
    expect(counts).to.deep.equal([{ chat, headers: { authorization: 'Bearer sk-of-caller' } }]);
  });

  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
  for (const [name, input, change] of [
    ['a key that the backend never accepted', 'Hello', { holder: () => ({ name: 'a network', isStranger: true }) }],
    ['an issued key without funds', 'Hello', { key: newStoredKey({ balanceMicro: 0 }) }],
    ['a request with an image', [{ role: 'user', content: [image] }], {}],
  ] as const) {
    it(`is an estimate for ${name}`, async () => {
      tokensAtBackend = 9;
      caller = { ...caller, ...change };
      const reply = post({ model: 'm', input }).catch(() => 'closed');
      // The tokenizer is asked, which never answers.
      expect(await Promise.race([reply, asked.promise])).to.be.instanceOf(AbortSignal);
      expect(counts).to.deep.equal([]);
      server.closeAllConnections();
      await reply;
    });
  }
});
