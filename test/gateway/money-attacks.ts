/** How a key could spend what it does not have, tried on every endpoint and in every form of answer; called for each engine. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { RequestRecord } from '../../src/contract/types.ts';
import type { Store } from '../../src/core/books/store.ts';
import { callerOf, readError } from '../records/caller.ts';
import { answer, finish, text, USAGE } from '../records/chunks.ts';
import { callerBy } from '../records/web-socket-caller.ts';
import { useStore, type EngineUnderTest } from '../store/conformance.ts';
import { startScriptedBackend, type Script, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { pairsOf, runs } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived, until } from '../support/time.ts';

const WAYS = [
  'responses as JSON',
  'responses as a stream',
  'responses over a WebSocket',
  'chat completions as JSON',
  'chat completions as a stream',
] as const;
type Way = (typeof WAYS)[number];

const RESPONSES = WAYS.filter((way) => !isChat(way));
const CHATS = WAYS.filter(isChat);

function isChat(way: Way): boolean {
  return way.startsWith('chat');
}

/** A token of input of `m` costs 2 millionths, of its cache 1, and a token of output 10. */
const PRICES = {
  currency: 'USD',
  models: {
    m: { input: '2', cached_input: '1', output: '10' },
    dear: { input: '20', cached_input: '10', output: '100' },
    '*': { input: '1', output: '1' },
  },
};
/** Nobody says what media of other models cost. */
const MEDIA = {
  image: { unit_tokens: 1000, unit_pixels: 512, max_units: 8 },
  file: { unit_tokens: 1000, max_units: 10 },
};
const MODELS = { models: { m: { media: MEDIA } } };
const PLENTY = 1_000_000_000;
/** How many ask at once. */
const CROWD = runs(50).numRuns;
/** 40 kB, which are some ten thousand tokens. */
const WORDS = 'some words '.repeat(4000);

interface Ask {
  readonly model?: string;
  /** What the user says; a text, or a part of each endpoint. */
  readonly words?: string;
  readonly part?: { readonly responses: object; readonly chat: object };
  readonly fields?: object;
}

/** The same request on each endpoint. */
function bodyOf(way: Way, { model = 'm', words = 'Hello', part, fields }: Ask): object {
  const stream = way.endsWith('stream') && { stream: true };
  if (isChat(way)) {
    const content = part === undefined ? words : [{ type: 'text', text: words }, part.chat];
    return { model, messages: [{ role: 'user', content }], ...stream, ...fields };
  }
  const content = part === undefined ? words : [{ type: 'input_text', text: words }, part.responses];
  return { model, input: [{ role: 'user', content }], ...stream, ...fields };
}

export function describeMoneyAttacks(name: string, engine: EngineUnderTest): void {
  describe(`a key with funds, ${name},`, () => {
    useRealSockets();

    let folder: string;
    let store: Store;
    let backend: ScriptedBackend;
    let gateway: ManagedGateway;

    useStore(engine, Date.now, (opened) => {
      store = opened;
    });

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'money-'));
      const pricesFile = join(folder, 'prices.json');
      writeFileSync(pricesFile, JSON.stringify(PRICES));
      const modelsFile = join(folder, 'models.json');
      writeFileSync(modelsFile, JSON.stringify(MODELS));
      backend = await startScriptedBackend();
      // The store belongs to the engine under test, which closes it.
      const lent = { ...store, close: () => Promise.resolve() };
      gateway = await openManagedGateway(
        { UPSTREAM_BASE_URL: backend.baseUrl, PRICES_FILE: pricesFile, MODELS_FILE: modelsFile },
        { store: lent },
      );
    });

    afterEach(async () => {
      await gateway.close();
      await backend.close();
      rmSync(folder, { recursive: true, force: true });
    });

    function send(way: Way, secret: string, ask: Ask, signal?: AbortSignal): Promise<Response> {
      const init = signal === undefined ? {} : { signal };
      if (isChat(way)) return callerOf(gateway.url, secret).complete(bodyOf(way, ask), init);
      const kind = way.endsWith('WebSocket') ? 'web socket' : way.endsWith('stream') ? 'stream' : 'json';
      return callerBy(kind, gateway.url, secret).create(bodyOf(way, ask), init);
    }

    /** The record of the latest request with the key, once all have ended. */
    async function recordOf({ secret, key }: IssuedKey): Promise<RequestRecord> {
      await until(async () => {
        const records = (await store.list([key.keyId], { limit: 100 }))?.records ?? [];
        return records.length > 0 && records.every(({ status }) => status !== 'processing');
      });
      const listed = await callerOf(gateway.url, secret).get('/api/v1/requests');
      const { data } = (await listed.json()) as { data: RequestRecord[] };
      return data[0] ?? expect.fail('there is no record');
    }

    async function run(way: Way, key: IssuedKey, ask: Ask = {}): Promise<RequestRecord> {
      const reply = await send(way, key.secret, ask);
      expect(reply.status).to.equal(200);
      await reply.text();
      return recordOf(key);
    }

    async function heldFor({ key }: IssuedKey): Promise<number> {
      const ledger = await store.listLedger(key.keyId, { limit: 100 });
      return -(ledger?.entries.find(({ kind }) => kind === 'reserve')?.amountMicro ?? 0);
    }

    async function expectRefused(reply: Response, status: number, code: string, param: string): Promise<void> {
      expect(reply.status).to.equal(status);
      expect(await readError(reply)).to.include({ code, param });
      expect(backend.requests).to.deep.equal([]);
    }

    describe('cannot order what costs extra', () => {
      for (const [way, model] of pairsOf(WAYS, ['m:online', 'm:Online', 'm:free:ONLINE', 'm:nitro'])) {
        it(`with the model ${model}: ${way}`, async () => {
          const { secret } = await gateway.issue({ creditsMicro: PLENTY });
          await expectRefused(await send(way, secret, { model }), 400, 'unsupported_parameter', 'model');
        });
      }

      const search = { type: 'web_search' };
      const fields: readonly { param: string; fields: object }[] = [
        { param: 'tools[0].type', fields: { tools: [search] } },
        { param: 'tools[1].type', fields: { tools: [{ type: 'function', function: { name: 'f' } }, search] } },
        { param: 'tools[0].type', fields: { tools: [{ type: 'openrouter:web_search' }] } },
        {
          param: 'tools[0].type',
          fields: { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
        },
        { param: 'tools[0].googleSearch', fields: { tools: [{ googleSearch: {} }] } },
        { param: 'tools[0].urlContext', fields: { tools: [{ urlContext: {}, type: 'function' }] } },
        { param: 'functions[0].google_search', fields: { functions: [{ google_search: {} }] } },
        { param: 'tools[0].Type', fields: { tools: [{ Type: 'web_search' }] } },
        { param: 'Tools', fields: { Tools: [search] } },
        { param: 'extra_body.tools', fields: { extra_body: { tools: [search] } } },
        { param: 'extra_body.plugins', fields: { extra_body: { plugins: [{ id: 'web' }] } } },
        { param: 'web_search_options', fields: { web_search_options: {} } },
        { param: 'modalities', fields: { modalities: ['image', 'text'] } },
      ];
      for (const [way, { param, fields: named }] of pairsOf(CHATS, fields)) {
        it(`with ${JSON.stringify(named)}: ${way}`, async () => {
          const { secret } = await gateway.issue({ creditsMicro: PLENTY });
          const reply = await send(way, secret, { fields: named });
          await expectRefused(reply, 400, 'unsupported_parameter', param);
        });
      }
      for (const way of RESPONSES) {
        it(`with tools or fields that only the backend could know: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          const own = { plugins: [{ id: 'web' }], extra_body: { models: ['dear'] }, n: 5 };
          await run(way, key, { fields: { tools: [search], ...own } });
          expect(backend.requests[0]?.body).not.to.have.any.keys('tools', 'plugins', 'extra_body', 'models', 'n');
        });
      }
    });

    describe('cannot send words without weight', () => {
      const parts: readonly { name: string; part: NonNullable<Ask['part']> }[] = [
        {
          name: 'as a file',
          part: {
            responses: { type: 'input_file', filename: 'a', file_data: WORDS },
            chat: { type: 'file', file: { file_data: WORDS } },
          },
        },
        {
          name: 'as a file of text',
          part: {
            responses: { type: 'input_file', filename: 'a', file_data: `data:text/plain;base64,${'A'.repeat(40_000)}` },
            chat: { type: 'file', file: { file_data: `data:text/plain;base64,${'A'.repeat(40_000)}` } },
          },
        },
        {
          name: 'behind the beginning of an image',
          part: {
            responses: { type: 'input_image', image_url: `data:,${WORDS}` },
            chat: { type: 'image_url', image_url: { url: `data:,${WORDS}` } },
          },
        },
        {
          name: 'in a part that the backend knows by another name',
          part: {
            responses: { type: 'input_text', text: WORDS },
            chat: { type: 'input_text', text: WORDS },
          },
        },
        {
          name: 'beside an image',
          part: {
            responses: { type: 'input_text', text: WORDS },
            chat: { type: 'image_url', text: WORDS, image_url: { url: 'data:,' } },
          },
        },
      ];
      for (const [way, { name: how, part }] of pairsOf(WAYS, parts)) {
        it(`${how}: ${way}`, async () => {
          // Enough for the output and for an input of 4,000 tokens.
          const { secret } = await gateway.issue({ creditsMicro: 4096 * 10 + 4000 * 2 });
          await expectRefused(await send(way, secret, { part }), 402, 'insufficient_credits', '');
        });
      }
    });

    describe('cannot send media of which nobody can say what they cost', () => {
      const image = partsOf('data:image/png;base64,AAAA');
      for (const way of WAYS) {
        it(`to a model of which the operator says nothing: ${way}`, async () => {
          const { secret } = await gateway.issue({ creditsMicro: PLENTY });
          const param = isChat(way) ? 'messages[0].content[1].image_url.url' : 'input[0].content[1]';
          await expectRefused(
            await send(way, secret, { model: 'dear', part: image }),
            400,
            'unsupported_parameter',
            param,
          );
        });

        it(`and has reserved for it all that an image may count: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          await run(way, key, { part: image });
          expect(await heldFor(key)).to.be.within(8000 * 2 + 4096 * 10, 8100 * 2 + 4096 * 10);
        });

        it(`but a key with neither funds nor limits can: ${way}`, async () => {
          backend.reply(answer());
          await run(way, await gateway.issue({}), { model: 'dear', part: image });
        });
      }

      const kinds: readonly { field: string; part: Readonly<Record<string, unknown>> }[] = [
        { field: 'video_url.url', part: { type: 'video_url', video_url: { url: 'https://a.example/a.mp4' } } },
        { field: 'image_url.url', part: { type: 'image_url', image_url: { url: 'https://a.example/a.mp4' } } },
        { field: 'input_audio.data', part: { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } } },
        { field: 'video', part: { type: 'video', video: ['https://a.example/1.jpg'] } },
      ];
      for (const [way, { field, part }] of pairsOf(CHATS, kinds)) {
        it(`as ${JSON.stringify(part)}: ${way}`, async () => {
          const { secret } = await gateway.issue({ limits: { tokensPerMinute: 1_000_000 } });
          const reply = await send(way, secret, { part: { responses: {}, chat: part } });
          await expectRefused(reply, 400, 'unsupported_parameter', `messages[0].content[1].${field}`);
        });
      }

      for (const way of WAYS) {
        it(`or have more at once than its funds cover: ${way}`, async () => {
          // Twice what a request may cost that names a limit.
          const key = await gateway.issue({ creditsMicro: 2 * (8100 * 2 + 100 * 10) });
          const decided = Promise.withResolvers<void>();
          const counted = { prompt_tokens: 8000, completion_tokens: 100, total_tokens: 8100 };
          backend.always(async (stage) => {
            await decided.promise;
            await answer('Hello', 'stop', counted)(stage);
          });
          const limits = { [isChat(way) ? 'max_tokens' : 'max_output_tokens']: 100 };
          let undecided = CROWD - 2;
          await Promise.all(
            Array.from({ length: CROWD }, async () => {
              const reply = await send(way, key.secret, { part: image, fields: limits });
              if (reply.status === 402 && --undecided === 0) decided.resolve();
              await reply.text();
            }),
          );
          expect(backend.requests).to.have.lengthOf(2);
          await recordOf(key);
          const left = (await store.findKey(key.key.keyId))?.balanceMicro;
          expect(left).to.equal(2 * 100 * 2);
        });
      }
    });

    describe('cannot make requests look small, neither its own nor those of others,', () => {
      for (const way of WAYS) {
        it(`by fields that no model reads, or by words that are few tokens: ${way}`, async () => {
          const other = await gateway.issue({ creditsMicro: PLENTY });
          const later = await gateway.issue({ creditsMicro: PLENTY });
          const attacker = await gateway.issue({ creditsMicro: PLENTY });
          const oneToken = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
          backend.always(answer('Hello'.repeat(100), 'stop', oneToken));
          await run(way, other, { words: WORDS });
          for (let count = 0; count < 4; count += 1) {
            const unread = isChat(way) ? 'user' : 'unknown_padding';
            await run(way, attacker, { words: WORDS, fields: { [unread]: 'a'.repeat(100_000) } });
          }
          await run(way, later, { words: WORDS });
          expect(await heldFor(later)).to.be.at.least(0.8 * (await heldFor(other)));
          expect(await heldFor(attacker)).to.equal(await heldFor(other));
        });
      }
    });

    describe('pays for an answer that is not parsed', () => {
      const manyNames = `,"logprobs":[${'{"token":"a","logprob":-1,"bytes":[1]},'.repeat(17_000)}{}]`;
      const large = `,"hidden_states":"${'a'.repeat(8 * 1024 * 1024)}"`;
      const notJson = ',"logprobs":[NaN]';
      const usage = { ...USAGE, completion_tokens: 800, total_tokens: 811 };
      const reported = 11 * 2 + 800 * 10;
      const answers: readonly { name: string; extra: string; usage?: object; cost: number; fields?: object }[] = [
        { name: 'with many names', extra: manyNames, usage, cost: reported },
        { name: 'with many names and no usage', extra: manyNames, cost: 5 * 2 + 50 * 10 },
        { name: 'of more than 8 MiB', extra: large, usage, cost: 5 * 2 + 50 * 10 },
        { name: 'with what is no JSON', extra: notJson, usage, cost: reported },
      ];
      for (const { name: how, extra, usage: counted, cost } of answers) {
        for (const limits of [{ creditsMicro: PLENTY }, { limits: { tokensPerMinute: 100_000 } }]) {
          it(`${how}, ${JSON.stringify(limits)}`, async () => {
            const key = await gateway.issue(limits);
            const choice = `{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}${extra}}`;
            const body = `{"model":"m","choices":[${choice}]${counted ? `,"usage":${JSON.stringify(counted)}` : ''}}`;
            backend.reply(async ({ start, write, end }) => {
              start(200, { 'content-type': 'application/json' });
              await write(body);
              end();
            });
            const reply = await send('chat completions as JSON', key.secret, { fields: { max_tokens: 50 } });
            expect(await reply.text()).to.equal(body);
            const record = await recordOf(key);
            expect(record.usage_estimated).to.equal(cost !== reported);
            expect(record.cost).to.be.within(cost, cost + 20);
          });
        }
      }

      it('with the rest of a stream after an event that cannot be read', async () => {
        const key = await gateway.issue({ creditsMicro: PLENTY });
        backend.reply(async ({ start, sse, write, end }) => {
          start();
          await sse(text('Hello'));
          await write('data: {"choices":[{"logprobs":NaN}]}\n\n');
          for (let count = 0; count < 100; count += 1) await sse(text('some words '.repeat(100)));
          end();
        });
        const reply = await send('chat completions as a stream', key.secret, {});
        expect(await reply.text()).to.contain('some words some words');
        const record = await recordOf(key);
        expect(record.usage_estimated).to.equal(true);
        expect(record.cost).to.be.at.least(4096 * 10);
      });
    });

    describe('pays for what was written', () => {
      const leavings = WAYS.flatMap((way) => [
        { way, zeros: false, name: way },
        // The backend sends a completion in JSON with one usage.
        ...(way === 'chat completions as JSON' ? [] : [{ way, zeros: true, name: `${way}, after zeros` }]),
      ]);
      for (const { way, zeros, name } of leavings) {
        it(`when it leaves with the whole answer, before its usage: ${name}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          const told = Promise.withResolvers<void>();
          const hasLeft = Promise.withResolvers<void>();
          const usage = { ...USAGE, completion_tokens: 10_000, total_tokens: 10_011 };
          const isJson = way === 'chat completions as JSON';
          backend.reply(inTwo({ usage, told: told.resolve, goOn: hasLeft.promise, isJson, zeros }));
          const leaving = new AbortController();
          const reply = send(way, key.secret, {}, leaving.signal).then(
            (begun) => begun.text().catch(() => ''),
            () => '',
          );
          await told.promise;
          await allArrived();
          leaving.abort();
          await reply;
          await allArrived();
          hasLeft.resolve();
          const { status, usage_estimated, cost } = await recordOf(key);
          expect({ status, usage_estimated, cost }).to.deep.equal({
            status: 'cancelled',
            usage_estimated: false,
            cost: 11 * 2 + 10_000 * 10,
          });
        });
      }

      for (const way of WAYS) {
        it(`when it cancels with the whole answer, before its usage: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          const caller = callerOf(gateway.url, key.secret);
          const told = Promise.withResolvers<void>();
          const hasLeft = Promise.withResolvers<void>();
          const usage = { ...USAGE, completion_tokens: 10_000, total_tokens: 10_011 };
          backend.reply(
            inTwo({ usage, told: told.resolve, goOn: hasLeft.promise, isJson: way === 'chat completions as JSON' }),
          );
          const reply = send(way, key.secret, {}).then(
            (begun) => begun.text().catch(() => ''),
            () => '',
          );
          await told.promise;
          await allArrived();
          const { data } = (await (await caller.get('/api/v1/requests')).json()) as { data: RequestRecord[] };
          const { status: answered } = await caller.cancel(data[0]?.request_id ?? '');
          expect(answered).to.equal(202);
          hasLeft.resolve();
          await reply;
          const { status, usage_estimated, cost } = await recordOf(key);
          expect({ status, usage_estimated, cost }).to.deep.equal({
            status: 'cancelled',
            usage_estimated: false,
            cost: 11 * 2 + 10_000 * 10,
          });
        });
      }
    });

    it('pays for the text of its JSON, and not for what is around it, when it leaves before its end', async () => {
      const key = await gateway.issue({ creditsMicro: PLENTY });
      const told = Promise.withResolvers<void>();
      const numbers = '-0.123456,'.repeat(2000);
      const words = 'Hello '.repeat(100);
      backend.reply(async ({ start, write, hang }) => {
        start(200, { 'content-type': 'application/json' });
        await write(`{"choices":[{"index":0,"logprobs":[${numbers}0],"message":{"content":"${words}`);
        told.resolve();
        await hang();
      });
      const leaving = new AbortController();
      const reply = send('chat completions as JSON', key.secret, {}, leaving.signal).then(
        (begun) => begun.text().catch(() => ''),
        () => '',
      );
      await told.promise;
      await allArrived();
      leaving.abort();
      await reply;
      const record = await recordOf(key);
      expect(record).to.include({ status: 'cancelled', usage_estimated: true });
      expect(record.cost).to.be.within((words.length / 4) * 10, (words.length / 4) * 10 + 50);
    });

    describe('pays for thoughts when it leaves a model that is known to think, before the end,', () => {
      const known: readonly { name: string; thoughts: number; guess: number; isOwn?: boolean; model?: string }[] = [
        { name: 'to others', thoughts: 5000, guess: 1000 },
        { name: 'to others by another name', thoughts: 5000, guess: 1000, model: 'library/M:latest' },
        { name: 'to it alone, by few thoughts', thoughts: 20, guess: 100, isOwn: true },
      ];
      for (const [way, { name: how, thoughts, guess, isOwn, model = 'm' }] of pairsOf(WAYS, known)) {
        it(`${how}: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          const teacher = isOwn === true ? key : await gateway.issue({ creditsMicro: PLENTY });
          const written = {
            completion_tokens: thoughts + 2,
            completion_tokens_details: { reasoning_tokens: thoughts },
          };
          backend.reply(answer('Hello', 'stop', { prompt_tokens: 11, ...written, total_tokens: thoughts + 13 }));
          await run(way, teacher);
          const asked = Promise.withResolvers<void>();
          backend.reply(async ({ hang }) => {
            asked.resolve();
            await hang();
          });
          const leaving = new AbortController();
          const reply = send(way, key.secret, { model }, leaving.signal).then(
            (begun) => begun.text().catch(() => ''),
            () => '',
          );
          await asked.promise;
          leaving.abort();
          await reply;
          const record = await recordOf(key);
          expect(record).to.include({ status: 'cancelled', usage_estimated: true });
          expect(record.cost).to.be.within(guess * 0.8 * 10, guess * 1.25 * 10 + 100);
        });
      }
    });

    describe('pays by usage that a backend got wrong', () => {
      const faults: readonly { name: string; usage: object; cost?: number; atLeast?: number }[] = [
        { name: 'with more cached tokens than input', usage: { ...USAGE, cached_tokens: 1000 }, cost: 11 + 7 * 10 },
        {
          name: 'with thoughts in its total alone',
          usage: { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
          cost: 35 * 2 + 74 * 10,
        },
        { name: 'with input below zero', usage: { prompt_tokens: -5, completion_tokens: 7 }, atLeast: 7 * 10 + 5 * 2 },
        { name: 'with endless input', usage: { prompt_tokens: 1e300, completion_tokens: 7 }, atLeast: 7 * 10 + 5 * 2 },
        { name: 'without output', usage: { prompt_tokens: 11 }, atLeast: 11 * 2 + 10 },
      ];
      for (const [way, { name: how, usage, cost, atLeast }] of pairsOf(WAYS, faults)) {
        it(`${how}: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer('Hello', 'stop', usage));
          const record = await run(way, key);
          expect(record.usage_estimated).to.equal(cost === undefined);
          if (cost !== undefined) expect(record.cost).to.equal(cost);
          if (atLeast !== undefined) expect(record.cost).to.be.within(atLeast, atLeast + 200);
          const { input_tokens, input_tokens_details } = record.usage ?? expect.fail('there is no usage');
          expect(input_tokens_details.cached_tokens).to.be.at.most(input_tokens);
        });
      }
    });

    describe('pays the price', () => {
      for (const way of WAYS) {
        it(`of the model that answered, where that is higher: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answerOf('dear'));
          expect((await run(way, key)).cost).to.equal(11 * 20 + 7 * 100);
        });

        it(`of the model that it asked for, where a cheaper one answered: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answerOf('cheap'));
          expect((await run(way, key)).cost).to.equal(11 * 2 + 7 * 10);
        });
      }

      const names = ['M', 'm:latest', 'M:8b', 'm-2026-01-01', 'library/m', 'host:5000/library/M:8b'];
      for (const [way, model] of pairsOf(WAYS, names)) {
        it(`of m when it writes ${model}: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          expect((await run(way, key, { model })).cost).to.equal(11 * 2 + 7 * 10);
        });
      }
    });

    describe('is not allowed more than is reserved', () => {
      for (const way of WAYS) {
        const limit = isChat(way) ? 'max_tokens' : 'max_output_tokens';

        it(`where it names no limit: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          await run(way, key);
          expect(backend.requests[0]?.body).to.include({ max_tokens: 4096 });
          expect(await heldFor(key)).to.be.at.least(4096 * 10);
        });

        it(`where it names a high one: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          await run(way, key, { fields: { [limit]: 50_000 } });
          expect(backend.requests[0]?.body).to.include({ max_tokens: 50_000 });
          expect(await heldFor(key)).to.be.at.least(50_000 * 10);
        });

        it(`and its funds do not cover that: ${way}`, async () => {
          const { secret } = await gateway.issue({ creditsMicro: 4097 * 10 });
          const reply = await send(way, secret, { fields: { [limit]: 50_000 } });
          await expectRefused(reply, 402, 'insufficient_credits', '');
        });

        it(`where it names several limits, ${CROWD} times at once, with 6,000 tokens a minute: ${way}`, async () => {
          const { secret } = await gateway.issue({ limits: { tokensPerMinute: 6000 } });
          const decided = Promise.withResolvers<void>();
          backend.always(async (stage) => {
            await decided.promise;
            await answer()(stage);
          });
          const limits = isChat(way)
            ? { max_tokens: 1, max_completion_tokens: 5000 }
            : { max_tokens: 1, [limit]: 5000 };
          let undecided = CROWD - 1;
          const statuses = await Promise.all(
            Array.from({ length: CROWD }, async () => {
              const reply = await send(way, secret, { fields: limits });
              if (reply.status === 429 && --undecided === 0) decided.resolve();
              await reply.text();
              return reply.status;
            }),
          );
          expect(statuses.filter((status) => status === 200)).to.have.lengthOf(1);
          expect(statuses.filter((status) => status === 429)).to.have.lengthOf(CROWD - 1);
          expect(backend.requests.map(({ body }) => limitsIn(body))).to.deep.equal([{ max_tokens: 5000 }]);
        });
      }

      const several: readonly { limits: Readonly<Record<string, number>>; told: number }[] = [
        { limits: { max_tokens: 1, max_completion_tokens: 50_000 }, told: 50_000 },
        { limits: { max_completion_tokens: 1, max_tokens: 50_000 }, told: 50_000 },
        { limits: { max_completion_tokens: 50_000 }, told: 50_000 },
        { limits: { max_completion_tokens: 1, max_tokens: 0 }, told: 4096 },
      ];
      for (const [way, { limits, told }] of pairsOf(CHATS, several)) {
        it(`where it names ${JSON.stringify(limits)}: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          await run(way, key, { fields: limits });
          expect(limitsIn(backend.requests[0]?.body)).to.deep.equal({ max_tokens: told });
          expect(await heldFor(key)).to.be.at.least(told * 10);
        });
      }

      const foreign: readonly object[] = [
        { max_tokens: 50_000, max_completion_tokens: 50_000 },
        { n_predict: 50_000 },
        { N_Predict: 50_000, Max_Tokens: 50_000 },
        { extra_body: { max_tokens: 50_000, n_predict: 50_000 } },
        { options: { num_predict: 50_000 } },
      ];
      for (const [way, fields] of pairsOf(RESPONSES, foreign)) {
        it(`where it also names ${JSON.stringify(fields)}: ${way}`, async () => {
          const key = await gateway.issue({ creditsMicro: PLENTY });
          backend.reply(answer());
          await run(way, key, { fields: { max_output_tokens: 100, ...fields } });
          expect(limitsIn(backend.requests[0]?.body)).to.deep.equal({ max_tokens: 100 });
        });
      }

      const refused: readonly { param: string; fields: object }[] = [
        { param: 'n_predict', fields: { max_tokens: 1, n_predict: 50_000 } },
        { param: 'N_PREDICT', fields: { max_tokens: 1, N_PREDICT: 50_000 } },
        { param: 'Max_Tokens', fields: { max_tokens: 1, Max_Tokens: 50_000 } },
        { param: 'MAX_COMPLETION_TOKENS', fields: { max_tokens: 1, MAX_COMPLETION_TOKENS: 50_000 } },
        { param: 'max_to\u212aens', fields: { max_tokens: 1, ['max_to\u212aens']: 50_000 } },
        { param: 'max_new_tokens', fields: { max_tokens: 1, max_new_tokens: 50_000 } },
        { param: 'options', fields: { max_tokens: 1, options: { num_predict: 50_000 } } },
        { param: 'extra_body.max_tokens', fields: { max_tokens: 1, extra_body: { max_tokens: 50_000 } } },
        { param: 'N', fields: { n: 1, N: 50 } },
        { param: 'Stream_Options', fields: { Stream_Options: {} } },
        { param: 'stream_options.Include_Usage', fields: { stream_options: { Include_Usage: false } } },
      ];
      for (const [way, { param, fields }] of pairsOf(CHATS, refused)) {
        it(`by ${JSON.stringify(fields)}: ${way}`, async () => {
          const { secret } = await gateway.issue({ creditsMicro: PLENTY });
          await expectRefused(await send(way, secret, { fields }), 400, 'unsupported_parameter', param);
        });
      }

      const doubled: readonly { param: string; fields: string }[] = [
        { param: 'model', fields: '"model":"dear"' },
        { param: 'max_tokens', fields: '"max_tokens":1,"max_tokens":50000' },
        { param: 'n', fields: '"n":1,"n":50' },
        { param: 'tools', fields: '"tools":[],"tools":[{"type":"function","function":{"name":"f"}}]' },
        { param: 'stream_options', fields: '"stream_options":{"include_usage":true},"stream_options":{}' },
        {
          param: 'stream_options.include_usage',
          fields: '"stream_options":{"include_usage":true,"include_usage":false}',
        },
      ];
      for (const [way, { param, fields }] of pairsOf(CHATS, doubled)) {
        it(`by a field that is given twice, ${param}: ${way}`, async () => {
          const { secret } = await gateway.issue({ creditsMicro: PLENTY });
          const body = JSON.stringify(bodyOf(way, {})).replace(/\}$/, `,${fields}}`);
          await expectRefused(await callerOf(gateway.url, secret).complete(body), 400, 'invalid_request', param);
        });
      }
    });
  });
}

/** An image for each endpoint. */
function partsOf(url: string): NonNullable<Ask['part']> {
  return {
    responses: { type: 'input_image', image_url: url },
    chat: { type: 'image_url', image_url: { url } },
  };
}

/** What limits the output of a request to the backend, by any name that a backend may know. */
function limitsIn(body: unknown): object {
  const names = Object.entries(body as object).filter(([name]) => /tokens|predict|extra_body|options$/i.test(name));
  return Object.fromEntries(names.filter(([name]) => name !== 'stream_options'));
}

/** An answer that names this model. */
function answerOf(model: string): Script {
  return async ({ request, start, sse, end }) => {
    if ((request.body as { stream?: boolean }).stream === true) {
      start();
      await sse(
        { model, ...text('Hello') },
        { model, ...finish('stop') },
        { model, choices: [], usage: USAGE },
        '[DONE]',
      );
      end();
      return;
    }
    start(200, { 'content-type': 'application/json' });
    const choice = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' };
    end(JSON.stringify({ model, choices: [choice], usage: USAGE }));
  };
}

interface TwoParts {
  readonly usage: object;
  readonly told: () => void;
  readonly goOn: Promise<void>;
  /** A request for JSON may also be answered with a stream. */
  readonly isJson: boolean;
  /** Whether the backend counts nothing until the last chunk, and says so in each. */
  readonly zeros?: boolean;
}

/** The whole answer, and later its usage. */
function inTwo({ usage, told, goOn, isJson, zeros = false }: TwoParts): Script {
  return async ({ start, sse, write, end }) => {
    if (isJson) {
      const choice = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' };
      const [first, rest] = JSON.stringify({ choices: [choice], usage }).split(',"usage"') as [string, string];
      start(200, { 'content-type': 'application/json' });
      await write(first);
      told();
      await goOn;
      await write(`,"usage"${rest}`);
      end();
      return;
    }
    start();
    const soFar = zeros ? { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } } : {};
    await sse({ ...text('Hello'), ...soFar }, { ...finish('stop'), ...soFar });
    told();
    await goOn;
    await sse({ choices: [], usage }, '[DONE]');
    end();
  };
}
