import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import {
  createItemMemory,
  writeItems,
  type ItemMemory,
  type ItemMemoryOptions,
} from '../../src/requests/item-memory.ts';
import type { Identity } from '../../src/core/ids.ts';
import type { OutputItem } from '../../src/contract/types.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { speakTo } from '../support/web-socket.ts';
import { responseOf } from '../support/web-socket-scene.ts';

const ME: Identity = ['me'];
const OTHER: Identity = ['other'];

function message(id: string, text = id): OutputItem {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { type: 'message', id, role: 'assistant', status: 'completed', content } as unknown as OutputItem;
}

function reference(id: string): object {
  return { type: 'item_reference', id };
}

/** What a request with this input becomes; the error's code and param where it is refused. */
function resolve(memory: ItemMemory, input: readonly unknown[], caller = ME): unknown {
  const body = { model: 'm', input: structuredClone(input) };
  try {
    memory.resolve(caller, body);
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.param}`;
    throw error;
  }
  return body.input;
}

describe('createItemMemory', () => {
  let nowMs: number;

  beforeEach(() => {
    nowMs = 1_000_000;
  });

  function open(options: Partial<ItemMemoryOptions> = {}): ItemMemory {
    return createItemMemory({ itemMemoryTtlS: 60, maxBodyBytes: 10_000, nowMs: () => nowMs, ...options });
  }

  it('puts an item in the place of each reference, and leaves the rest', () => {
    const memory = open();
    memory.remember(ME, writeItems([message('msg_1'), message('msg_2')]));
    const user = { role: 'user', content: 'Hi' };
    expect(resolve(memory, [user, reference('msg_2'), { id: 'msg_1' }, user, reference('msg_2')])).to.deep.equal([
      user,
      message('msg_2'),
      message('msg_1'),
      user,
      message('msg_2'),
    ]);
  });

  it('says how many items come before those of the request', () => {
    const memory = open();
    const turns = [[message('msg_1')], [message('msg_2'), message('msg_3')]].map((items) =>
      new TextEncoder().encode(JSON.stringify(items)),
    );
    memory.rememberResponse(ME, { responseId: 'resp_1', turns, continues: undefined });
    const body = { input: [message('msg_4')], previous_response_id: 'resp_1' };
    expect(memory.resolve(ME, body)).to.equal(3);
    expect(body).to.deep.equal({ input: ['msg_1', 'msg_2', 'msg_3', 'msg_4'].map((id) => message(id)) });
    expect(memory.resolve(OTHER, { input: 'Hi', previous_response_id: 'resp_1' })).to.equal(0);
  });

  it('continues a response without any items', () => {
    const memory = open();
    const turns = [new TextEncoder().encode('[]')];
    memory.rememberResponse(ME, { responseId: 'resp_1', turns, continues: undefined });
    const body = { input: [message('msg_1')], previous_response_id: 'resp_1' };
    expect(memory.resolve(ME, body)).to.equal(0);
    expect(body).to.deep.equal({ input: [message('msg_1')] });
  });

  it('keeps no response that continues one which is forgotten', () => {
    const memory = open();
    memory.rememberResponse(ME, { responseId: 'resp_2', turns: [], continues: 'resp_1' });
    expect(memory.recallResponse(ME, 'resp_2')).to.equal(undefined);
  });

  it('gives a copy, so that nobody changes what is remembered', () => {
    const memory = open();
    memory.remember(ME, writeItems([message('msg_1')]));
    const body = { input: [reference('msg_1')] };
    memory.resolve(ME, body);
    Object.assign(body.input[0] ?? {}, { role: 'user' });
    expect(resolve(memory, [reference('msg_1')])).to.deep.equal([message('msg_1')]);
  });

  const untouched: { name: string; item: unknown }[] = [
    { name: 'a message without a type', item: { id: 'msg_1', role: 'user', content: 'Hi' } },
    { name: 'a message without a type and content', item: { id: 'msg_1', role: 'user' } },
    { name: 'a message without a type and role', item: { id: 'msg_1', content: 'Hi' } },
    { name: 'an item of a type of its own', item: { type: 'reasoning', id: 'msg_1', summary: [] } },
    { name: 'a reference without an id', item: { type: 'item_reference' } },
    { name: 'a reference whose id is no text', item: { type: 'item_reference', id: 5 } },
    { name: 'what is no object', item: 'msg_1' },
    { name: 'null', item: null },
  ];
  for (const { name, item } of untouched) {
    it(`leaves ${name} to validation`, () => {
      const memory = open();
      memory.remember(ME, writeItems([message('msg_1')]));
      expect(resolve(memory, [item])).to.deep.equal([item]);
    });
  }

  for (const body of [null, 'text', [], {}, { input: 'Hi' }, { input: { id: 'msg_1' } }]) {
    it(`leaves a body of ${JSON.stringify(body)} to validation`, () => {
      expect(open().resolve(ME, body)).to.equal(0);
    });
  }

  const refused = 'invalid_request input[1]';

  it('names the path of an item that was never given', () => {
    expect(resolve(open(), [{ role: 'user', content: 'Hi' }, reference('msg_9')])).to.equal(refused);
  });

  it('does not give an item to another caller', () => {
    const memory = open();
    memory.remember(OTHER, writeItems([message('msg_1')]));
    expect(resolve(memory, ['', reference('msg_1')])).to.equal(refused);
    expect(resolve(memory, [reference('msg_1')], OTHER)).to.deep.equal([message('msg_1')]);
  });

  it('keeps items of one id apart by their callers, whoever has it first or forgets it', () => {
    const memory = open({ maxBytes: 2500 });
    memory.remember(OTHER, writeItems([message('msg_1', 'of the other')]));
    memory.remember(ME, writeItems([message('msg_1', 'mine')]));
    for (const [caller, turn] of [
      [OTHER, 'of the other'],
      [ME, 'mine'],
    ] as const) {
      const turns = [new TextEncoder().encode(JSON.stringify([message('msg_0', turn)]))];
      memory.rememberResponse(caller, { responseId: 'resp_1', turns, continues: undefined });
      expect(resolve(memory, [reference('msg_1')], caller)).to.deep.equal([message('msg_1', turn)]);
    }
    const continued = { input: 'Hi', previous_response_id: 'resp_1' };
    expect(memory.resolve(OTHER, continued)).to.equal(1);
    expect(JSON.stringify(continued)).to.include('of the other').and.not.to.include('mine');
    for (const id of ['msg_2', 'msg_3']) memory.remember(ME, writeItems([message(id, 'x'.repeat(900))]));
    expect(resolve(memory, ['', reference('msg_1')])).to.equal(refused);
    expect(resolve(memory, [reference('msg_1')], OTHER)).to.deep.equal([message('msg_1', 'of the other')]);
  });

  it('has no more for many callers than for one, and leaves each its part', () => {
    const memory = open({ maxBytes: 100_000 });
    const callers = Array.from({ length: 50 }, (_, n): Identity => [`caller ${n}`]);
    memory.remember(ME, writeItems([message('msg_1', 'x'.repeat(1000))]));
    for (let round = 0; round < 10; round += 1) {
      for (const caller of callers) memory.remember(caller, writeItems([message(`msg_${round}`, 'x'.repeat(1000))]));
    }
    const kept = callers.map((caller) =>
      Array.from({ length: 10 }, (_, n) => `msg_${n}`).filter((id) => memory.recall(caller, [id]).size),
    );
    const sizes = kept.map((ids) => ids.length);
    expect(sizes.reduce((sum, size) => sum + size, 1) * 1000).to.be.at.most(100_000);
    expect(Math.min(...sizes)).to.be.at.least(1);
    expect(resolve(memory, [reference('msg_1')])).to.have.length(1);
  });

  it('forgets an item when its time is over', () => {
    const memory = open();
    memory.remember(ME, writeItems([message('msg_1')]));
    nowMs += 59_999;
    expect(resolve(memory, [reference('msg_1')])).to.deep.equal([message('msg_1')]);
    nowMs += 1;
    expect(resolve(memory, ['', reference('msg_1')])).to.equal(refused);
  });

  it('forgets the oldest items when there are too many', () => {
    const memory = open({ maxItems: 2 });
    for (const id of ['msg_1', 'msg_2', 'msg_3']) memory.remember(ME, writeItems([message(id)]));
    expect(resolve(memory, ['', reference('msg_1')])).to.equal(refused);
    expect(resolve(memory, [reference('msg_2'), reference('msg_3')])).to.have.length(2);
  });

  it('forgets the oldest items when they are too large together', () => {
    const memory = open({ maxBytes: 1000 });
    for (const id of ['msg_1', 'msg_2', 'msg_3']) memory.remember(ME, writeItems([message(id, 'x'.repeat(300))]));
    expect(resolve(memory, ['', reference('msg_1')])).to.equal(refused);
    expect(resolve(memory, [reference('msg_2'), reference('msg_3')])).to.have.length(2);
  });

  for (const { name, options, ids } of [
    { name: 'many', options: { maxItems: 4 }, ids: ['msg_1', 'msg_2', 'msg_3', 'msg_4', 'msg_5'] },
    { name: 'large', options: { maxBytes: 1000 }, ids: ['msg_1', 'msg_2', 'msg_3', 'msg_4', 'msg_5'] },
  ]) {
    it(`forgets the items of a caller that has ${name}, and not those of another`, () => {
      const memory = open(options);
      memory.remember(OTHER, writeItems([message('msg_0')]));
      for (const id of ids) memory.remember(ME, writeItems([message(id, name === 'large' ? 'x'.repeat(200) : id)]));
      expect(resolve(memory, [reference('msg_0')], OTHER)).to.have.length(1);
      expect(resolve(memory, ['', reference('msg_1')])).to.equal(refused);
      expect(resolve(memory, [reference('msg_5')])).to.have.length(1);
    });
  }

  it('forgets all of a caller whose items are over, and begins anew', () => {
    const memory = open({ maxItems: 1 });
    memory.remember(OTHER, writeItems([message('msg_1')]));
    nowMs += 60_000;
    memory.remember(ME, writeItems([message('msg_2')]));
    memory.remember(ME, writeItems([message('msg_3')]));
    expect(resolve(memory, ['', reference('msg_2')])).to.equal(refused);
    expect(resolve(memory, [reference('msg_3')])).to.have.length(1);
  });

  it('makes room for many items among many callers without a look at all of them for each', () => {
    const memory = open({ maxItems: 20_000 });
    for (let n = 0; n < 20_000; n += 1) memory.remember([`caller ${n}`], writeItems([message('msg_1', 'x')]));
    const many = Array.from({ length: 4000 }, (_, n) => message(`msg_${n}`, 'x'));
    const startedMs = cpuTimeMs();
    memory.remember(ME, writeItems(many));
    expect(cpuTimeMs() - startedMs).to.be.below(300);
  });

  it('does not give up all others for an item that is too large alone', () => {
    const memory = open({ maxBytes: 1000 });
    memory.remember(ME, writeItems([message('msg_1'), message('msg_2', 'x'.repeat(2000))]));
    expect(resolve(memory, [reference('msg_1')])).to.have.length(1);
    expect(resolve(memory, ['', reference('msg_2')])).to.equal(refused);
  });

  it('counts an item once that is given again', () => {
    const memory = open({ maxBytes: 2 * JSON.stringify(message('msg_1')).length });
    memory.remember(ME, writeItems([message('msg_1'), message('msg_2'), message('msg_2', 'new')]));
    expect(resolve(memory, [reference('msg_1'), reference('msg_2')])).to.deep.equal([
      message('msg_1'),
      message('msg_2', 'new'),
    ]);
  });

  it('does not let references make more of a body than a body may be', () => {
    const memory = open();
    memory.remember(ME, writeItems([message('msg_1', 'x'.repeat(4000))]));
    const input = [reference('msg_1'), reference('msg_1'), reference('msg_1')];
    expect(resolve(memory, input)).to.equal('payload_too_large input[2]');
  });

  it('remembers nothing, and leaves references alone, where its time is 0', () => {
    const memory = open({ itemMemoryTtlS: 0 });
    memory.remember(ME, writeItems([message('msg_1')]));
    expect(resolve(memory, [reference('msg_1')])).to.deep.equal([reference('msg_1')]);
  });
});

describe('ITEM_MEMORY_TTL_S', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = 1_790_000_000_000;
    backend = await startScriptedBackend();
    const message = { role: 'assistant', content: 'Rain.', reasoning_content: 'Hmm.' };
    backend.always({ json: { choices: [{ index: 0, message, finish_reason: 'stop' }] } });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(settings: Readonly<Record<string, string>>): Promise<void> {
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'deepseek', ...settings },
      { nowMs: () => nowMs },
    );
  }

  /** Asks, and returns the ids of what came. */
  async function ask(request: object = {}): Promise<string[]> {
    const reply = await gateway.create({ model: 'm', input: 'Weather?', ...request });
    const { output } = (await reply.json()) as { output: { id: string }[] };
    return output.map(({ id }) => id);
  }

  function goOn(ids: readonly string[], headers?: Record<string, string>): Promise<Response> {
    const input = [{ role: 'user', content: 'Weather?' }, ...ids.map(reference), { role: 'user', content: 'And?' }];
    return gateway.create({ model: 'm', input }, { ...(headers !== undefined && { headers }) });
  }

  it('has a thread prepare what refers to much, over HTTP and a WebSocket', async () => {
    await open({ ITEM_MEMORY_TTL_S: '60' });
    const text = 'x'.repeat(300_000);
    backend.always({ json: { choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }] } });
    let threads = 0;
    process.once('worker', () => (threads += 1));
    const [id = ''] = await ask();
    const ids = Array<string>(15).fill(id);
    const input = [...ids.map(reference), { role: 'user', content: 'And?' }];
    expect(threads, 'before').to.equal(0);
    expect((await goOn(ids)).status).to.equal(200);
    expect(threads).to.equal(1);
    const speaker = await speakTo(gateway.url);
    let previous: object = {};
    for (let turn = 0; turn < 2; turn += 1) {
      const { id } = responseOf(await speaker.ask({ model: 'm', input, ...previous }));
      previous = { previous_response_id: id };
      const { messages } = (backend.requests.at(-1)?.body ?? {}) as { messages: { content: string }[] };
      expect(messages.at(-2)?.content.endsWith(text)).to.equal(true);
    }
    speaker.close();
    await speaker.closed;
  });

  it('lets a client refer to what it was told', async () => {
    await open({ ITEM_MEMORY_TTL_S: '60' });
    const reply = await goOn(await ask());
    expect(reply.status).to.equal(200);
    expect((await backend.request(2)).body).to.deep.include({
      messages: [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: 'Rain.', reasoning_content: 'Hmm.' },
        { role: 'user', content: 'And?' },
      ],
    });
  });

  it('remembers what was streamed as well', async () => {
    await open({ ITEM_MEMORY_TTL_S: '60' });
    const stream = await gateway.create({ model: 'm', input: 'Weather?', stream: true });
    const [id = ''] = /msg_[0-9a-f]+/.exec(await stream.text()) ?? [];
    expect((await goOn([id])).status).to.equal(200);
  });

  const refused: { name: string; prepare: () => Promise<string[]>; headers?: Record<string, string> }[] = [
    {
      name: 'what a request asked not to be stored',
      prepare: () => ask({ store: false }),
    },
    { name: 'what another key was told', prepare: () => ask(), headers: { authorization: `Bearer ${TEST_KEY}-2` } },
    {
      name: 'a reply that failed',
      async prepare() {
        const deltas = [{ reasoning_content: 'Hmm.' }, { content: 'Ra' }];
        backend.reply({ sse: deltas.map((delta) => ({ choices: [{ index: 0, delta }] })), done: false });
        const stream = await gateway.create({ model: 'm', input: 'Weather?', stream: true });
        return /rs_[0-9a-f]+/.exec(await stream.text())?.slice(0, 1) ?? [];
      },
    },
  ];
  for (const { name, prepare, headers } of refused) {
    it(`does not remember ${name}`, async () => {
      await open({ ITEM_MEMORY_TTL_S: '60' });
      const ids = await prepare();
      expect(ids).not.to.have.length(0);
      const reply = await goOn(ids, headers);
      const { error } = (await reply.json()) as { error: { message: string; param: string; code: string } };
      expect(reply.status).to.equal(400);
      expect([error.code, error.param]).to.deep.equal(['invalid_request', 'input[1]']);
      expect(error.message).to.include('"store": false');
    });
  }

  describe('continues a response that is remembered', () => {
    const MESSAGES = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: 'Rain.', reasoning_content: 'Hmm.' },
      { role: 'user', content: 'And?' },
    ];

    /** Asks over HTTP, and returns the id of the response. */
    async function begin(request: object = {}): Promise<string> {
      const reply = await gateway.create({ model: 'm', input: 'Weather?', ...request });
      return ((await reply.json()) as { id: string }).id;
    }

    function goOnAfter(previous_response_id: string, init?: { headers: Record<string, string> }): Promise<Response> {
      return gateway.create({ model: 'm', input: 'And?', previous_response_id }, init);
    }

    it('over HTTP, for as many turns as you like', async () => {
      await open({ ITEM_MEMORY_TTL_S: '60' });
      const first = await begin();
      const reply = await goOnAfter(first);
      const second = (await reply.json()) as { id: string; previous_response_id: string };
      expect(second.previous_response_id).to.equal(first);
      expect((await backend.request(2)).body).to.deep.include({ messages: MESSAGES });
      expect((await goOnAfter(second.id)).status).to.equal(200);
      const { messages } = (await backend.request(3)).body as { messages: object[] };
      expect(messages).to.deep.equal([...MESSAGES, ...MESSAGES.slice(1)]);
    });

    for (const [what, sizes, referTo] of [
      ['that one', [false, true], async () => ({ input: 'And?', previous_response_id: await begin() })],
      [
        'its items',
        [false],
        async () => ({ input: [...(await ask()).map(reference), { role: 'user', content: 'And?' }] }),
      ],
    ] as const) {
      for (const large of sizes) {
        it(`once for each idempotency key, also when ${what} is forgotten (large: ${large})`, async () => {
          await open({ ITEM_MEMORY_TTL_S: '60' });
          const request = { model: 'm', ...(await referTo()), instructions: 'x'.repeat(large ? 2_200_000 : 1) };
          const headers = { 'idempotency-key': 'key-1' };
          const first = await gateway.create(request, { headers });
          nowMs += 61_000;
          const repeated = await gateway.create(request, { headers });
          const { error, ...record } = (await repeated.json()) as { error: { code: string }; request_id: string };
          expect([first.status, repeated.status, error.code]).to.deep.equal([200, 409, 'duplicate_request']);
          expect(record.request_id).to.equal(first.headers.get('x-request-id'));
        });
      }
    }

    it('on a WebSocket, where it came over HTTP, and over HTTP, where it came on a WebSocket', async () => {
      await open({ ITEM_MEMORY_TTL_S: '60' });
      const first = await begin();
      const speaker = await speakTo(gateway.url);
      const { id } = responseOf(await speaker.ask({ model: 'm', input: 'And?', previous_response_id: first }));
      expect((await backend.request(2)).body).to.deep.include({ messages: MESSAGES });
      speaker.close();
      await speaker.closed;
      expect((await goOnAfter(id)).status).to.equal(200);
      const { messages } = (await backend.request(3)).body as { messages: object[] };
      expect(messages).to.deep.equal([...MESSAGES, ...MESSAGES.slice(1)]);
    });

    it('with more than one turn of the event loop should prepare, by the thread', async () => {
      await open({ ITEM_MEMORY_TTL_S: '60' });
      const input = 'x'.repeat(2_200_000);
      const first = await begin({ input });
      expect((await goOnAfter(first)).status).to.equal(200);
      const { messages } = (await backend.request(2)).body as { messages: object[] };
      expect(messages).to.deep.equal([{ role: 'user', content: input }, ...MESSAGES.slice(1)]);
    });

    it('where its tokens are counted, and names the place of a mistake in what was sent', async () => {
      await open({ ITEM_MEMORY_TTL_S: '60' });
      const previous_response_id = await begin();
      const reply = await gateway.create({
        model: 'm',
        input: [{ type: 'message', role: 'user' }],
        previous_response_id,
      });
      const { error } = (await reply.json()) as { error: { param: string } };
      expect([reply.status, error.param]).to.deep.equal([400, 'input[0].content']);
    });

    const unknown: { name: string; first: () => Promise<string>; headers?: Record<string, string>; ttl?: string }[] = [
      { name: 'where nothing is remembered', first: () => begin(), ttl: '0' },
      { name: 'that was not to be stored', first: () => begin({ store: false }) },
      { name: 'of another key', first: () => begin(), headers: { authorization: `Bearer ${TEST_KEY}-2` } },
      {
        name: 'that is older than that',
        async first() {
          const id = await begin();
          nowMs += 60_000;
          return id;
        },
      },
    ];
    for (const { name, first, headers, ttl = '60' } of unknown) {
      it(`but none ${name}`, async () => {
        await open({ ITEM_MEMORY_TTL_S: ttl });
        const reply = await goOnAfter(await first(), headers && { headers });
        const { error } = (await reply.json()) as { error: { code: string; param: string } };
        expect([reply.status, error.code, error.param]).to.deep.equal([
          400,
          'previous_response_not_found',
          'previous_response_id',
        ]);
      });
    }
  });

  it('is off at first, and then the refusal says what to set', async () => {
    await open({});
    const reply = await goOn(await ask());
    const { error } = (await reply.json()) as { error: { message: string; param: string; code: string } };
    expect(reply.status).to.equal(400);
    expect([error.code, error.param]).to.deep.equal(['unsupported_parameter', 'input[1]']);
    expect(error.message).to.match(/"store": false.*providerOptions.*ITEM_MEMORY_TTL_S/);
  });
});
