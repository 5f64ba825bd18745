/**
 * A real gateway process is killed in the middle of its work, again and again on one database. After each new start
 * everything which it had promised must hold: nothing is unfinished, nothing that was acknowledged is lost, no record
 * contradicts what its caller has read, nothing final has changed, what got a 202 for its cancel is cancelled, and the books of who pays add up.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { AssertionError, expect } from 'chai';
import type { RequestRecord } from '../../../src/contract/types.ts';
import { allRecords, readRecord, type Caller } from '../../records/caller.ts';
import { answer, finish, text, usageChunk } from '../../records/chunks.ts';
import { startScriptedBackend, type Script } from '../../support/backend.ts';
import { CUSTOMERS, type Customer, type CustomerKind } from './customers.ts';

export interface KillReport {
  /** Rounds that are over. */
  readonly rounds: number;
  /** Requests whose `x-request-id` a client had seen before the kill. */
  readonly acknowledged: number;
  /** Of these, those whose end a client had read before the kill. */
  readonly told: number;
  /** Of the acknowledged ones, those that the kill has interrupted. */
  readonly interrupted: number;
  /** Cancels that got a 202. */
  readonly cancels: number;
  /** Starts that were killed as well. */
  readonly killedStarts: number;
}

const REQUESTS = 16;
/** The traffic of a round is killed within this time, unless the kill waits for a promise. */
const TRAFFIC_MS = 300;
/** When the process is killed: right after a promise was made, or whenever. */
const MOMENTS = ['any', 'cancelled', 'any', 'acknowledged'] as const;
/** About as long as a start takes. */
const START_MS = 700;
/** Every so many rounds a start is killed before the one that counts. */
const KILLED_START_EVERY = 5;

/** Runs so many rounds with requests of such a customer. Throws an AssertionError as soon as a promise is broken. */
export async function runKillRounds(
  rounds: number,
  kind: CustomerKind,
  onRound: (report: KillReport) => void = () => undefined,
): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'kill-'));
  const file = join(folder, 'gateway.db');
  const backend = await startScriptedBackend();
  // A key that the backend has never accepted leaves no record of what fails.
  backend.always(answer());
  const customer = CUSTOMERS[kind](folder);
  const settings = {
    ...customer.settings,
    UPSTREAM_BASE_URL: backend.baseUrl,
    DATABASE_URL: `file:${file}`,
    // The port is another one after each start, and a record is to stay the same.
    PUBLIC_BASE_URL: 'http://gateway.example.com',
  };
  const ledger = createLedger();
  let killedStarts = 0;
  let running: ChildProcess | undefined;
  try {
    for (let round = 1; round <= rounds; round += 1) {
      if (round % KILLED_START_EVERY === 0) {
        running = spawnGateway(settings);
        await killAfter(running, Math.random() * START_MS);
        killedStarts += 1;
      }
      running = spawnGateway(settings);
      const url = await urlOf(running);
      const caller = await customer.enter(url);
      if (round === 1) {
        const first = await customer.ask(caller, 'first');
        expect(readEnd(first.status, await first.text())).to.equal('succeeded');
        backend.always((stage) => randomScript()(stage));
      }
      await expectPromisesKept({ customer, caller, file, ledger });
      const requests = Array.from({ length: REQUESTS }, (_, index) =>
        untilKilled(makeRequest(customer, caller, `${round}-${index}`, ledger)),
      );
      const cancels = [0, 1, 5].map((index) => untilKilled(cancelSoon(caller, `${round}-${index}`, ledger)));
      await Promise.all([
        killAt(running, MOMENTS[round % MOMENTS.length] ?? 'any', { ledger, requests, cancels }),
        ...requests,
        untilKilled(customer.topUp(url)),
        ...cancels,
      ]);
      onRound({ rounds: round, ...ledger.count(), killedStarts });
    }
    running = spawnGateway(settings);
    const caller = await customer.enter(await urlOf(running));
    await expectPromisesKept({ customer, caller, file, ledger });
    // One by one they would be more than the key may read within a minute.
    const records = await allRecords(caller);
    for (const [id, record] of ledger.finals) expect(records.get(id)).to.deep.equal(record);
    return { rounds, ...ledger.count(), killedStarts };
  } finally {
    if (running !== undefined) await killAfter(running, 0);
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What clients have been promised. */
interface Ledger {
  /** The ids and keys of requests that were acknowledged since the last start. */
  readonly fresh: Map<string, string>;
  /** Records which were seen in their final state, which is to be the same for ever. */
  readonly finals: Map<string, RequestRecord>;
  readonly cancelled: Set<string>;
  /** How requests ended, as their callers have read. */
  readonly told: Map<string, RequestRecord['status']>;
  /** Resolves at the next promise of this kind. */
  readonly next: (kind: 'acknowledged' | 'cancelled') => Promise<void>;
  readonly acknowledge: (id: string, key: string) => void;
  readonly cancel: (id: string) => void;
  readonly count: () => Pick<KillReport, 'acknowledged' | 'told' | 'interrupted' | 'cancels'>;
}

function createLedger(): Ledger {
  const finals = new Map<string, RequestRecord>();
  const cancelled = new Set<string>();
  const told = new Map<string, RequestRecord['status']>();
  const fresh = new Map<string, string>();
  const waiting = { acknowledged: Promise.withResolvers<void>(), cancelled: Promise.withResolvers<void>() };
  return {
    fresh,
    finals,
    cancelled,
    told,
    next(kind) {
      waiting[kind] = Promise.withResolvers();
      return waiting[kind].promise;
    },
    acknowledge(id, key) {
      fresh.set(id, key);
      waiting.acknowledged.resolve();
    },
    cancel(id) {
      cancelled.add(id);
      waiting.cancelled.resolve();
    },
    count: () => ({
      acknowledged: finals.size,
      told: told.size,
      interrupted: [...finals.values()].filter(({ error }) => error?.code === 'gateway_interrupted').length,
      cancels: cancelled.size,
    }),
  };
}

interface Promised {
  readonly customer: Customer;
  readonly caller: Caller;
  readonly file: string;
  readonly ledger: Ledger;
}

async function expectPromisesKept({ customer, caller, file, ledger }: Promised): Promise<void> {
  const { fresh, finals, cancelled, told } = ledger;
  const unfinished = await caller.get('/api/v1/requests?status=processing');
  expect(((await unfinished.json()) as { data: unknown }).data, 'what the dead process left unfinished').to.deep.equal(
    [],
  );
  expectSound(file);
  customer.expectBooks(file);
  for (const id of fresh.keys()) {
    const record = await caller.record(id);
    expect(record.status, `${id}, which was acknowledged`).not.to.equal('processing');
    expect(record).to.deep.equal(finals.get(id) ?? record);
    expect(record.status, `${id}, whose caller has read how it ended`).to.equal(told.get(id) ?? record.status);
    finals.set(id, record);
  }
  for (const id of cancelled) {
    const record = finals.get(id) ?? (await caller.record(id));
    expect(record.status, `${id}, whose cancel got a 202`).to.equal('cancelled');
    finals.set(id, record);
  }
  const [repeated] = fresh;
  if (repeated !== undefined) {
    const [id, key] = repeated;
    const reply = await customer.ask(caller, key);
    expect(reply.status, `the status of ${id} asked for again`).to.equal(409);
    expect(reply.headers.get('x-request-id')).to.equal(id);
    await reply.text();
  }
  fresh.clear();
}

export function expectSound(file: string): void {
  const database = new Sqlite(file, { readonly: true });
  try {
    expect(database.pragma('integrity_check', { simple: true })).to.equal('ok');
    const unfinished = database.prepare("SELECT count(*) FROM requests WHERE status = 'processing'").pluck().get();
    expect(unfinished).to.equal(0);
  } finally {
    database.close();
  }
}

async function makeRequest(
  customer: Customer,
  caller: Caller,
  key: string,
  { acknowledge, finals, told }: Ledger,
): Promise<void> {
  await delay(Math.random() * 60);
  const reply = await customer.ask(caller, key);
  const id = reply.headers.get('x-request-id') ?? '';
  // The headers are the promise, and they come before the body.
  if (reply.status !== 503) acknowledge(id, key);
  const text = await reply.text();
  // On a machine that stands still the database is not asked in time, and nothing is promised.
  if (/"code":"(?:store_unavailable|server_overloaded)"/.test(text) && reply.status === 503) return;
  acknowledge(id, key);
  const end = readEnd(reply.status, text);
  if (end !== undefined) told.set(id, end);
  const record = await caller.record(id).catch((cause: unknown) => {
    if (!(cause instanceof AssertionError)) throw cause;
    throw new Error(`${id}, whose reply was ${reply.status} ${text.slice(0, 200)}`, { cause });
  });
  expect(record.status, `${id}, right after its reply`).to.equal(end ?? record.status);
  if (record.status !== 'processing') finals.set(id, record);
}

/** Returns the final state that a whole reply tells; undefined for one that was cut. */
export function readEnd(status: number, text: string): RequestRecord['status'] | undefined {
  if (/"code":"request_cancelled"/.test(text)) return 'cancelled';
  if (status !== 200) return status < 500 ? undefined : 'failed';
  if (/"type":"response\.failed"/.test(text)) return 'failed';
  const isStream = text.startsWith('data:') || text.startsWith('event:') || text.startsWith(':');
  return !isStream || text.includes('data: [DONE]') ? 'succeeded' : undefined;
}

async function cancelSoon(caller: Caller, key: string, { cancel }: Ledger): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    // A key may read 600 times a minute, which a slow machine would use up otherwise.
    await delay(Math.random() * 20 * tries);
    const found = await caller.get('/api/v1/requests', { 'idempotency-key': key });
    if (found.status !== 200) {
      await found.text();
      continue;
    }
    const { request_id } = await readRecord(found);
    const reply = await caller.cancel(request_id);
    // The status is the promise, and it comes before the body.
    if (reply.status === 202) cancel(request_id);
    await reply.text();
    return;
  }
}

/** Connections that break are what a kill is about; everything else is a failure. */
async function untilKilled(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof TypeError) || error.cause === undefined) throw error;
  }
}

const SCRIPTS: readonly Script[] = [
  answer(),
  answer('Hello', 'length', null),
  ({ hang }) => hang(),
  async ({ sse, hang }) => {
    await sse(text('Hello'));
    await hang();
  },
  async ({ sse, wait, end }) => {
    for (let piece = 0; piece < 8; piece += 1) {
      await sse(text('Hello'));
      await wait(Math.random() * 15);
    }
    await sse(finish('stop'), usageChunk, '[DONE]');
    end();
  },
  async ({ start, wait, end }) => {
    await wait(Math.random() * 30);
    start(500);
    end('{}');
  },
];

export function randomScript(): Script {
  const script = SCRIPTS[Math.floor(Math.random() * SCRIPTS.length)];
  if (script === undefined) throw new RangeError('there is no such script');
  return script;
}

const MAIN = join(import.meta.dirname, '../../../src/main.ts');

export function spawnGateway(settings: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [MAIN], {
    env: { PORT: '0', LOG_LEVEL: 'silent', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Where it listens. The rest of what it says is read as well, since nobody can write into a closed pipe. */
export function urlOf(child: ChildProcess): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the gateway ended before it listened')));
    child.stdout?.on('data', (piece: Buffer) => {
      said += piece.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
      if (url !== undefined) resolve(url);
    });
  });
}

interface Traffic {
  readonly ledger: Ledger;
  readonly requests: readonly Promise<void>[];
  readonly cancels: readonly Promise<void>[];
}

async function killAt(child: ChildProcess, moment: (typeof MOMENTS)[number], traffic: Traffic): Promise<void> {
  const { ledger, requests, cancels } = traffic;
  if (moment === 'any') await delay(Math.random() * TRAFFIC_MS);
  // All of them may come too late to be promised anything.
  else await Promise.race([ledger.next(moment), Promise.all(moment === 'cancelled' ? cancels : requests)]);
  await killAfter(child, 0);
}

export async function killAfter(child: ChildProcess, ms: number): Promise<void> {
  await delay(ms);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
