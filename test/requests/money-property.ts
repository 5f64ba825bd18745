/**
 * What holds of money whatever callers ask for, whenever they leave, and whatever the backend says: random requests of fifty keys,
 * from the validated body to the settled record, with a backend in this process that lies.
 */

import { DEFAULT_POLICY } from '../../src/config/backends-file.ts';
import { rememberUsedFields } from '../../src/core/request/used-fields.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { array, boolean, constantFrom, nat, oneof, option, record, sample } from 'fast-check';
import { createAdmission } from '../../src/accounts/admission.ts';
import { createRateLimits } from '../../src/accounts/rates.ts';
import type { RoutedChatBackend, RoutedChatRelay } from '../../src/backend/failover.ts';
import { readConfig } from '../../src/config/config.ts';
import type { KeyId } from '../../src/contract/ids.ts';
import type { ChatChunk, ChatRequest } from '../../src/core/chat.ts';
import { createModels } from '../../src/core/models.ts';
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
import { openPreparation } from '../../src/requests/preparation/preparation.ts';
import { respond, type RespondServices } from '../../src/requests/respond.ts';
import { createRunningRequests } from '../../src/requests/running.ts';
import type { Hold, StoredKey } from '../../src/core/books/keys.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { expectBooksToAddUp } from '../support/books.ts';
import { newKeyDraft, NO_LIMITS } from '../support/keys.ts';
import { beginFacts } from '../support/observe.ts';
import { PATIENT } from '../support/patient.ts';
import { runs, SEED } from '../support/property.ts';
import { onlyBackend, openOnlyBackend } from '../support/only-backend.ts';
import { createPromptTurns } from '../../src/requests/prompt-turns.ts';

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

/** What the operator says of all models but `other`, to which keys with funds can send no media. */
const MEDIA = {
  image: { base_tokens: 10, unit_tokens: 20, unit_pixels: 100, max_units: 9 },
  audio: { unit_tokens: 32 },
  video: { unit_tokens: 100, max_units: 5 },
  file: { unit_tokens: 50, max_units: 6 },
};
const MODELS = createModels({ models: { '*': { media: MEDIA }, other: {} } });

interface AnyMedium {
  /** What a backend that follows the operator's words counts for it. */
  readonly tokens: number;
  readonly chat: object;
  readonly response: object;
}

/** An image of so many pixels a side, as far as a decoder looks. */
function png(side: number): string {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452'.padEnd(66, '0'), 'hex');
  bytes.writeUInt32BE(side, 16);
  bytes.writeUInt32BE(side, 20);
  return `data:image/png;base64,${bytes.toString('base64')}`;
}

/** Of samples of one byte, so many of them a second. */
function wav(rate: number): string {
  const bytes = Buffer.from('524946460000000057415645666d74201000000001000100'.padEnd(88, '0'), 'hex');
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt16LE(8, 34);
  bytes.write('data', 36);
  return bytes.toString('base64');
}

function image(tokens: number, url: string): AnyMedium {
  return {
    tokens,
    chat: { type: 'image_url', image_url: { url } },
    response: { type: 'input_image', image_url: url },
  };
}

function sound(tokens: number, data: string): AnyMedium {
  const input_audio = { data, format: 'wav' };
  return { tokens, chat: { type: 'input_audio', input_audio }, response: { type: 'input_audio', input_audio } };
}

function file(tokens: number, file_data: string): AnyMedium {
  return { tokens, chat: { type: 'file', file: { file_data } }, response: { type: 'input_file', file_data } };
}

const FILM = 'https://films.example/a.mp4';

const ALL_MEDIA: readonly AnyMedium[] = [
  image(10 + 20, png(1)),
  image(10 + 4 * 20, png(200)),
  image(10 + 9 * 20, png(50_000)),
  image(10 + 9 * 20, 'https://images.example/a'),
  image(5 * 100, FILM),
  image(6 * 50, 'data:application/pdf;base64,AAAA'),
  sound(32, wav(44)),
  sound(11 * 32, wav(4)),
  file(6 * 50, 'data:application/pdf;base64,AAAA'),
  file(6 * 50, 'AAAA'),
  { ...file(6 * 50, 'data:text/plain;base64,JVBERi0xLjc='), chat: { video_url: { url: FILM } } },
];

const LEAVES = ['never', 'before the answer', 'after the first words', 'after the finish reason'] as const;

/** What the backend says of its work, which is within what was reserved. */
const USAGES = [
  'true',
  'none',
  'no input',
  'no output',
  'zeros',
  'absurd',
  'absurd input',
  'absurd output',
  'less input than was estimated',
  'more cached than input',
  'more written to the cache than input',
  'thoughts in the total',
  'with each word',
  'of each choice beside it',
  'of each choice in it',
] as const;
/** What it says to have done beyond the limits that it was told, or at another price. It is charged as far as the key then owes no more than one reservation. */
const LIES = ['far too much', 'of a dearer model'] as const;

const anyStep = record({
  key: nat({ max: KEYS - 1 }),
  isChat: boolean(),
  stream: boolean(),
  model: constantFrom('m', 'M', 'm:latest', 'm-pro-1', 'other'),
  /** Of the prompt. */
  words: nat({ max: 300 }),
  media: oneof(
    { weight: 2, arbitrary: constantFrom<readonly AnyMedium[]>([]) },
    {
      weight: 1,
      arbitrary: array(constantFrom(...ALL_MEDIA), { maxLength: 3 }).map((all): readonly AnyMedium[] => all),
    },
  ),
  limit: option(oneof(nat({ max: 300 }), nat({ max: 3000 }))),
  otherLimit: option(nat({ max: 300 })),
  choices: constantFrom(1, 1, 1, 2, 4),
  /** How much of what was allowed is written, in a thousandth of it. */
  written: nat({ max: 1000 }),
  pieces: nat({ max: 3 }),
  /** Whether the model writes the input of a custom tool in the place of text. */
  isCustom: boolean(),
  usage: oneof({ weight: 15, arbitrary: constantFrom(...USAGES) }, { weight: 1, arbitrary: constantFrom(...LIES) }),
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
  /** Set when all that the backend counts has been read: what must be charged if it is whole. */
  counted?: Counted | undefined;
  /** Whether words of the model have been read. */
  hasSpoken: boolean;
  /** Set when the request is let in. */
  hold?: Hold;
  estimatedInput: number;
  /** The largest output in tokens that the backend was allowed in all. */
  allowed: number;
  readonly leave: () => void;
}

interface Counted {
  readonly input: number;
  readonly output: number;
}

/** Each part has keys and a store of its own. */
export function describeMoney({ steps, parts }: { readonly steps: number; readonly parts: number }): void {
  describe(`the money of ${KEYS} keys in ${runs(steps).numRuns * parts} requests (seed ${SEED})`, () => {
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
      it(`is never more than the funds and, where the backend counts beyond what it was told, one reservation (${part})`, async () => {
        const keys = await Promise.all(Array.from({ length: KEYS }, (_, index) => store.createKey(draftOf(index))));
        const funds = new Map<KeyId, number>(keys.map(({ keyId }, index) => [keyId, fundsOf(index)]));
        const world = createWorld(store, keys);
        const waiting = stepsOf(steps, part)[Symbol.iterator]();
        const worker = async (): Promise<void> => {
          for (const anyOne of waiting) {
            const step = isOfLiar(anyOne.key) ? anyOne : toHonest(anyOne);
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
        for (const [index, { keyId }] of keys.entries()) {
          const books = expectBooksToAddUp(file, keyId);
          const paidMicro = funds.get(keyId) ?? 0;
          const mayOweMicro = isOfLiar(index) ? world.largestHoldOf(keyId) : 0;
          expect(books.spentMicro, `spent by ${keyId}`).to.be.at.most(paidMicro + mayOweMicro);
          expect(books.lowestMicro, `the lowest balance of ${keyId}`).to.be.at.least(-mayOweMicro);
          expect(books.balanceMicro, `the balance of ${keyId}`).to.equal(paidMicro - books.spentMicro);
          const lossMicro = world.costOf(keyId) - books.spentMicro;
          if (!isOfLiar(index)) expect(lossMicro, `lost by the operator to ${keyId}`).to.equal(0);
          ran += books.requests;
        }
        expect(ran, 'a test in which few requests ran').to.be.above(steps / 10);
        expect(world.refused(), 'a test in which all funds were enough').to.be.above(0);
        expect(world.beyond(), 'a test in which no backend counted more than was reserved').to.be.above(0);
      });
    }
  });
}

/** The backend lies beyond its limits to every other key only, so that the others show what holds exactly. */
function isOfLiar(key: number): boolean {
  return key % 2 === 1;
}

function toHonest(step: Step): Step {
  return LIES.some((lie) => lie === step.usage) ? { ...step, usage: 'true' } : step;
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
  largestHoldOf(keyId: KeyId): number;
  /** What all requests of the key have cost together, in millionths. */
  costOf(keyId: KeyId): number;
  refused(): number;
  /** How many requests have cost more than they held. */
  beyond(): number;
}

function createWorld(store: Store, keys: readonly StoredKey[]): World {
  const config = readConfig({
    UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1',
    DEFAULT_MAX_OUTPUT_TOKENS: String(DEFAULT_MAX_OUTPUT_TOKENS),
  });
  const secret = 'the secret of a test of money';
  const lives = new Map<string, Live>();
  const largestHold = new Map<KeyId, number>();
  const costs = new Map<KeyId, number>();
  const problems: unknown[] = [];
  let [refused, beyond] = [0, 0];

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
    finish(requestId, outcome, correction) {
      const live = lives.get(requestId) ?? expect.fail('it was never asked for');
      const { hold, step, counted, hasSpoken } = live;
      if (hold === undefined) expect.fail('it was never let in');
      check(() => {
        const cost = outcome.costMicro ?? 0;
        expect(cost, `charged for ${JSON.stringify(step)}`).to.be.at.most(Math.max(hold.heldMicro, mostOf(live)));
        if (hasSpoken) expect(outcome.usage?.output_tokens, `words of ${JSON.stringify(step)}`).to.be.above(0);
        if (counted === undefined || outcome.usage === null) return;
        const { input_tokens: input, output_tokens: output } = outcome.usage;
        expect({ input, output }, `counted for ${JSON.stringify(step)}`).to.deep.equal(counted);
        expect(outcome.usageEstimated, `estimated for ${JSON.stringify(step)}`).to.equal(false);
      });
      if ((outcome.costMicro ?? 0) > hold.heldMicro) beyond += 1;
      costs.set(hold.keyId, (costs.get(hold.keyId) ?? 0) + (outcome.costMicro ?? 0));
      largestHold.set(hold.keyId, Math.max(hold.heldMicro, largestHold.get(hold.keyId) ?? 0));
      return store.finish(requestId, outcome, correction);
    },
  };

  const running = createRunningRequests();
  const rateLimits = createRateLimits({ accounts: store, nowMs: Date.now });
  const services: RespondServices & RelayServices = {
    ...config,
    promptTurns: createPromptTurns({ secret: 'a secret', nowMs: Date.now }),
    policy: () => DEFAULT_POLICY,
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
    usedFields: rememberUsedFields(),
    itemMemory: createItemMemory({ ...config, nowMs: Date.now }),
    keyOwner: 'gateway',
    nowMs: Date.now,
    steadyMs: () => performance.now(),
    backend: backendOf(),
    relay: relayOf(),
  };
  const preparation = openPreparation({
    ...config,
    ...services,
    secret,
    backends: openOnlyBackend(),
    models: { present: MODELS },
    onDeath: (why) => expect.fail(why),
  });

  return {
    async run(step) {
      const key = keys[step.key] ?? expect.fail('no such key');
      const { incoming, requestId, leave } = incomingOf(key, step);
      const live: Live = {
        step,
        estimatedInput: 0,
        allowed: 0,
        hasSpoken: false,
        leave: step.cancels ? () => void running.cancelIf(requestId, isCancelled(requestId, key.keyId)) : leave,
      };
      lives.set(requestId, live);
      try {
        if (step.isChat) {
          const prepare = async () => toPlan(await preparation.chat(incoming), {}, incoming);
          await relayChat({ ...incoming, ...CHAT_REPLY, prepare }, services);
        } else {
          const prepare = () => preparation.response(incoming, { endpoint: 'responses' });
          await respond({ ...incoming, ...RESPONSE_REPLY, prepare }, services);
        }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code === 'insufficient_credits' || error.code === 'spend_limit_exceeded') refused += 1;
        else if (error.code === 'unsupported_parameter') check(() => expectUnsaid(step));
      } finally {
        leave();
      }
    },
    async settled() {
      await running.whenIdle(PATIENT.answerWithinMs);
      if (problems.length > 0) throw problems[0];
      for (const { keyId } of keys) await store.list([keyId], { limit: 1 });
    },
    largestHoldOf: (keyId) => largestHold.get(keyId) ?? 0,
    costOf: (keyId) => costs.get(keyId) ?? 0,
    refused: () => refused,
    beyond: () => beyond,
  };

  async function isCancelled(requestId: Parameters<Store['requestCancel']>[1], keyId: KeyId): Promise<boolean> {
    const found = await store.requestCancel([keyId], requestId);
    return found?.kind === 'asked';
  }

  function incomingOf(key: StoredKey, step: Step) {
    const facts = { ...beginFacts(), unique: newUniquePartAt(Date.now()) };
    const requestId = toRequestId(facts.unique);
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
      body: { bytes: Buffer.from(JSON.stringify(bodyOf(step, requestId))) },
      baseUrl: () => 'http://gateway.test',
      hasReplyBegun: () => false,
      isServed: () => isServed,
      onceServed: (listener) => void listeners.push(listener),
      setHeader: () => undefined,
      sendDuplicate: () => expect.fail('it is no duplicate'),
    };
    return { incoming, requestId, leave };
  }

  /** What is thrown within a request is only a failed answer to the gateway, so that it is kept. */
  function check<T>(look: () => T): T {
    try {
      return look();
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
    const { media, model } = live.step;
    expect(media.length === 0 || model !== 'other', 'media of which nobody can say what they cost').to.equal(true);
    const mediaTokens = media.reduce((sum, { tokens }) => sum + tokens, 0);
    expect(live.estimatedInput, `reserved for ${JSON.stringify(media)}`).to.be.at.least(mediaTokens);
    const price = PRICES.find(chat.model, chat.model) ?? expect.fail('it has no price');
    expect(live.hold?.heldMicro, `reserved for ${JSON.stringify(live.step)}`).to.be.at.least(
      holdOf(price, { inputTokens: live.estimatedInput, outputTokens: live.allowed }),
    );
    return live;
  }

  function backendOf(): RoutedChatBackend {
    return {
      async ask(chat, { signal, note }, listener) {
        if (isEncoded(chat)) throw new Error('no request is large here');
        const live = check(() => findLive(chat));
        note(onlyBackend());
        let hasBegun = false;
        await play(live, signal, (chunks, done) => {
          if (!hasBegun) listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
          hasBegun = true;
          return listener.take({ chunks, done });
        });
      },
    };
  }

  function relayOf(): RoutedChatRelay {
    return {
      async relay({ body }, { signal, note }, listener) {
        const live = check(() => findLive(JSON.parse(body(true).toString()) as ChatRequest));
        note(onlyBackend());
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
  const go = async (chunks: readonly ChatChunk[], done = false, isCounted = false): Promise<void> => {
    await turn();
    signal.throwIfAborted();
    const speaks = JSON.stringify(chunks).includes('word ');
    if (STAYS.has(step.leaves)) {
      live.hasSpoken ||= speaks;
      if (isCounted) live.counted = countedOf(live);
    }
    await pass(chunks, done);
    live.hasSpoken ||= speaks && !signal.aborted;
  };
  left('before the answer');
  await turn();
  signal.throwIfAborted();
  if (step.ending === 'refused') throw new ApiError('rate_limit_exceeded');
  const model = step.usage === 'of a dearer model' ? 'dear' : step.model;
  const choices = choicesOf(step);
  const usage = usageOf(live);
  const all = usage && { usage };
  const inChoice = (index: number) => step.usage === 'of each choice in it' && { usage: usageOfChoice(live, index) };
  const beside = (index: number) => COUNTED_BESIDE.has(step.usage) && { usage: usageOfChoice(live, index) };
  const says = (index: number, content: string, finish_reason: string | null) => ({
    index,
    delta: step.isCustom ? { tool_calls: [{ index: 0, custom: { input: content } }] } : { content },
    finish_reason,
  });
  const words = 'word '.repeat(step.written % 200);
  if (!step.stream) {
    const isBeside = COUNTED_BESIDE.has(step.usage) && usageOf({ ...live, step: { ...step, usage: 'true' } });
    const completion = {
      model,
      choices: choices.map((index) => ({ ...says(index, words, 'stop'), ...inChoice(index) })),
      ...all,
      ...(isBeside && { usage: isBeside }),
    };
    return go([completion], true, true);
  }
  for (let piece = 0; piece < step.pieces; piece += 1) {
    const index = piece % choices.length;
    const soFar = step.usage === 'with each word' && { usage: usageOfChoice(live, index, (piece + 1) / 4) };
    await go([{ model, choices: [says(index, words, null)], ...soFar }]);
    left('after the first words');
  }
  if (step.ending === 'cut') throw new ApiError('upstream_error');
  const finishes = choices.map((index) => ({
    model,
    choices: [{ ...says(index, '', 'stop'), ...inChoice(index) }],
    ...beside(index),
  }));
  await go(finishes, false, usage === undefined);
  left('after the finish reason');
  await go(usage === undefined ? [] : [{ model, choices: [], usage }], true, true);
}

/** Who leaves after the finish reason is charged as if it had stayed. */
const STAYS: ReadonlySet<Step['leaves']> = new Set(['never', 'after the finish reason']);
const COUNTED_BESIDE: ReadonlySet<Step['usage']> = new Set(['with each word', 'of each choice beside it']);

function choicesOf({ isChat, choices }: Step): readonly number[] {
  return Array.from({ length: isChat ? choices : 1 }, (_, index) => index);
}

function writtenOf({ step, allowed }: Live): number {
  return Math.floor((allowed * step.written) / 1000);
}

/** What the backend counts for one choice, once it has written this part of it. */
function usageOfChoice(live: Live, index: number, part = 1): object {
  const { length } = choicesOf(live.step);
  const written = writtenOf(live);
  const ofEach = Math.floor(written / length);
  const ofThis = index === 0 ? written - ofEach * (length - 1) : ofEach;
  return { prompt_tokens: live.estimatedInput, completion_tokens: Math.floor(ofThis * part) };
}

/** What the backend counts in all, if it does so; within what was reserved, but for lies. */
function usageOf(live: Live): object | undefined {
  const { step, allowed, estimatedInput: input } = live;
  const written = writtenOf(live);
  const counted = { prompt_tokens: input, completion_tokens: written, total_tokens: input + written };
  switch (step.usage) {
    case 'none':
    case 'with each word':
    case 'of each choice beside it':
    case 'of each choice in it':
      return undefined;
    case 'no input':
      return { completion_tokens: written };
    case 'no output':
      return { prompt_tokens: input };
    case 'zeros':
      return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    case 'absurd':
      return { prompt_tokens: -1, completion_tokens: 1e300, total_tokens: Number.MAX_SAFE_INTEGER };
    case 'absurd input':
      return { prompt_tokens: 1e300, completion_tokens: written };
    case 'absurd output':
      return { prompt_tokens: input, completion_tokens: -1 };
    case 'less input than was estimated':
      return { prompt_tokens: lessOf(input), completion_tokens: written };
    case 'more cached than input':
      return { ...counted, prompt_tokens_details: { cached_tokens: input + 1000 } };
    case 'more written to the cache than input':
      return { ...counted, prompt_tokens_details: { cache_write_tokens: input + 1000 } };
    case 'thoughts in the total':
      return { ...counted, completion_tokens: 0 };
    case 'far too much':
      return { prompt_tokens: 3 * input, completion_tokens: 2 * allowed + 10 };
    case 'true':
    case 'of a dearer model':
      return counted;
    default:
      return step.usage satisfies never;
  }
}

/** Every other request with media is within what the operator says. */
function expectUnsaid({ media, model }: Step): void {
  expect([media.length > 0, model], 'media were refused').to.deep.equal([true, 'other']);
}

function lessOf(input: number): number {
  return Math.ceil(input / 3);
}

/** What must be charged for an answer that came to its end; undefined if the backend has not counted it. */
function countedOf(live: Live): Counted | undefined {
  const { step, allowed, estimatedInput: input } = live;
  const output = writtenOf(live);
  switch (step.usage) {
    case 'none':
    case 'no input':
    case 'no output':
    case 'zeros':
    case 'absurd':
    case 'absurd input':
    case 'absurd output':
      return undefined;
    case 'far too much':
      return { input: 3 * input, output: 2 * allowed + 10 };
    case 'less input than was estimated':
      return output === 0 ? undefined : { input: lessOf(input), output };
    default:
      // None of words is no count.
      return output === 0 ? undefined : { input, output };
  }
}

/** The most that a request may cost in millionths: its reservation, or what the backend has counted beyond it. */
function mostOf({ step, hold, estimatedInput, allowed }: Live): number {
  const price = PRICES.find(step.model, step.model) ?? expect.fail('it has no price');
  const dear = PRICES.find('dear', 'dear') ?? expect.fail('it has no price');
  switch (step.usage) {
    case 'far too much':
      return holdOf(price, { inputTokens: 3 * estimatedInput, outputTokens: 2 * allowed + 10 });
    case 'of a dearer model':
      return holdOf(dear, { inputTokens: estimatedInput, outputTokens: allowed });
    default:
      return hold?.heldMicro ?? 0;
  }
}

function bodyOf(step: Step, requestId: string): object {
  const { model, stream, limit, otherLimit, choices } = step;
  const words = `${requestId} ${'some words '.repeat(step.words)}`;
  const media = step.media.map(({ chat, response }) => (step.isChat ? chat : response));
  if (!step.isChat) {
    const input =
      media.length === 0 ? words : [{ role: 'user', content: [{ type: 'input_text', text: words }, ...media] }];
    return { model, stream, input, ...(limit !== null && { max_output_tokens: limit }) };
  }
  return {
    model,
    stream,
    messages: [{ role: 'user', content: media.length === 0 ? words : [{ type: 'text', text: words }, ...media] }],
    ...(choices > 1 && { n: choices }),
    ...(limit !== null && { max_tokens: limit }),
    ...(otherLimit !== null && { max_completion_tokens: otherLimit }),
  };
}

const SINK = { write: () => undefined, end: () => undefined, finish: () => undefined, fail: () => undefined };

const CHAT_REPLY = { reply: { open: () => SINK, refuse: () => undefined } };

const RESPONSE_REPLY = {
  endpoint: 'responses',
  openReply: () => ({ open: () => SINK }),
} as const;
