import { once } from 'node:events';
import { request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { ADMIT_ALL } from '../../../src/accounts/admission.ts';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { authenticate } from '../../../src/http/access/authenticate.ts';
import { errorHandler } from '../../../src/http/error-handler.ts';
import { countInputTokens } from '../../../src/http/responses/count-input-tokens.ts';
import { createItemMemory } from '../../../src/requests/item-memory.ts';
import type { Tokenizer } from '../../../src/tokenizer/tokenizer.ts';
import { observe } from '../../support/observe.ts';
import { useRealSockets } from '../../support/real-sockets.ts';

const sealer = { seal: () => 'sealed', open: () => undefined };

describe('countInputTokens', () => {
  useRealSockets();

  let server: Server;
  let asked: PromiseWithResolvers<AbortSignal>;

  beforeEach(async () => {
    asked = Promise.withResolvers();
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
      authenticate(() => ({
        caller: { identity: ['a caller'], backendHeaders: {}, holder: () => ({ name: 'a caller', isStranger: false }) },
      })),
      countInputTokens({
        tokenizer,
        estimator: { estimateInput: () => 1 },
        admission: ADMIT_ALL,
        itemMemory: createItemMemory({ itemMemoryTtlS: 0, maxBodyBytes: 1000, nowMs: () => 0 }),
        dialect: DIALECTS.generic,
        modelAliases: new Map(),
        models: { present: null },
        hostedTools: 'drop',
        history: 'keep',
        upstreamDialect: 'generic',
        imageUrls: 'any',
        sealers: { reasoning: sealer, compaction: sealer },
        large: { prepareCount: () => Promise.reject(new Error('no request is large here')) },
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
});
