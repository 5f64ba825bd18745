/**
 * Three backends behind one gateway, each in a process of its own, under requests of many callers. In each round one of them is
 * hit by a fault in the middle of the requests, and is well again before the next round.
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { allRecords, callerOf, type Caller, type ErrorBody } from '../../records/caller.ts';
import { ADMIN_TOKEN, issueKey } from '../cluster/open-cluster.ts';
import { createRandom } from '../cluster/chaos/random.ts';
import { expectBooksToAddUp } from '../../support/books.ts';
import { startGatewayProcess } from '../../support/gateway-process.ts';
import { turn } from '../../support/time.ts';
import { expectWellFormed, parseEvents } from '../../support/well-formed.ts';
import { startBackendProcess, type BackendProcess } from './backend-process.ts';
import { FAULTS, type Fault, type FaultName } from './faults.ts';

export interface ChaosReport {
  readonly faults: number;
  readonly requests: number;
  /** Tries that ended with a failure of a backend. */
  readonly failedTries: number;
  readonly rests: number;
  /** What callers saw, by fault, code and whether output had come. */
  readonly failures: Readonly<Record<string, number>>;
}

export type Failover = 'safe' | 'any';

/** Of each caller in a round, one after the other, so that some begin before a fault and some after it. */
const REQUESTS = 2;
/** A fault strikes when its backend has begun up to so many generations of a round, for each caller. */
const STRIKE_WITHIN = 0.3;
/** A short one is over when so many requests of the round are, for each caller. About half need no backend that is hit. */
const SHORT_REQUESTS = 0.5;
/** A backend that is well begins within a third of it, on a busy machine too. */
const FIRST_BYTE_TIMEOUT_MS = 18_000;
/** Longer than the share of a try, and not the whole. */
const SLOW_MS = 8000;
const IDLE_TIMEOUT_MS = 10_000;
const CREDITS_MICRO = 1_000_000_000;
/** 11 tokens of input for 2 millionths each, and 7 of output for 10. */
const COST_MICRO = 11 * 2 + 7 * 10;
const MOST_TRIES = 3;

/** What a caller was told. */
interface Told {
  readonly name: string;
  readonly id: string;
  readonly code?: string;
  readonly hasOutput: boolean;
  /** The backend that may have failed while it was asked, and how. */
  readonly during: Hit | undefined;
}

interface Hit {
  readonly name: FaultName;
  readonly victim: string;
}

interface ChaosOptions {
  readonly faults: number;
  /** Half of them want streams, and half of them JSON. */
  readonly callers: number;
  readonly failover: Failover;
  readonly seed: number;
}

/** Tries so many faults, each kind as often as every other one. Throws an AssertionError as soon as a promise is broken. */
export async function runChaosRounds(
  { faults, callers, failover, seed }: ChaosOptions,
  onRound: (said: string) => void = () => undefined,
): Promise<ChaosReport> {
  const random = createRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'backends-chaos-'));
  const file = join(folder, 'gateway.db');
  const begun = new Map<string, number>();
  const onBegun = (prompt: string): void => void begun.set(prompt, (begun.get(prompt) ?? 0) + 1);
  const backends = new Map<string, BackendProcess>();
  for (const name of ['a', 'b', 'c']) backends.set(name, await startBackendProcess(SLOW_MS, onBegun));
  const gateway = await startGatewayProcess(settingsOf({ folder, file, failover, backends }));
  const told: Told[] = [];
  try {
    const url = gateway.url ?? (await gateway.ended()).stderr;
    const key = await issueKey(url, '1000.00');
    const caller = callerOf(url, key.secret);
    const names = Object.keys(FAULTS) as FaultName[];
    let bag: FaultName[] = [];
    for (let round = 0; round < faults; round += 1) {
      if (bag.length === 0) bag = [...names];
      const name = random.pick(bag);
      bag = bag.filter((other) => other !== name);
      const victim = random.pick([...backends.keys()]);
      const backend = backends.get(victim);
      if (backend === undefined) throw new Error('there is no such backend');
      const strikesAt = Math.ceil(random.next() * STRIKE_WITHIN * callers);
      onRound(`${round + 1}: ${victim} ${name}, at its request ${strikesAt}`);
      told.push(...(await runRound({ caller, callers, round, hit: { name, victim }, backend, strikesAt })));
      told.push(...(await untilWell(url, caller, round)));
    }
    for (const one of told) expectAllowed(one, failover);
    await expectRecords(caller, told);
    for (const [prompt, count] of begun)
      expect(count, `how often ${prompt} ran`).to.be.at.most(failover === 'safe' ? 1 : MOST_TRIES);
    const { balanceMicro, spentMicro, requests } = expectBooksToAddUp(file, key.id);
    expect(balanceMicro + spentMicro, 'what was paid').to.equal(CREDITS_MICRO);
    expect(requests, 'the requests of the books').to.equal(told.length);
    const states = await statesOf(url);
    const sum = (field: 'failed' | 'rests'): number => states.reduce((total, state) => total + state[field], 0);
    return { faults, requests, failedTries: sum('failed'), rests: sum('rests'), failures: countFailures(told) };
  } finally {
    gateway.kill();
    await gateway.ended();
    await Promise.all([...backends.values()].map((backend) => backend.kill()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function settingsOf({
  folder,
  file,
  failover,
  backends,
}: {
  readonly folder: string;
  readonly file: string;
  readonly failover: Failover;
  readonly backends: ReadonlyMap<string, BackendProcess>;
}): Readonly<Record<string, string>> {
  const [backendsFile, pricesFile] = [join(folder, 'backends.json'), join(folder, 'prices.json')];
  const listed = [...backends].map(([name, { baseUrl }]) => ({ name, base_url: baseUrl }));
  writeFileSync(backendsFile, JSON.stringify({ backends: listed, failover, expose_upstream: true }));
  writeFileSync(pricesFile, '{"currency": "USD", "models": {"m": {"input": "2", "output": "10"}}}');
  return {
    AUTH_MODE: 'managed',
    ADMIN_TOKEN,
    GATEWAY_SECRET: randomUUID().repeat(2),
    PRICES_FILE: pricesFile,
    BACKENDS_FILE: backendsFile,
    DATABASE_URL: `file:${file}`,
    FIRST_BYTE_TIMEOUT_MS: String(FIRST_BYTE_TIMEOUT_MS),
    IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS),
  };
}

interface Round {
  readonly caller: Caller;
  readonly callers: number;
  readonly round: number;
  readonly hit: Hit;
  readonly backend: BackendProcess;
  readonly strikesAt: number;
}

async function runRound({ caller, callers, round, hit, backend, strikesAt }: Round): Promise<Told[]> {
  const fault: Fault = FAULTS[hit.name];
  const told: Told[] = [];
  const someOver = Promise.withResolvers<void>();
  const struck = backend.begun(strikesAt).then(() => fault.strike(backend));
  const asking = Array.from({ length: callers }, async (_, index) => {
    for (let request = 0; request < REQUESTS; request += 1) {
      told.push(await ask(caller, { name: `${round}-${index}-${request}`, index, hit }));
      if (told.length === SHORT_REQUESTS * callers) someOver.resolve();
    }
  });
  const all = Promise.all(asking);
  await Promise.race([struck, all]);
  await (fault.isShort === true ? Promise.race([someOver.promise, all]) : all);
  await struck;
  await fault.heal(backend);
  await all;
  return told;
}

interface Question {
  readonly name: string;
  readonly index: number;
  readonly hit?: Hit;
}

/**
 * Every other caller wants a stream, every third one a chat completion, and of each kind some have an idempotency key.
 */
async function ask(caller: Caller, { name, index, hit }: Question): Promise<Told> {
  const common = { model: 'm', prompt_cache_key: name, stream: index % 2 === 0 };
  const isChat = index % 3 === 0;
  const kind = Math.floor(index / 2) % 4;
  const init = kind < 2 ? { headers: { 'idempotency-key': name } } : {};
  const messages = [{ role: 'user', content: name }];
  const send = (): Promise<Response> =>
    isChat
      ? caller.complete({ ...common, messages, max_tokens: 100 }, init)
      : caller.create({ ...common, input: name, max_output_tokens: 100 }, init);
  const read = async (reply: Response): Promise<Told> => {
    const id = reply.headers.get('x-request-id') ?? '';
    const heard = isChat ? await readChat(reply, caller, id) : await readResponse(reply);
    return { name, id, during: hit, ...heard };
  };
  if (kind !== 0) {
    const first = await read(await send());
    if (kind === 1) await expectDuplicate(await send(), first.id);
    return first;
  }
  const twins = await Promise.all([send(), send()]);
  const [one, other] = twins[0].status === 409 ? [twins[1], twins[0]] : twins;
  const first = await read(one);
  await expectDuplicate(other, first.id);
  return first;
}

async function expectDuplicate(reply: Response, id: string): Promise<void> {
  const body = (await reply.json()) as { readonly error?: { readonly code: string } };
  expect([reply.status, body.error?.code, reply.headers.get('x-request-id')]).to.deep.equal([
    409,
    'duplicate_request',
    id,
  ]);
}

type Heard = Pick<Told, 'code' | 'hasOutput'>;

async function readResponse(reply: Response): Promise<Heard> {
  const text = await reply.text();
  if (reply.status !== 200) return { code: codeIn(text), hasOutput: false };
  if (!isStream(reply)) {
    expect(JSON.parse(text)).to.deep.include({ status: 'completed', output_text: 'One two three four' });
    return { hasOutput: true };
  }
  const events = parseEvents(text);
  const { error } = expectWellFormed(events);
  const hasOutput = events.some(({ type }) => type.endsWith('.delta'));
  return { ...(error !== null && { code: error.code }), hasOutput };
}

/** A stream that breaks off does not say why, so its record does. */
async function readChat(reply: Response, caller: Caller, id: string): Promise<Heard> {
  let text = '';
  let isWhole = true;
  try {
    for await (const piece of (reply.body ?? []) as AsyncIterable<Uint8Array>) text += Buffer.from(piece).toString();
  } catch {
    isWhole = false;
  }
  if (reply.status !== 200) return { code: codeIn(text), hasOutput: false };
  const said = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, words]) => words).join('');
  const isDone = !isStream(reply) || text.endsWith('data: [DONE]\n\n');
  if (isWhole && isDone) {
    expect(said, 'the words of a chat completion').to.equal('One two three four');
    return { hasOutput: true };
  }
  expect(text, 'a chat completion that has failed').not.to.contain('[DONE]');
  const { error } = await caller.final(id);
  return { ...(error !== null && { code: error.code }), hasOutput: said !== '' };
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function codeIn(text: string): string {
  return (JSON.parse(text) as ErrorBody).error.code;
}

/** Asks until no backend rests any more. */
async function untilWell(url: string, caller: Caller, round: number): Promise<Told[]> {
  const told: Told[] = [];
  while ((await statesOf(url)).some(({ state }) => state !== 'up')) {
    const name = `${round}-well-${told.length}`;
    told.push(await ask(caller, { name, index: told.length }));
    await turn(20);
  }
  return told;
}

interface State {
  readonly state: string;
  readonly failed: number;
  readonly rests: number;
}

async function statesOf(url: string): Promise<readonly State[]> {
  const reply = await fetch(`${url}/admin/v1/backends`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  expect(reply.status).to.equal(200);
  return ((await reply.json()) as { readonly data: readonly State[] }).data;
}

/** With `any` nobody sees a failure before output, and with `safe` only where the request may have run. */
function expectAllowed({ name, code, hasOutput, during }: Told, failover: Failover): void {
  if (code === undefined) return;
  const fault: Fault | undefined = during && FAULTS[during.name];
  const isAllowed = code === fault?.code && (hasOutput ? fault.breaksReplies === true : failover === 'safe');
  const moment = hasOutput ? 'after output' : 'before output';
  expect(isAllowed, `${name} failed ${moment} with ${code}, while a backend ${during?.name ?? 'was well'}`).to.equal(
    true,
  );
}

/** Each request has one record, which says what its caller was told and names the backend that was hit where it failed. */
async function expectRecords(caller: Caller, told: readonly Told[]): Promise<void> {
  const records = await allRecords(caller);
  expect(records.size, 'the records').to.equal(told.length);
  for (const { id, name, code, hasOutput, during } of told) {
    const record = records.get(id);
    const cost = record?.cost ?? 0;
    expect({ status: record?.status, code: record?.error?.code }, name).to.deep.equal({
      status: code === undefined ? 'succeeded' : 'failed',
      code,
    });
    if (code === undefined) expect(cost, `what ${name} costs`).to.equal(COST_MICRO);
    else if (!hasOutput) expect(cost, `what ${name} costs, which failed`).to.equal(0);
    if (code !== undefined) expect(record?.upstream, `the backend at which ${name} failed`).to.equal(during?.victim);
  }
}

function countFailures(told: readonly Told[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code, hasOutput, during } of told) {
    if (code === undefined) continue;
    const seen = `${during?.name}: ${code} ${hasOutput ? 'after' : 'before'} output`;
    counts[seen] = (counts[seen] ?? 0) + 1;
  }
  return counts;
}
