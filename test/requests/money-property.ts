/**
 * What holds of money whatever callers ask for, whenever they leave, and whatever the backend says: random requests of fifty keys,
 * from the validated body to the settled record, with a backend in this process that lies.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { boolean, constantFrom, nat, oneof, option, record, sample } from 'fast-check';
import { createAdmission } from '../../src/accounts/admission.ts';
import { createRateLimits } from '../../src/accounts/rates.ts';
import type { ChatBackend, ChatRelay } from '../../src/backend/chat.ts';
import { readConfig } from '../../src/config/config.ts';
import type { KeyId } from '../../src/contract/ids.ts';
import type { ChatChunk, ChatRequest } from '../../src/core/chat.ts';
import { isEncoded } from '../../src/core/encoded-chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { toRequestId } from '../../src/core/ids.ts';
import { createPrices, holdOf } from '../../src/core/money/pricing.ts';
import type { StopSignal } from '../../src/core/stop-signal.ts';
import { createTokenEstimator } from '../../src/core/tokens/estimate.ts';
import { toPlan } from '../../src/http/chat/chat.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import { newUniquePartAt } from '../../src/identity/unique-part.ts';
import { createSealer } from '../../src/identity/seal.ts';
import type { Incoming } from '../../src/requests/incoming.ts';
import { createItemMemory } from '../../src/requests/item-memory.ts';
import { relayChat, type RelayServices } from '../../src/requests/relay.ts';
import { prepareChat } from '../../src/requests/prepare-chat.ts';
import { askedOf, prepare } from '../../src/requests/prepare.ts';
import { respond, type RespondServices } from '../../src/requests/respond.ts';
import { createRunningRequests } from '../../src/requests/running.ts';
import type { Hold, StoredKey } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { expectBooksToAddUp } from '../support/books.ts';
import { newKeyDraft, NO_LIMITS } from '../support/keys.ts';
import { beginFacts } from '../support/observe.ts';
import { PATIENT } from '../support/patient.ts';
import { runs } from '../support/property.ts';
import { openOnlyBackend } from '../support/only-backend.ts';

const KEYS = 50;
const AT_ONCE = 64;
const DEFAULT_MAX_OUTPUT_TOKENS = 200;

const PRICES = createPrices({
  currency: 'USD',
  models: {
    m: { input: '2', cached_input: '1', cache_write: '2.5', output: '10' },
    'm-pro*': { input: '4', output: '20.5' },
    dear: { input: '20', output: '100' },
    '*': { input: '1', output: '1' },
  },
});

const LEAVES = ['never', 'before the answer', 'after the first words', 'after the finish reason'] as const;

/** What the backend says of its work. The first ones are within what it was allowed. */
const USAGES = [
  'true',
  'none',
  'no input',
  'no output',
  'absurd',
  'more cached than input',
  'more written to the cache than input',
  'thoughts in the total',
] as const;
const LIES = ['far too much', 'of a dearer model'] as const;

const anyStep = record({
  key: nat({ max: KEYS - 1 }),
  isChat: boolean(),
  stream: boolean(),
  model: constantFrom('m', 'M', 'm:latest', 'm-pro-1', 'other'),
  /** Of the prompt. */
  words: nat({ max: 300 }),
  limit: option(oneof(nat({ max: 300 }), nat({ max: 3000 }))),
  otherLimit: option(nat({ max: 300 })),
  choices: constantFrom(1, 1, 1, 2, 4),
  /** How much of what was allowed is written, in a thousandth of it. */
  written: nat({ max: 1000 }),
  pieces: nat({ max: 3 }),
  usage: oneof({ weight: 12, arbitrary: constantFrom(...USAGES) }, { weight: 1, arbitrary: constantFrom(...LIES) }),
  ending: constantFrom('whole', 'whole', 'whole', 'cut', 'refused'),
  leaves: oneof(
    { weight: 3, arbitrary: constantFrom('never' as const) },
    { weight: 2, arbitrary: constantFrom(...LEAVES) },
  ),
  cancels: boolean(),
  grantMicro: oneof({ weight: 9, arbitrary: constantFrom(0) }, { weight: 1, arbitrary: nat({ max: 3000 }) }),
});

type Step = ReturnType<typeof stepsOf>[number];

function stepsOf(count: number, part: number) {
  const { seed, numRuns } = runs(count);
  return sample(anyStep, { seed: seed + part, numRuns });
}

/** A request on its way, as caller and backend see it. */
interface Live {
  readonly step: Step;
  /** Set when the request is let in. */
  hold?: Hold;
  estimatedInput: number;
  /** The largest output in tokens that the backend was allowed in all. */
  allowed: number;
  readonly leave: () => void;
}

/** Each part has keys and a store of its own. */
export function describeMoney({ steps, parts }: { readonly steps: number; readonly parts: number }): void {
  describe(`the money of ${KEYS} keys in ${steps * parts} requests`, () => {
    let folder: string;
    let file: string;
    let store: Store;

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'money-'));
      file = join(folder, 'gateway.db');
      store = await openStore({ databaseUrl: `file:${file}`, recordRetentionDays: 30, limits: PATIENT });
    });

    afterEach(async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });

    for (let part = 1; part <= parts; part += 1) {
      it(`is never more than the funds and what the backend has counted beyond its reservations (${part})`, async () => {
        const keys = await Promise.all(Array.from({ length: KEYS }, (_, index) => store.createKey(draftOf(index))));
        const funds = new Map<KeyId, number>(keys.map(({ keyId }, index) => [keyId, fundsOf(index)]));
        const world = createWorld(store, keys);
        const waiting = stepsOf(steps, part)[Symbol.iterator]();
        const worker = async (): Promise<void> => {
          for (const step of waiting) {
            const { keyId } = keys[step.key] ?? expect.fail('no such key');
            if (step.grantMicro > 0) {
              await store.credit(keyId, {
                kind: 'grant',
                amountMicro: step.grantMicro,
                note: '',
                createdAtMs: Date.now(),
              });
              funds.set(keyId, (funds.get(keyId) ?? 0) + step.grantMicro);
            }
            await world.run(step);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, worker));
        await world.settled();

        let ran = 0;
        for (const { keyId } of keys) {
          const books = expectBooksToAddUp(file, keyId);
          const excess = world.excessOf(keyId);
          expect(books.spentMicro, `spent by ${keyId}`).to.be.at.most((funds.get(keyId) ?? 0) + excess);
          expect(books.balanceMicro, `the balance of ${keyId}`).to.equal((funds.get(keyId) ?? 0) - books.spentMicro);
          ran += books.requests;
        }
        expect(ran, 'a test in which few requests ran').to.be.above(steps / 10);
        expect(world.refused(), 'a test in which all funds were enough').to.be.above(0);
      });
    }
  });
}

function fundsOf(index: number): number {
  return 2000 + index * 400;
}

function draftOf(index: number): ReturnType<typeof newKeyDraft> {
  const limits = index % 5 === 0 ? { ...NO_LIMITS, spendPerDayMicro: 1_000_000 } : NO_LIMITS;
  return newKeyDraft({ creditsMicro: fundsOf(index), limits, createdAtMs: Date.now() });
}

interface World {
  run(step: Step): Promise<void>;
  /** Waits until the store has written all ends. Throws what the backend has found wrong. */
  settled(): Promise<void>;
  excessOf(keyId: KeyId): number;
  refused(): number;
}

function createWorld(store: Store, keys: readonly StoredKey[]): World {
  const config = readConfig({
    UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1',
    DEFAULT_MAX_OUTPUT_TOKENS: String(DEFAULT_MAX_OUTPUT_TOKENS),
  });
  const secret = 'the secret of a test of money';
  const lives = new Map<string, Live>();
  const excess = new Map<KeyId, number>();
  const problems: unknown[] = [];
  let refused = 0;

  /** What is let in and what is settled is looked at on its way to the store. */
  const watched: Store = {
    ...store,
    async accept(draft) {
      const acceptance = await store.accept(draft);
      const live = lives.get(draft.requestId);
      if (live !== undefined && acceptance.kind === 'accepted' && draft.hold !== undefined) {
        live.hold = draft.hold;
        live.estimatedInput = draft.estimatedInputTokens;
      }
      return acceptance;
    },
    finish(requestId, outcome) {
      const { hold, step } = lives.get(requestId) ?? expect.fail('it was never asked for');
      if (hold === undefined) expect.fail('it was never let in');
      const beyond = (outcome.costMicro ?? 0) - hold.heldMicro;
      if (beyond > 0) {
        expect(LIES, `${JSON.stringify(step)} cost ${outcome.costMicro} and held ${hold.heldMicro}`).to.include(
          step.usage,
        );
        excess.set(hold.keyId, (excess.get(hold.keyId) ?? 0) + beyond);
      }
      return store.finish(requestId, outcome);
    },
  };

  const running = createRunningRequests();
  const rateLimits = createRateLimits({ accounts: store, nowMs: Date.now });
  const services: RespondServices & RelayServices = {
    ...config,
    store: watched,
    admission: createAdmission({
      ...config,
      accounts: store,
      rateLimits,
      prices: { present: PRICES },
      nowMs: Date.now,
    }),
    running,
    identities: createIdentities(secret, null),
    sealers: {
      reasoning: createSealer('reasoning', secret, null),
      compaction: createSealer('compaction', secret, null),
    },
    estimator: createTokenEstimator(),
    itemMemory: createItemMemory({ ...config, nowMs: Date.now }),
    keyOwner: 'gateway',
    nowMs: Date.now,
    steadyMs: () => performance.now(),
    models: { present: config.models },
    routes: openOnlyBackend().routes,
    backend: backendOf(),
    relay: relayOf(),
  };

  return {
    async run(step) {
      const key = keys[step.key] ?? expect.fail('no such key');
      const { incoming, requestId, leave } = incomingOf(key, step);
      const live: Live = {
        step,
        estimatedInput: 0,
        allowed: 0,
        leave: step.cancels ? () => void running.cancelIf(requestId, isCancelled(requestId, key.keyId)) : leave,
      };
      lives.set(requestId, live);
      try {
        const asked = askedOf(incoming);
        if (step.isChat) {
          const plan = toPlan(prepareChat(asked, services), {}, incoming);
          await relayChat({ ...incoming, ...CHAT_REPLY }, plan, services);
        } else {
          const plan = prepare(asked, { endpoint: 'responses' }, services);
          await respond({ ...incoming, ...RESPONSE_REPLY }, plan, services);
        }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code === 'insufficient_credits' || error.code === 'spend_limit_exceeded') refused += 1;
      } finally {
        leave();
      }
    },
    async settled() {
      await running.whenIdle(PATIENT.answerWithinMs);
      if (problems.length > 0) throw problems[0];
      for (const { keyId } of keys) await store.list([keyId], { limit: 1 });
    },
    excessOf: (keyId) => excess.get(keyId) ?? 0,
    refused: () => refused,
  };

  async function isCancelled(requestId: Parameters<Store['requestCancel']>[1], keyId: KeyId): Promise<boolean> {
    const found = await store.requestCancel([keyId], requestId);
    return found?.kind === 'asked';
  }

  function incomingOf(key: StoredKey, step: Step) {
    const facts = { ...beginFacts(), unique: newUniquePartAt(Date.now()) };
    const requestId = toRequestId(facts.unique);
    const value = bodyOf(step, requestId);
    let listeners: ((hasWholeReply: boolean) => void)[] = [];
    let isServed = false;
    const leave = (): void => {
      isServed = true;
      for (const listener of listeners) listener(false);
      listeners = [];
    };
    const incoming: Incoming = {
      facts,
      caller: {
        identity: [key.keyId],
        key,
        backendHeaders: {},
        holder: () => ({ name: key.keyId, isStranger: false }),
      },
      idempotencyKey: undefined,
      body: { bytes: Buffer.from(JSON.stringify(value)), value },
      baseUrl: () => 'http://gateway.test',
      hasReplyBegun: () => false,
      isServed: () => isServed,
      onceServed: (listener) => void listeners.push(listener),
      setHeader: () => undefined,
      sendDuplicate: () => expect.fail('it is no duplicate'),
    };
    return { incoming, requestId, leave };
  }

  /** What the backend throws is only a failed answer to the gateway, so that it is kept. */
  function liveOf(chat: ChatRequest): Live {
    try {
      return findLive(chat);
    } catch (problem) {
      problems.push(problem);
      throw problem;
    }
  }

  /** Finds the request by its words, and fails if it may write more than is reserved. */
  function findLive(chat: ChatRequest & { readonly n?: number }): Live {
    const requestId = /req_\w+/.exec(JSON.stringify(chat.messages))?.[0] ?? '';
    const live = lives.get(requestId) ?? expect.fail('it was never asked for');
    const { max_tokens: limit, max_completion_tokens: other, n = 1 } = chat;
    expect(limit, 'the limit that the backend is told').to.be.a('number');
    expect(other, 'a second limit').to.equal(undefined);
    live.allowed = (limit ?? 0) * n;
    const price = PRICES.find(chat.model, chat.model) ?? expect.fail('it has no price');
    expect(live.hold?.heldMicro, `reserved for ${JSON.stringify(live.step)}`).to.be.at.least(
      holdOf(price, { inputTokens: 0, outputTokens: live.allowed }),
    );
    return live;
  }

  function backendOf(): ChatBackend {
    return {
      async ask(chat, { signal }, listener) {
        if (isEncoded(chat)) throw new Error('no request is large here');
        const live = liveOf(chat);
        let hasBegun = false;
        await play(live, signal, (chunks, done) => {
          if (!hasBegun) listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
          hasBegun = true;
          return listener.take({ chunks, done });
        });
      },
      close: () => Promise.resolve(),
    };
  }

  function relayOf(): ChatRelay {
    return {
      async relay({ body }, { signal }, listener) {
        const live = liveOf(JSON.parse(body(true).toString()) as ChatRequest);
        let hasBegun = false;
        await play(live, signal, async (chunks, done) => {
          if (!hasBegun) await listener.begin({ status: 200, headers: {}, isEventStream: live.step.stream });
          hasBegun = true;
          await listener.take({ bytes: Buffer.from('x'), chunks, done });
        });
        return undefined;
      },
    };
  }
}

type Pass = (chunks: readonly ChatChunk[], done: boolean) => Promise<void> | undefined;

/** What the backend does with a request, while its caller may leave. */
async function play(live: Live, signal: StopSignal, pass: Pass): Promise<void> {
  const { step } = live;
  const left = (at: Step['leaves']): void => {
    if (step.leaves === at) live.leave();
  };
  const go = async (chunks: readonly ChatChunk[], done = false): Promise<void> => {
    await turn();
    signal.throwIfAborted();
    await pass(chunks, done);
  };
  left('before the answer');
  await turn();
  signal.throwIfAborted();
  if (step.ending === 'refused') throw new ApiError('rate_limit_exceeded');
  const model = step.usage === 'of a dearer model' ? 'dear' : step.model;
  const finish = { model, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const usage = usageOf(live);
  const last = usage === undefined ? [] : [{ model, choices: [], usage }];
  if (!step.stream)
    return go(
      [
        { ...finish, choices: [{ index: 0, delta: { content: 'word '.repeat(step.pieces) }, finish_reason: 'stop' }] },
        ...last,
      ],
      true,
    );
  for (let piece = 0; piece < step.pieces; piece += 1) {
    await go([{ model, choices: [{ index: 0, delta: { content: 'word '.repeat(step.written % 200) } }] }]);
    left('after the first words');
  }
  if (step.ending === 'cut') throw new ApiError('upstream_error');
  await go(
    Array.from({ length: step.choices }, (_, index) => ({
      model,
      choices: [{ index, delta: {}, finish_reason: 'stop' }],
    })),
  );
  left('after the finish reason');
  await go(last, true);
}

/** What the backend counts; within what was reserved, but for lies. */
function usageOf({ step, allowed, estimatedInput }: Live): object | undefined {
  const written = Math.floor((allowed * step.written) / 1000);
  const counted = { prompt_tokens: estimatedInput, completion_tokens: written, total_tokens: estimatedInput + written };
  switch (step.usage) {
    case 'none':
      return undefined;
    case 'no input':
      return { completion_tokens: written };
    case 'no output':
      return { prompt_tokens: estimatedInput };
    case 'absurd':
      return { prompt_tokens: -1, completion_tokens: 1e300, total_tokens: Number.MAX_SAFE_INTEGER };
    case 'more cached than input':
      return { ...counted, prompt_tokens_details: { cached_tokens: estimatedInput + 1000 } };
    case 'more written to the cache than input':
      return { ...counted, prompt_tokens_details: { cache_write_tokens: estimatedInput + 1000 } };
    case 'thoughts in the total':
      return { ...counted, completion_tokens: 0 };
    case 'far too much':
      return { prompt_tokens: 3 * estimatedInput, completion_tokens: 2 * allowed + 10 };
    case 'true':
    case 'of a dearer model':
      return counted;
    default:
      return step.usage satisfies never;
  }
}

function bodyOf(step: Step, requestId: string): object {
  const { model, stream, limit, otherLimit, choices } = step;
  const words = `${requestId} ${'some words '.repeat(step.words)}`;
  if (!step.isChat) {
    return { model, stream, input: words, ...(limit !== null && { max_output_tokens: limit }) };
  }
  return {
    model,
    stream,
    messages: [{ role: 'user', content: words }],
    ...(choices > 1 && { n: choices }),
    ...(limit !== null && { max_tokens: limit }),
    ...(otherLimit !== null && { max_completion_tokens: otherLimit }),
  };
}

const CHAT_REPLY = {
  prepareFor: () => Promise.reject(new Error('there is one kind of backend')),
  openReply: () => ({ write: () => undefined, end: () => undefined, finish: () => undefined, fail: () => undefined }),
  sendRefusal: () => undefined,
};

const RESPONSE_REPLY = {
  prepareFor: () => Promise.reject(new Error('there is one kind of backend')),
  endpoint: 'responses',
  openReply: () => ({ answered: () => undefined, write: () => undefined, end: () => undefined }),
} as const;
