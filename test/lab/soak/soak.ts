/**
 * One gateway process under mixed traffic for as long as you like: JSON, streams, chat completions, clients that leave, cancels,
 * repeats, and a backend that hangs, breaks off and fails. Again and again all come to rest, and then everything must hold: each
 * end that a client has read is that of its record, nothing is unfinished, and the books of who pays add up.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { readRecord, type Caller } from '../../records/caller.ts';
import { answer } from '../../records/chunks.ts';
import { startScriptedBackend } from '../../support/backend.ts';
import { until } from '../../support/time.ts';
import { CUSTOMERS, type Customer, type CustomerKind } from '../kill/customers.ts';
import { expectSound, killAfter, randomScript, readEnd, spawnGateway, urlOf } from '../kill/rounds.ts';

export interface SoakOptions {
  readonly seconds: number;
  /** Between two rests. */
  readonly roundSeconds: number;
  readonly onRound?: (report: SoakReport) => void;
}

export interface SoakReport {
  readonly rounds: number;
  /** Requests whose end a client has read. */
  readonly told: number;
  readonly left: number;
  readonly cancels: number;
  readonly repeats: number;
  /** Of the process, at the last rest. */
  readonly memoryMb: number;
  readonly openFiles: number;
}

const CLIENTS = 6;
/** A hanging backend is given up after this time. */
const TIMEOUT_MS = '2000';
/** Connections that are idle at a rest come and go. */
const MORE_FILES = 50;

/** Throws an AssertionError as soon as a promise is broken. */
export async function runSoak(
  kind: CustomerKind,
  { seconds, roundSeconds, onRound = () => undefined }: SoakOptions,
): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'));
  const file = join(folder, 'gateway.db');
  const backend = await startScriptedBackend();
  backend.always(answer());
  const customer = CUSTOMERS[kind](folder);
  const gateway = spawnGateway({
    ...customer.settings,
    UPSTREAM_BASE_URL: backend.baseUrl,
    DATABASE_URL: `file:${file}`,
    FIRST_BYTE_TIMEOUT_MS: TIMEOUT_MS,
    IDLE_TIMEOUT_MS: TIMEOUT_MS,
  });
  const counts = { rounds: 0, told: 0, left: 0, cancels: 0, repeats: 0 };
  let report: SoakReport | undefined;
  let firstOpenFiles = Infinity;
  try {
    const url = await urlOf(gateway);
    const caller = await customer.enter(url);
    expect((await customer.ask(caller, 'first')).status).to.equal(200);
    backend.always((stage) => randomScript()(stage));
    const endMs = performance.now() + seconds * 1000;
    while (performance.now() < endMs) {
      counts.rounds += 1;
      const told = new Map<string, string>();
      const cancelled = new Set<string>();
      const roundEndMs = performance.now() + roundSeconds * 1000;
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let times = 0; performance.now() < roundEndMs; times += 1) {
          const name = `${counts.rounds}-${client}-${times}`;
          await pickAct()({ customer, caller, name, told, cancelled, counts });
        }
      });
      await Promise.all([...clients, customer.topUp(url)]);
      await until(() => readStatuses(file, 'processing').size === 0);
      expectSound(file);
      customer.expectBooks(file);
      const statuses = readStatuses(file);
      for (const [id, status] of told) expect(statuses.get(id), `${id}, whose end was told`).to.equal(status);
      for (const id of cancelled) expect(statuses.get(id), `${id}, whose cancel got a 202`).to.equal('cancelled');
      expect(gateway.exitCode, 'the exit code of the gateway, which lives').to.equal(null);
      counts.told += told.size;
      report = { ...counts, ...readProcess(gateway.pid ?? 0) };
      firstOpenFiles = Math.min(firstOpenFiles, report.openFiles);
      expect(report.openFiles, 'open files').to.be.below(firstOpenFiles + MORE_FILES);
      onRound(report);
    }
    if (report === undefined) throw new Error('there was no time for a round');
    return report;
  } finally {
    await killAfter(gateway, 0);
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Asking {
  readonly customer: Customer;
  readonly caller: Caller;
  readonly name: string;
  /** The ends that clients have read, by the ids of their requests. */
  readonly told: Map<string, string>;
  readonly cancelled: Set<string>;
  readonly counts: { left: number; cancels: number; repeats: number };
}

type Act = (asking: Asking) => Promise<void>;

const ACTS: readonly Act[] = [readAll, readAll, readAll, readAll, leave, cancel, repeat];

function pickAct(): Act {
  return ACTS[Math.floor(Math.random() * ACTS.length)] ?? readAll;
}

async function readAll({ customer, caller, name, told }: Asking): Promise<void> {
  const reply = await customer.ask(caller, name);
  noteEnd(reply, await reply.text(), told);
}

function noteEnd(reply: Response, text: string, told: Asking['told']): void {
  expect(text).not.to.contain('internal_error');
  // On a machine that stands still the database is not asked in time, and nothing is recorded.
  if (/"code":"(?:store_unavailable|server_overloaded)"/.test(text)) return;
  const end = readEnd(reply.status, text);
  if (end !== undefined) told.set(reply.headers.get('x-request-id') ?? '', end);
}

async function leave({ caller, name, counts }: Asking): Promise<void> {
  const signal = AbortSignal.timeout(Math.floor(Math.random() * 60));
  const request = { model: 'm', input: name, max_output_tokens: 100, stream: true };
  try {
    await (await caller.create(request, { headers: { 'idempotency-key': name }, signal })).text();
  } catch {
    counts.left += 1;
  }
}

async function cancel({ customer, caller, name, told, cancelled, counts }: Asking): Promise<void> {
  const asked = customer.ask(caller, name).then(async (reply) => noteEnd(reply, await reply.text(), told));
  await delay(Math.random() * 30);
  const found = await caller.get('/api/v1/requests', { 'idempotency-key': name });
  if (found.status === 200) {
    const { request_id } = await readRecord(found);
    const reply = await caller.cancel(request_id);
    if (reply.status === 202) cancelled.add(request_id);
    await reply.text();
    counts.cancels += 1;
  } else await found.text();
  await asked;
}

async function repeat({ customer, caller, name, told, counts }: Asking): Promise<void> {
  const replies = await Promise.all([customer.ask(caller, name), customer.ask(caller, name)]);
  const texts = await Promise.all(replies.map((reply) => reply.text()));
  const first = replies.findIndex((_, index) => !texts[index]?.includes('duplicate_request'));
  for (const [index, reply] of replies.entries()) if (index === first) noteEnd(reply, texts[index] ?? '', told);
  counts.repeats += 1;
}

function readStatuses(file: string, only?: string): ReadonlyMap<string, string> {
  const database = new Sqlite(file, { readonly: true });
  try {
    const rows = database
      .prepare<[string | null, string | null], { id: string; status: string }>(
        'SELECT request_id AS id, status FROM requests WHERE ? IS NULL OR status = ?',
      )
      .all(only ?? null, only ?? null);
    return new Map(rows.map(({ id, status }) => [id, status]));
  } finally {
    database.close();
  }
}

function readProcess(pid: number): Pick<SoakReport, 'memoryMb' | 'openFiles'> {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { memoryMb: Math.round(Number(kilobytes) / 1024), openFiles: readdirSync(`/proc/${pid}/fd`).length };
}
