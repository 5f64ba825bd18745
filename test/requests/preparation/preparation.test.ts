import { rememberUsedFields } from '../../../src/core/request/used-fields.ts';
import { createModels } from '../../../src/core/models.ts';
import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { isEncoded, type ChatBody } from '../../../src/core/encoded-chat.ts';
import { type Identity, toItemId } from '../../../src/core/ids.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { toWellFormedJson } from '../../../src/core/well-formed.ts';
import { initialResponse } from '../../../src/core/reply/initial-response.ts';
import { wantsLogprobs } from '../../../src/core/request/request.ts';
import { maxCallsOf } from '../../../src/core/request/tool-choice.ts';
import { createPiecesWriter } from '../../../src/wire/json-pieces.ts';
import { createTokenEstimator } from '../../../src/core/tokens/estimate.ts';
import { createSealers } from '../../../src/identity/seal.ts';
import { newUniquePartAt } from '../../../src/identity/unique-part.ts';
import type { OutputItem } from '../../../src/contract/types.ts';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { toPlan } from '../../../src/http/chat/chat.ts';
import { collectGarbage } from '../../support/garbage.ts';
import { openOnlyBackend } from '../../support/only-backend.ts';
import type { Past } from '../../../src/requests/preparation/frame.ts';
import { createItemMemory, writeItems } from '../../../src/requests/item-memory.ts';
import type { IncomingCreate } from '../../../src/requests/incoming.ts';
import { openPreparation, type Preparation } from '../../../src/requests/preparation/preparation.ts';
import type { ResponsePlan } from '../../../src/requests/plan.ts';
import type { PreparedChat } from '../../../src/requests/preparation/chat.ts';
import type { InputToCount } from '../../../src/requests/preparation/count.ts';

const identity: Identity = ['me'];
const RESPONSE = { endpoint: 'responses' } as const;
const UNIQUE = newUniquePartAt(0);
const SETTINGS = {
  hostedTools: 'drop',
  history: 'keep',
  imageUrls: 'https-public',
  authMode: 'passthrough',
  compactionModel: null,
  compactionMaxOutputTokens: 1000,
  maxBodyBytes: 32 * 1024 * 1024,
  itemMemoryTtlS: 60,
  defaultMaxOutputTokens: 4096,
  secret: 'a secret of at least thirty-two characters',
  gatewaySecretPrevious: null,
} as const;
const backends = openOnlyBackend({
  modelAliases: new Map([['alias', 'named']]),
  // A large request is written for a counter only if the backend has one.
  dialect: { ...DIALECTS.generic, inputCounter: { path: '../tokenize', field: 'count' } },
});
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
  'a service tier': { model: 'm', input: 'Hello', service_tier: 'scale' },
  'an earlier response': { model: 'm', input: 'Hello', previous_response_id: 'resp_1' },
  'a model of which the operator says something': { model: 'settled', input: 'Hello', temperature: 1, top_p: 0.5 },
  'no object': '[]',
  'broken JSON': '{"model": "m", "input": oh}',
  'large broken JSON': `{"model": "m", "input": "${'a'.repeat(300_000)}`,
  'deep JSON': `{"model": "m", "input": ${'['.repeat(200)}${']'.repeat(200)}}`,
  'many containers': `{"model": "m", "input": [${'[],'.repeat(120_000)}[]]}`,
};

const chats: Record<string, object | string> = {
  'a chat': { model: 'alias', messages: [{ role: 'user', content: 'Hello' }] },
  'a stream without usage': { model: 'm', messages: [], stream: true, max_tokens: 7, n: 2 },
  'a field that is given twice': '{"model":"m","messages":[],"model":"alias"}',
};
const CHATS: ReadonlySet<string> = new Set(['a chat completion', 'a model']);

/** Two turns of a conversation over a WebSocket. */
const TURNS = [[SAID], [CALL]].map((items) => Buffer.from(JSON.stringify(items)));
const PAST: Past = { turns: TURNS, bytes: Buffer.concat(TURNS).length };

function bytesOf(request: object | string): Buffer {
  return Buffer.from(typeof request === 'string' ? request : JSON.stringify(request));
}

const MODEL_TABLE = {
  models: { 'sett*': { defaults: { max_output_tokens: 77 }, overrides: { temperature: 0.5, stop: 'END' } } },
};

describe('preparation', () => {
  let thread: Preparation | undefined;
  const estimator = createTokenEstimator();
  const itemMemory = createItemMemory({ ...SETTINGS, nowMs: Date.now });
  const deaths: string[] = [];
  const models = { present: createModels(MODEL_TABLE) };
  const shared = {
    ...SETTINGS,
    backends,
    models,
    sealers,
    estimator,
    usedFields: rememberUsedFields(),
    itemMemory,
    onDeath: (why: string) => void deaths.push(why),
  };

  afterEach(() => thread?.close());

  function incomingOf(bytes: Buffer, isServed = false): IncomingCreate {
    const parts: Partial<IncomingCreate> = {
      facts: { unique: UNIQUE } as IncomingCreate['facts'],
      caller: { identity, backendHeaders: {}, holder: () => ({ name: 'me', isStranger: false }) },
      body: { bytes },
      isServed: () => isServed,
    };
    return parts as IncomingCreate;
  }

  describe('in its thread is what it is on the event loop', () => {
    before(() => {
      itemMemory.remember(identity, writeItems([REMEMBERED]));
      thread = undefined;
    });
    const here = openPreparation({ ...shared, maxBytesHere: Infinity });
    const there = openPreparation({ ...shared, maxBytesHere: 0 });
    after(() => there.close());

    /** Each kind of request, in one of both. */
    const kinds: Readonly<Record<string, (own: Preparation, incoming: IncomingCreate) => Promise<unknown>>> = {
      'a response': async (own, incoming) => planOf(await own.response(incoming, RESPONSE)),
      'a compaction': async (own, incoming) => planOf(await own.response(incoming, { endpoint: 'responses.compact' })),
      'a response for a backend': async (own, incoming) =>
        planOf(await own.response(incoming, RESPONSE, backends.specs[0])),
      'a frame': async (own, incoming) => {
        const frame = await own.frame(incoming);
        return frame.previousResponseId === undefined ? planOf(await frame.prepare()) : frame.previousResponseId;
      },
      'a frame that is prepared again': async (own, incoming) => {
        const frame = await own.frame(incoming);
        await frame.prepare();
        return planOf(await frame.prepare(undefined, backends.specs[0]));
      },
      'a continued frame': async (own, incoming) => planOf(await (await own.frame(incoming)).prepare(PAST)),
      'a count of tokens': async (own, incoming) => countOf(await own.count(incoming)),
      'a chat completion': async (own, incoming) => chatOf(await own.chat(incoming)),
      'a model': (own, incoming) => own.route(incoming),
    };

    for (const [kind, prepared] of Object.entries(kinds)) {
      describe(kind, () => {
        for (const [name, request] of Object.entries({ ...requests, ...(CHATS.has(kind) && chats) })) {
          it(`of ${name}`, async () => {
            const [one, other] = await Promise.all(
              [here, there].map((own) => tell(() => prepared(own, incomingOf(bytesOf(request))))),
            );
            expect(other).to.deep.equal(one);
          });
        }
      });
    }
  });

  it('leaves nearly all of the work off the event loop', async () => {
    thread = openPreparation(shared);
    await thread.response(incomingOf(bytesOf({ model: 'm', input: 'Hello' })), RESPONSE);
    const turns = Array.from({ length: 9_000 }, () => ({ ...SAID, content: 'word '.repeat(670) }));
    const json = JSON.stringify({ model: 'm', input: turns });
    // The least of three: a collection of garbage can fall into any of them.
    let leastMs = Infinity;
    let parsedMs = Infinity;
    for (let times = 0; times < 3; times += 1) {
      const incoming = incomingOf(Buffer.from(json));
      collectGarbage();
      const before = process.threadCpuUsage();
      const prepared = thread.response(incoming, RESPONSE);
      const lent = incoming.body.bytes.length;
      const plan = await prepared;
      leastMs = Math.min(leastMs, cpuMsSince(before));
      expect(isEncoded(plan.translation.chat)).to.equal(true);
      expect(lent, 'not copied').to.equal(0);
      expect(incoming.body.bytes.equals(Buffer.from(json)), 'given back').to.equal(true);
      // Some machines count the CPU time of a thread in steps of several milliseconds.
      const beforeParsing = performance.now();
      JSON.parse(json);
      parsedMs = Math.min(parsedMs, performance.now() - beforeParsing);
    }
    // The loop has about a thirtieth of it to do, and the rest is for collections. All of the work is six times its parsing.
    expect(leastMs, `30 MB, of which parsing alone takes ${parsedMs} ms`).to.be.below(2 * parsedMs);
  });

  it('leaves a chat completion its body when it is made again for another backend', async () => {
    thread = openPreparation({ ...shared, maxBytesHere: 0 });
    const messages = [{ role: 'user', content: 'x'.repeat(300_000) }];
    const incoming = incomingOf(bytesOf({ model: 'alias', messages }));
    const { request } = toPlan(await thread.chat(incoming), {}, incoming);
    await thread.chat(incoming, backends.specs[0]);
    expect(JSON.parse(request.body(false).toString())).to.deep.equal({ model: 'named', messages });
  });

  it('is started again when it has ended, and refuses what it had', async () => {
    const workers: FakeWorker[] = [];
    thread = openPreparation({ ...shared, maxBytesHere: 0, startWorker: () => start(workers) });
    const first = codeOf(thread.response(incomingOf(Buffer.from('{}')), RESPONSE));
    await untilAsked(workers, 1);
    workers[0]?.emit('error', new Error('out of memory'));
    workers[0]?.emit('exit', 1);
    expect(await first).to.equal('server_overloaded');
    expect(deaths).to.include('out of memory');
    const second = codeOf(thread.response(incomingOf(Buffer.from('{}')), RESPONSE));
    await untilAsked(workers, 2);
    await thread.close();
    expect(await second).to.equal('server_overloaded');
  });

  it('prepares one request at a time, and none whose client has left', async () => {
    const workers: FakeWorker[] = [];
    const busy = (thread = openPreparation({ ...shared, maxBytesHere: 0, startWorker: () => start(workers) }));
    const first = codeOf(busy.response(incomingOf(Buffer.from('{}')), RESPONSE));
    const others = [false, true].map((hasLeft) =>
      codeOf(busy.response(incomingOf(Buffer.from('{}'), hasLeft), RESPONSE)),
    );
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
    const refused = { kind: 'refused', code: 'invalid_request', options: {}, bytes: new Uint8Array() };
    this.emit('message', ['answer', this.asked, refused]);
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
  for (let turns = 0; turns < 3; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
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

/** Tells what was prepared, or a refusal, so that both can be compared. */
async function tell(prepared: () => Promise<unknown>): Promise<unknown> {
  try {
    return await prepared();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, headers: error.headers, ...error.toBody() };
  }
}

async function planOf({ request, translation, compaction, echo, kept, ...plan }: ResponsePlan): Promise<unknown> {
  const { originals, callable } = translation.tools;
  const origin = { unique: UNIQUE, createdAtS: 0 };
  const response = initialResponse(request, translation.tools, origin);
  return {
    ...plan,
    response: JSON.parse(textOf(createPiecesWriter(echo).response(response))),
    asks: [request.store, request.include, wantsLogprobs(request), maxCallsOf(request)],
    kept: kept && textOf([kept]),
    tools: { originals, callable },
    usedCallIds: translation.usedCallIds,
    chat: compaction === undefined ? jsonOf(translation.chat) : translation.chat.model,
    compaction: compaction && jsonOf(compaction.chat),
    next: compaction?.resume && jsonOf(await compaction.resume(sealers.compaction.seal(identity, 'sum') ?? '')),
  };
}

function chatOf({ edits, ...plan }: PreparedChat): object {
  return { ...plan, plain: edits(false), withUsage: edits(true) };
}

function countOf({ chat, ...input }: InputToCount): object {
  return { ...input, chat: chat && jsonOf(chat) };
}

function textOf(pieces: readonly (string | Uint8Array)[]): string {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString();
}

/** Parsed, since the fields may come in any order. */
function jsonOf(chat: ChatBody): unknown {
  if (!isEncoded(chat)) return JSON.parse(toWellFormedJson(JSON.stringify(chat)));
  const { bulk, ...fields } = chat;
  return { ...fields, ...JSON.parse(`{${new TextDecoder().decode(bulk).slice(1)}`) };
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
