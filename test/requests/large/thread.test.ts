import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { isEncoded, type ChatBody } from '../../../src/core/encoded-chat.ts';
import { toItemId } from '../../../src/core/ids.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { toWellFormedJson } from '../../../src/core/well-formed.ts';
import { parseJson } from '../../../src/core/parse-json.ts';
import { createTokenEstimator } from '../../../src/core/tokens/estimate.ts';
import type { Identity } from '../../../src/identity/identities.ts';
import { createSealers } from '../../../src/identity/seal.ts';
import { newUniquePartAt } from '../../../src/identity/unique-part.ts';
import type { OutputItem } from '../../../src/contract/types.ts';
import { createItemMemory } from '../../../src/requests/item-memory.ts';
import type { IncomingCreate } from '../../../src/requests/incoming.ts';
import { createPrepareThread, type PrepareThread } from '../../../src/requests/large/thread.ts';
import type { ResponsePlan } from '../../../src/requests/plan.ts';
import { askedOf, prepare } from '../../../src/requests/prepare.ts';
import { validateCreateResponse } from '../../../src/requests/validate.ts';

const identity: Identity = ['me'];
const SETTINGS = {
  dialect: DIALECTS.generic,
  upstreamDialect: 'generic',
  modelAliases: new Map([['alias', 'named']]),
  hostedTools: 'drop',
  history: 'keep',
  imageUrls: 'https-public',
  compactionModel: null,
  compactionMaxOutputTokens: 1000,
  maxBodyBytes: 32 * 1024 * 1024,
  itemMemoryTtlS: 60,
  defaultMaxOutputTokens: 4096,
  secret: 'a secret of at least thirty-two characters',
  secretPrevious: null,
} as const;
const sealers = createSealers(SETTINGS.secret, null);

const SAID = { type: 'message', role: 'user', content: 'Hello, here is a question.' };
const LOOK = { type: 'function', name: 'look up', parameters: { type: 'object' } };
const CALL = { type: 'function_call', call_id: 'call_1', name: 'look up', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'found' };
const LONG = { ...SAID, content: 'word '.repeat(2000) };
const REMEMBERED: OutputItem = {
  type: 'message',
  id: toItemId('msg', newUniquePartAt(0), 0),
  status: 'completed',
  role: 'assistant',
  content: [],
};

const requests: Record<string, object | string> = {
  'a text': { model: 'm', input: 'Hello', instructions: 'Be brief.', metadata: { a: 'b' }, temperature: 0.5 },
  'a stream of an alias': { model: 'alias', input: [SAID], stream: true, max_output_tokens: 5, user: 'u' },
  'calls of tools': { model: 'm', input: [SAID, CALL, OUTPUT], tools: [LOOK, { type: 'web_search' }] },
  'calls of tools that are not offered': {
    model: 'm',
    input: [SAID, CALL, OUTPUT, { ...CALL, name: 'look.up' }, OUTPUT],
  },
  'a held choice': { model: 'm', input: [SAID], tools: [LOOK], tool_choice: { type: 'function', name: 'look up' } },
  'allowed tools': {
    model: 'm',
    input: [SAID],
    tools: [LOOK, { ...LOOK, name: 'see' }],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'see' }] },
  },
  'no call': { model: 'm', input: [SAID], tools: [LOOK], tool_choice: 'none' },
  'an unknown item': { model: 'm', input: [SAID, { type: 'of_tomorrow' }] },
  'a remembered item': { model: 'm', input: [SAID, { type: 'item_reference', id: REMEMBERED.id }, SAID] },
  'a sealed state': {
    model: 'm',
    input: [
      SAID,
      { type: 'reasoning', summary: [], encrypted_content: sealers.reasoning.seal(identity, '{"v":1,"text":"hm"}') },
      SAID,
    ],
  },
  'an image': {
    model: 'm',
    input: [{ ...SAID, content: [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(999)}` }] }],
  },
  'a lone half of a character': { model: 'm', input: 'half \ud83d of one' },
  'a compaction': { model: 'm', input: [SAID, { type: 'compaction_trigger' }] },
  'a compaction on the way': {
    model: 'm',
    input: [LONG, { ...LONG, role: 'assistant' }, SAID],
    stream: true,
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
  },
  'a threshold that is not reached': {
    model: 'm',
    input: [SAID],
    context_management: [{ type: 'compaction', compact_threshold: 100_000 }],
  },
  'an item that is not remembered': { model: 'm', input: [SAID, { type: 'item_reference', id: 'msg_unknown' }] },
  'an unknown role': { model: 'm', input: [{ ...SAID, role: 'nobody' }] },
  'an image of a private host': {
    model: 'm',
    input: [{ ...SAID, content: [{ type: 'input_image', image_url: 'http://10.0.0.1/' }] }],
  },
  'nothing to say': { model: 'm', input: [] },
  'a service tier': { model: 'm', input: 'Hello', service_tier: 'priority' },
  'an earlier response': { model: 'm', input: 'Hello', previous_response_id: 'resp_1' },
  'no object': '[]',
  'broken JSON': '{"model": "m", "input": oh}',
  'large broken JSON': `{"model": "m", "input": "${'a'.repeat(300_000)}`,
  'deep JSON': `{"model": "m", "input": ${'['.repeat(200)}${']'.repeat(200)}}`,
  'many containers': `{"model": "m", "input": [${'[],'.repeat(120_000)}[]]}`,
};

describe('the thread of large requests', () => {
  let thread: PrepareThread | undefined;
  const estimator = createTokenEstimator();
  const itemMemory = createItemMemory({ ...SETTINGS, nowMs: Date.now });
  const deaths: string[] = [];
  const shared = { settings: SETTINGS, estimator, itemMemory, onDeath: (why: string) => void deaths.push(why) };

  afterEach(() => thread?.close());

  function incomingOf(bytes: Buffer, isServed = false): IncomingCreate {
    const parts: Partial<IncomingCreate> = {
      endpoint: 'responses',
      caller: { identity, backendHeaders: {}, holder: () => ({ name: 'me', isStranger: false }) },
      body: { bytes },
      validate: validateCreateResponse,
      isServed: () => isServed,
    };
    return parts as IncomingCreate;
  }

  describe('prepares as the event loop does', () => {
    before(() => {
      itemMemory.remember(identity, [REMEMBERED]);
      thread = undefined;
    });
    const own = createPrepareThread(shared);
    after(() => own.close());

    for (const [name, request] of Object.entries(requests)) {
      it(name, async () => {
        const bytes = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request));
        const incoming = incomingOf(bytes);
        const here = await tell(async () =>
          prepare({ ...askedOf(incoming), value: parseJson(bytes) }, { ...SETTINGS, sealers, estimator, itemMemory }),
        );
        const there = await tell(() => own.prepare(incoming));
        expect(there).to.deep.equal(here);
      });
    }
  });

  it('leaves nearly all of the work off the event loop', async () => {
    thread = createPrepareThread(shared);
    await thread.prepare(incomingOf(Buffer.from(JSON.stringify({ model: 'm', input: 'Hello' }))));
    for (const [megabytes, limitMs] of [
      [4, 50],
      [30, 100],
    ] as const) {
      const turns = Array.from({ length: megabytes * 300 }, () => ({ ...SAID, content: 'word '.repeat(670) }));
      const bytes = Buffer.from(JSON.stringify({ model: 'm', input: turns }));
      // The least of three: a collection of garbage can fall into any of them.
      let leastMs = Infinity;
      for (let times = 0; times < 3; times += 1) {
        const before = process.threadCpuUsage();
        const plan = await thread.prepare(incomingOf(bytes));
        const { user, system } = process.threadCpuUsage(before);
        expect(isEncoded(plan.translation.chat)).to.equal(true);
        leastMs = Math.min(leastMs, (user + system) / 1000);
      }
      expect(leastMs, `${megabytes} MB`).to.be.below(limitMs);
    }
  });

  it('is started again when it has ended, and refuses what it had', async () => {
    const workers: FakeWorker[] = [];
    thread = createPrepareThread({ ...shared, startWorker: () => start(workers) });
    const first = codeOf(thread.prepare(incomingOf(Buffer.from('{}'))));
    await untilAsked(workers, 1);
    workers[0]?.emit('error', new Error('out of memory'));
    workers[0]?.emit('exit', 1);
    expect(await first).to.equal('server_overloaded');
    expect(deaths).to.include('out of memory');
    const second = codeOf(thread.prepare(incomingOf(Buffer.from('{}'))));
    await untilAsked(workers, 2);
    await thread.close();
    expect(await second).to.equal('server_overloaded');
  });

  it('prepares one request at a time, and none whose client has left', async () => {
    const workers: FakeWorker[] = [];
    const busy = (thread = createPrepareThread({ ...shared, startWorker: () => start(workers) }));
    const first = codeOf(busy.prepare(incomingOf(Buffer.from('{}'))));
    const others = [false, true].map((hasLeft) => codeOf(busy.prepare(incomingOf(Buffer.from('{}'), hasLeft))));
    await untilAsked(workers, 1);
    workers[0]?.refuse();
    expect(await first).to.equal('invalid_request');
    await untilAsked(workers, 1, 2);
    workers[0]?.refuse();
    expect(await Promise.all(others)).to.deep.equal(['invalid_request', 'client_disconnected']);
    expect(workers[0]?.asked).to.equal(2);
  });
});

class FakeWorker extends EventEmitter {
  asked = 0;

  postMessage(): void {
    this.asked += 1;
  }

  refuse(): void {
    this.emit('message', ['answer', this.asked, { kind: 'refused', code: 'invalid_request', options: {} }]);
  }

  unref(): void {}

  async terminate(): Promise<number> {
    this.emit('exit', 1);
    return 1;
  }
}

function start(workers: FakeWorker[]): Worker {
  const worker = new FakeWorker();
  workers.push(worker);
  return worker as unknown as Worker;
}

async function untilAsked(workers: readonly FakeWorker[], count: number, times = 1): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(workers.map(({ asked }) => asked)).to.deep.equal(Array<number>(count).fill(times));
}

async function codeOf(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return 'prepared';
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

/** Tells a plan, or a refusal, so that both can be compared. */
async function tell(plan: () => Promise<ResponsePlan>): Promise<unknown> {
  try {
    const { request, translation, compaction, ...rest } = await plan();
    const { echo, dropped, originals, callable } = translation.tools;
    const { model, metadata, temperature, instructions, tool_choice, stream } = request;
    return {
      ...rest,
      request: { model, metadata, temperature, instructions, tool_choice, stream },
      tools: { echo, dropped, originals, callable },
      droppedItems: translation.droppedItems,
      usedCallIds: translation.usedCallIds,
      chat: compaction === undefined ? jsonOf(translation.chat) : translation.chat.model,
      compaction: compaction && jsonOf(compaction.chat),
      next: compaction?.resume && jsonOf(await compaction.resume(sealers.compaction.seal(identity, 'sum') ?? '')),
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, headers: error.headers, ...error.toBody() };
  }
}

/** Parsed, since the fields may come in any order. */
function jsonOf(chat: ChatBody): unknown {
  if (!isEncoded(chat)) return JSON.parse(toWellFormedJson(JSON.stringify(chat)));
  const { bulk, ...fields } = chat;
  return { ...fields, ...JSON.parse(`{${new TextDecoder().decode(bulk).slice(1)}`) };
}
