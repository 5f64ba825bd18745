/** What credits promise when everything happens at once, over a whole gateway with its books in a file. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { boolean, constantFrom, nat, record, sample } from 'fast-check';
import { openStore } from '../../src/store/open.ts';
import { callerOf, readRecord, type Caller } from '../records/caller.ts';
import { answer, stream, text, USAGE } from '../records/chunks.ts';
import { startScriptedBackend, type Script, type ScriptedBackend } from '../support/backend.ts';
import { expectBooksToAddUp } from '../support/books.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { SEED } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { turn, until } from '../support/time.ts';

type Endpoint = 'responses' | 'chat.completions';

interface Ask {
  readonly endpoint: Endpoint;
  readonly stream: boolean;
}

/** 11 tokens of input at 2 millionths, and 7 of output at 10. */
const COST_MICRO = 11 * 2 + 7 * 10;
const MAX_OUTPUT_TOKENS = 30;
/** How many requests of a crowd the credits cover. */
const COVERED = 10;

/** How many requests are sent at once. */
export interface Crowds {
  /** Of which ten are let in. */
  readonly covered: number;
  /** That reserve little and allow much. */
  readonly greedy: number;
  /** That end in every way. */
  readonly mixed: number;
}

/** Describes credits under crowds of these sizes. */
export function describeCredits(crowds: Crowds): void {
  describe('credits, when everything happens at once', () => {
    useRealSockets();

    let folder: string;
    let file: string;
    let backend: ScriptedBackend;
    let gateway: ManagedGateway;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'credits-'));
      file = join(folder, 'gateway.db');
      backend = await startScriptedBackend();
      const store = await openStore({ databaseUrl: `file:${file}`, recordRetentionDays: 30 });
      gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { store });
    });

    after(async () => {
      await gateway.close();
      await backend.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** What is reserved for one of the requests below, which is the same for all of them. */
    async function findHold(): Promise<number> {
      const { secret, key } = await gateway.issue({ creditsMicro: 1_000_000 });
      backend.reply(answer());
      await (await callerOf(gateway.url, secret).create(bodyOf({ endpoint: 'responses', stream: false }, 0))).text();
      const ledger = await gateway.store.listLedger(key.keyId, { limit: 10 });
      return -(ledger?.entries.find(({ kind }) => kind === 'reserve')?.amountMicro ?? 0);
    }

    const barriers: readonly { readonly name: string; readonly askOf: (place: number) => Ask }[] = [
      { name: 'of responses as JSON', askOf: () => ({ endpoint: 'responses', stream: false }) },
      { name: 'of responses as streams', askOf: () => ({ endpoint: 'responses', stream: true }) },
      { name: 'of chat completions as JSON', askOf: () => ({ endpoint: 'chat.completions', stream: false }) },
      { name: 'of chat completions as streams', askOf: () => ({ endpoint: 'chat.completions', stream: true }) },
      {
        name: 'of both endpoints, as JSON and as streams',
        askOf: (place) => ({
          endpoint: place % 2 === 0 ? 'responses' : 'chat.completions',
          stream: place % 4 < 2,
        }),
      },
    ];
    for (const { name, askOf } of barriers) {
      it(`let exactly the ${COVERED} of ${crowds.covered} requests run that they cover: ${name}`, async () => {
        const holdMicro = await findHold();
        // With one millionth more, another one could run.
        const creditsMicro = (COVERED + 1) * holdMicro - 1;
        const { secret, key } = await gateway.issue({ creditsMicro });
        const caller = callerOf(gateway.url, secret);
        const asked = backend.requests.length;
        const decided = Promise.withResolvers<void>();
        backend.always(async (stage) => {
          await decided.promise;
          await answer()(stage);
        });
        let undecided = crowds.covered - COVERED;
        const ask = async (_: unknown, place: number): Promise<number> => {
          const reply = await send(caller, askOf(place), place);
          if (reply.status === 402 && --undecided === 0) decided.resolve();
          await reply.text();
          return reply.status;
        };
        const statuses = await Promise.all(Array.from({ length: crowds.covered }, ask));
        expect(statuses.filter((status) => status === 200)).to.have.lengthOf(COVERED);
        expect(statuses.filter((status) => status === 402)).to.have.lengthOf(crowds.covered - COVERED);
        expect(backend.requests).to.have.lengthOf(asked + COVERED);
        await allOver(key);
        expect(expectBooksToAddUp(file, key.keyId)).to.deep.equal({
          balanceMicro: creditsMicro - COVERED * COST_MICRO,
          lowestMicro: 0,
          spentMicro: COVERED * COST_MICRO,
          requests: COVERED,
        });
      });
    }

    const attempts: readonly { readonly limits: object; readonly statuses: readonly number[] }[] = [
      { limits: { max_tokens: 5000 }, statuses: [402] },
      { limits: { max_completion_tokens: 1, max_tokens: 5000 }, statuses: [402] },
      { limits: { max_completion_tokens: 1 }, statuses: [200, 402] },
      { limits: { max_tokens: 1, n_predict: 5000 }, statuses: [400] },
      { limits: { max_tokens: 1, Max_Tokens: 5000 }, statuses: [400] },
      { limits: { max_tokens: 1, N_PREDICT: 5000 }, statuses: [400] },
    ];
    for (const { limits, statuses } of attempts) {
      it(`are not outspent by a request that reserves little and allows much: ${JSON.stringify(limits)}`, async () => {
        const { secret, key } = await gateway.issue({ creditsMicro: 10_000 });
        const caller = callerOf(gateway.url, secret);
        backend.always(whateverIsAllowed);
        const told = await Promise.all(
          Array.from({ length: crowds.greedy }, async () => {
            const reply = await caller.complete({
              model: 'm',
              messages: [{ role: 'user', content: 'Hello' }],
              ...limits,
            });
            await reply.text();
            return reply.status;
          }),
        );
        await allOver(key);
        expect(statuses).to.include.members(told);
        expect(expectBooksToAddUp(file, key.keyId).lowestMicro).to.be.at.least(0);
      });
    }

    it('add up after requests that end in every way at random moments', async () => {
      /** How many reservations the credits cover. */
      const holds = crowds.mixed / 5;
      const holdMicro = await findHold();
      const { secret, key } = await gateway.issue({ creditsMicro: holds * holdMicro });
      const caller = callerOf(gateway.url, secret);
      const lives = sample(anyLife, { seed: SEED, numRuns: crowds.mixed }).map((life) => ({
        ...life,
        reached: Promise.withResolvers<void>(),
      }));
      backend.always(async (stage) => {
        const life = lives[placeOf(stage.request.body)];
        life?.reached.resolve();
        if (life !== undefined) await scriptOf(life)(stage);
      });
      const told = await Promise.all(lives.map((life, place) => live(caller, life, place)));
      await allOver(key);

      const books = expectBooksToAddUp(file, key.keyId);
      expect(books.requests).to.equal(crowds.mixed - told.filter((status) => status === 402).length);
      expect(books.requests, 'a test in which few requests ran').to.be.above(holds / 2);
      expect(told, 'a test in which the credits were enough').to.include(402);
      expect(books.balanceMicro).to.equal(holds * holdMicro - books.spentMicro);
      // Whatever they cost beyond their reservations, which are alike.
      expect(books.lowestMicro).to.be.at.least(-holdMicro);
    });

    /** Waits until no request of the key runs, here and at the backend. */
    async function allOver({ keyId }: IssuedKey['key']): Promise<void> {
      await until(async () => {
        const page = await gateway.store.list([keyId], { status: 'processing', limit: 1 });
        return page?.records.length === 0 && backend.closed.length === backend.requests.length;
      });
    }
  });
}

/** A backend with two names for a limit that does not tell capital letters apart, and uses it up. */
const whateverIsAllowed: Script = ({ request, start, end }) => {
  const wanted = Object.entries(request.body as object).map(([name, value]) => [name.toLowerCase(), value]);
  const { n_predict: first, max_tokens: second = 5000 } = Object.fromEntries(wanted) as Record<string, number>;
  const tokens = first ?? second;
  start(200, { 'content-type': 'application/json' });
  const choice = { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'length' };
  const usage = { prompt_tokens: 11, completion_tokens: tokens, total_tokens: 11 + tokens };
  end(JSON.stringify({ choices: [choice], usage }));
};

/** Of an input far longer than estimated, and of more output than was allowed. */
const WORST_USAGE = { prompt_tokens: 200, completion_tokens: 50, total_tokens: 250 };

/** How a request goes on once it was let in, and when. */
interface Life extends Ask {
  readonly ending: (typeof ENDINGS)[number];
  /** How much is said before the end; at 0 the backend has not even answered. */
  readonly pieces: number;
  /** In turns of the event loop. */
  readonly startsAfter: number;
  readonly endsAfter: number;
}

const ENDINGS = [
  'answered',
  'underestimated',
  'without usage',
  'refused by the backend',
  'cut by the backend',
  'cancelled',
  'left by the client',
] as const;

const anyLife = record<Life>({
  endpoint: constantFrom('responses', 'chat.completions'),
  stream: boolean(),
  ending: constantFrom(...ENDINGS),
  pieces: nat({ max: 2 }),
  startsAfter: nat({ max: 400 }),
  endsAfter: nat({ max: 40 }),
});

/** The client's part. The status that it was told; undefined when it did not wait for one. */
async function live(
  caller: Caller,
  life: Life & { readonly reached: PromiseWithResolvers<void> },
  place: number,
): Promise<number | undefined> {
  await turns(life.startsAfter);
  const headers = { 'idempotency-key': `request ${place}` };
  const leaving = new AbortController();
  const told = send(caller, life, place, { headers, signal: leaving.signal }).then(
    async (reply) => {
      // It may break before its end.
      await reply.text().catch(() => undefined);
      return reply.status;
    },
    () => undefined,
  );
  if (life.ending === 'left by the client' || life.ending === 'cancelled') {
    if ((await Promise.race([told, life.reached.promise])) === 402) return 402;
    await turns(life.endsAfter);
    if (life.ending === 'left by the client') leaving.abort();
    else await caller.cancel((await readRecord(await caller.get('/api/v1/requests', headers))).request_id);
  }
  return told;
}

/** The backend's part. */
function scriptOf({ ending, pieces, endsAfter }: Life): Script {
  const said = Array.from({ length: pieces }, () => text('Hello'));
  switch (ending) {
    case 'answered':
      return late(endsAfter, answer('Hello', 'stop', USAGE));
    case 'underestimated':
      return late(endsAfter, answer('Hello', 'stop', WORST_USAGE));
    case 'without usage':
      return late(endsAfter, answer('Hello', 'length', null));
    case 'refused by the backend':
      return late(endsAfter, ({ start, end }) => {
        start(400, { 'content-type': 'application/json' });
        end('{"error": {"message": "no"}}');
      });
    case 'cut by the backend':
      return pieces === 0 ? late(endsAfter, ({ cut }) => cut('reset')) : stream(said, 'cut');
    default:
      return pieces === 0 ? ({ hang }) => hang() : stream(said, 'hang');
  }
}

function late(after: number, script: Script): Script {
  return async (stage) => {
    await turns(after);
    await script(stage);
  };
}

/** Not a time, so that the requests meet each other on a slow machine as they do on a fast one. */
async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await turn(1);
}

function send(caller: Caller, ask: Ask, place: number, init?: Parameters<Caller['create']>[1]): Promise<Response> {
  const post = ask.endpoint === 'responses' ? caller.create : caller.complete;
  return post(bodyOf(ask, place), init);
}

/** Too short to teach how many tokens a byte is worth: what is reserved stays the same. */
const TEXT_LENGTH = 150;

/** Of the same length on both endpoints, so that the same is reserved for all of them. */
function bodyOf({ endpoint, stream: isStream }: Ask, place: number): object {
  const common = { model: 'priced', ...(isStream && { stream: true }) };
  const words = `request ${place} `.padEnd(TEXT_LENGTH, 'x');
  return endpoint === 'responses'
    ? { ...common, max_output_tokens: MAX_OUTPUT_TOKENS, input: words }
    : { ...common, max_tokens: MAX_OUTPUT_TOKENS, messages: [{ role: 'user', content: words }] };
}

/** Which of the requests has reached the backend. */
function placeOf(body: unknown): number {
  return Number(/request (\d+) /.exec(JSON.stringify(body))?.[1]);
}
