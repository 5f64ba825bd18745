/** What compaction costs a key that the gateway has issued. */

import { expect } from 'chai';
import { callerOf, readError, type Caller } from '../records/caller.ts';
import { answer, stream, text } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { expectBooksToAddUp } from '../support/books.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { useRealSockets } from '../support/real-sockets.ts';

/** 11 tokens of input at 2 millionths, and 7 of output at 10. */
const COST_MICRO = 11 * 2 + 7 * 10;
const CREDITS_MICRO = 1_000_000;
const user = (content: string) => ({ role: 'user', content });
const said = (content: string) => ({ role: 'assistant', content });
const LONG = [user('Find the cat.'), said('x'.repeat(8000)), user('And?'), said('Not yet.'), user('Go on.')];
const ON_THE_WAY = { model: 'm', input: LONG, context_management: [{ type: 'compaction', compact_threshold: 1000 }] };
const REFUSED = { json: { error: { message: 'slow down' } }, status: 429 };

describe('a compaction', () => {
  useRealSockets();

  let workshop: Workshop;
  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let issued: IssuedKey;
  let caller: Caller;

  beforeEach(async () => {
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
    const store = await workshop.open();
    gateway = await openManagedGateway(
      {
        UPSTREAM_BASE_URL: backend.baseUrl,
        COMPACTION_MODEL: 'a-model-without-a-price',
        compactionMaxOutputTokens: 300,
      },
      { store },
    );
    issued = await gateway.issue({ creditsMicro: CREDITS_MICRO });
    caller = callerOf(gateway.url, issued.secret);
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  async function holdOf(reply: Response): Promise<number> {
    const record = await caller.final(reply.headers.get('x-request-id') ?? '');
    const ledger = await gateway.store.listLedger(issued.key.keyId, { limit: 100 });
    const entries = ledger?.entries.filter(({ requestId }) => requestId === record.request_id) ?? [];
    return -(entries.find(({ kind }) => kind === 'reserve')?.amountMicro ?? 0);
  }

  const cases = [
    {
      name: 'by itself costs what the summary took',
      ask: () => caller.compact({ model: 'm', input: LONG }),
      answers: [answer()],
      times: 1,
    },
    {
      name: 'on the way costs what both took',
      ask: () => caller.create(ON_THE_WAY),
      answers: [answer(), answer()],
      times: 2,
    },
    {
      name: 'on the way costs what the summary took when there is no answer',
      ask: () => caller.create(ON_THE_WAY),
      answers: [answer(), REFUSED],
      times: 1,
    },
    {
      name: 'that is refused costs nothing',
      ask: () => caller.compact({ model: 'm', input: LONG }),
      answers: [REFUSED],
      times: 0,
    },
  ];
  for (const { name, ask, answers, times } of cases) {
    it(`${name}, at the price of the model that was asked for`, async () => {
      backend.reply(...answers);
      const reply = await ask();
      await reply.text();
      const { cost } = await caller.final(reply.headers.get('x-request-id') ?? '');
      expect(cost ?? 0).to.equal(times * COST_MICRO);
      expect(expectBooksToAddUp(workshop.file, issued.key.keyId)).to.deep.include({
        balanceMicro: CREDITS_MICRO - times * COST_MICRO,
        spentMicro: times * COST_MICRO,
      });
    });
  }

  it('that breaks off costs what it is estimated at', async () => {
    backend.reply(stream([text('It looked in every room.')], 'cut'));
    const reply = await caller.compact({ model: 'm', input: LONG });
    expect(reply.status).to.equal(502);
    const { cost, usage_estimated } = await caller.final(reply.headers.get('x-request-id') ?? '');
    // 8,000 characters and the prompt are about 2,500 tokens.
    expect([usage_estimated, cost !== null && cost > 4000 && cost < 8000]).to.deep.equal([true, true]);
  });

  it('on the way costs an estimate of both when the caller leaves before the answer begins', async () => {
    backend.reply(answer(), stream([], 'hang'));
    const gone = new AbortController();
    const reply = await caller.create({ ...ON_THE_WAY, stream: true }, { signal: gone.signal });
    await backend.request(2);
    gone.abort();
    const record = await caller.final(reply.headers.get('x-request-id') ?? '');
    expect(record).to.deep.include({ status: 'cancelled', usage_estimated: true });
    // 8,000 characters and the prompt are about 2,500 tokens.
    expect(record.cost).to.be.within(4000, 8000);
  });

  it('on the way reserves for both requests', async () => {
    backend.always(answer());
    const input = [...LONG.slice(0, -1), user('y'.repeat(8000))];
    const heldMicro = await holdOf(await caller.create({ ...ON_THE_WAY, input, max_output_tokens: 100 }));
    // Two answers of 300 tokens at most; of the input, 16,000 characters and the prompt once, and 8,000 again.
    const inputMicro = heldMicro - 2 * 300 * 10;
    expect(inputMicro).to.be.within(2 * 6000, 2 * 7500);
  });

  it('does not begin when the credits do not cover it', async () => {
    const holding = async (creditsMicro: number): Promise<string> => {
      const { secret } = await gateway.issue({ creditsMicro });
      const reply = await callerOf(gateway.url, secret).compact({ model: 'm', input: LONG });
      return reply.status === 200 ? 'answered' : (await readError(reply)).code;
    };
    backend.always(answer());
    // About 2,500 tokens of input, and 300 of output, are 8,000 millionths.
    expect([await holding(7000), await holding(9000)]).to.deep.equal(['insufficient_credits', 'answered']);
  });

  it('is only for the models that the key may use, whatever model writes', async () => {
    const narrow = callerOf(gateway.url, (await gateway.issue({ models: ['priced-*'] })).secret);
    expect((await readError(await narrow.compact({ model: 'm', input: LONG }))).code).to.equal('model_not_found');
    backend.reply(answer());
    expect((await narrow.compact({ model: 'priced-1', input: LONG })).status).to.equal(200);
    expect(backend.requests[0]?.body).to.have.property('model', 'a-model-without-a-price');
  });
});
