/**
 * `npm run bench`: what records cost, side by side in one run, and how soon aborts and cancels arrive. The targets take
 * turns within each round, so that whatever else the machine does hits all of them; read the ratios, not the figures.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';

const ROUNDS = process.argv.includes('--quick') ? 1 : 3;
const JSON_REQUESTS = 3000;
const JSON_CONCURRENCY = 64;
const STREAMS = 200;
const STREAM_CONCURRENCY = 16;
const DELTAS = 200;
const LATENCY_SAMPLES = 50;
const HEADERS = { authorization: 'Bearer bench', 'content-type': 'application/json' };

interface Usage {
  readonly cpuMicros: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

interface Target {
  readonly name: string;
  readonly process: ChildProcess;
  readonly pool: Pool;
  readonly rates: Record<'json' | 'stream', { perSecond: number[]; cpuMicros: number[] }>;
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const children: ChildProcess[] = [];
try {
  const backend = start('backend.ts', []);
  const { port } = (await message(backend)) as { port: number };
  const upstream = `http://127.0.0.1:${port}/v1`;
  const database = join(folder, 'bench.db');
  const targets = [
    await openTarget('no records', 'none', upstream, ''),
    await openTarget('durable records', 'durable', upstream, `file:${database}`),
  ];

  for (const target of targets) await runJson(target, 500, false);
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const target of targets) {
      process.stderr.write(`round ${round} of ${ROUNDS}: ${target.name}\n`);
      await runJson(target, JSON_REQUESTS, true);
      await runStreams(target, STREAMS);
    }
  }
  report(targets);
  const durable = targets[1];
  if (durable !== undefined) {
    await reportLatencies(durable, backend);
    await reportSlowDisk(durable, database);
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

function start(file: string, args: readonly string[]): ChildProcess {
  const child = fork(join(import.meta.dirname, file), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  children.push(child);
  return child;
}

async function message(child: ChildProcess): Promise<unknown> {
  const [received] = (await once(child, 'message')) as [unknown];
  return received;
}

async function openTarget(name: string, kind: string, upstream: string, database: string): Promise<Target> {
  const child = start('target.ts', [kind, upstream, database]);
  const { url } = (await message(child)) as { url: string };
  const empty = () => ({ perSecond: [], cpuMicros: [] });
  return { name, process: child, pool: new Pool(url, { connections: 128 }), rates: { json: empty(), stream: empty() } };
}

async function usageOf(target: Target): Promise<Usage> {
  target.process.send('usage');
  return (await message(target.process)) as Usage;
}

/** Runs `work` so many times, so many at a time, and returns the seconds that it took. */
async function inParallel(count: number, concurrency: number, work: () => Promise<void>): Promise<number> {
  let left = count;
  const startMs = performance.now();
  const workers = Array.from({ length: concurrency }, async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  });
  await Promise.all(workers);
  return (performance.now() - startMs) / 1000;
}

async function post(target: Target, request: object): Promise<string> {
  const { statusCode, body } = await target.pool.request({
    method: 'POST',
    path: '/api/v1/responses',
    headers: HEADERS,
    body: JSON.stringify({ model: 'm', ...request }),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${target.name} answered ${statusCode}: ${text}`);
  return text;
}

async function measure(
  target: Target,
  kind: 'json' | 'stream',
  units: number,
  run: () => Promise<number>,
): Promise<Usage> {
  const before = await usageOf(target);
  const seconds = await run();
  const after = await usageOf(target);
  target.rates[kind].perSecond.push(units / seconds);
  target.rates[kind].cpuMicros.push((after.cpuMicros - before.cpuMicros) / units);
  return after;
}

async function runJson(target: Target, count: number, counts: boolean): Promise<void> {
  const run = () =>
    inParallel(count, JSON_CONCURRENCY, async () => {
      await post(target, { input: 'A short question.' });
    });
  if (counts) await measure(target, 'json', count, run);
  else await run();
}

async function runStreams(target: Target, count: number): Promise<Usage> {
  return measure(target, 'stream', count * DELTAS, () =>
    inParallel(count, STREAM_CONCURRENCY, async () => {
      const text = await post(target, { input: 'A short question.', stream: true });
      const deltas = text.split('event: response.output_text.delta\n').length - 1;
      const complete = text.includes('event: response.completed\n') && text.endsWith('data: [DONE]\n\n');
      if (deltas !== DELTAS || !complete) throw new Error(`${target.name} sent a wrong stream`);
    }),
  );
}

function report(targets: readonly Target[]): void {
  const base = targets[0];
  if (base === undefined) return;
  console.log(
    `\nmedians of ${ROUNDS}; JSON at ${JSON_CONCURRENCY}, streams of ${DELTAS} chunks at ${STREAM_CONCURRENCY}`,
  );
  console.table(
    Object.fromEntries(
      targets.map(({ name, rates }) => [
        name,
        {
          'JSON requests/s': Math.round(median(rates.json.perSecond)),
          '× no records': ratio(rates.json.perSecond, base.rates.json.perSecond),
          'CPU µs per request': Math.round(median(rates.json.cpuMicros)),
          'chunks/s': Math.round(median(rates.stream.perSecond)),
          '× no records ': ratio(rates.stream.perSecond, base.rates.stream.perSecond),
          'CPU µs per chunk': round(median(rates.stream.cpuMicros)),
        },
      ]),
    ),
  );
}

/** How soon the backend sees a client go, how soon a cancel is answered, and how soon the backend and the record know of it. */
async function reportLatencies(target: Target, backend: ChildProcess): Promise<void> {
  const abortMs: number[] = [];
  const cancelMs: number[] = [];
  const cancelSeenMs: number[] = [];
  const cancelledMs: number[] = [];
  for (let sample = 0; sample < LATENCY_SAMPLES; sample += 1) {
    const leaving = await openHanging(target);
    const leftAt = Date.now();
    leaving.body.destroy();
    abortMs.push((await closedAt(backend)) - leftAt);

    const running = await openHanging(target);
    const askedAt = Date.now();
    const seen = closedAt(backend);
    const path = `/api/v1/requests/${running.requestId}`;
    const cancel = await target.pool.request({ method: 'POST', path: `${path}/cancel`, headers: HEADERS });
    await cancel.body.text();
    cancelMs.push(Date.now() - askedAt);
    cancelSeenMs.push((await seen) - askedAt);
    while (
      !(await (await target.pool.request({ method: 'GET', path, headers: HEADERS })).body.text()).includes(
        '"cancelled"',
      )
    );
    cancelledMs.push(Date.now() - askedAt);
    running.body.destroy();
  }
  console.log(`latencies in ms over ${LATENCY_SAMPLES} samples`);
  console.table({
    'client gone → backend sees it': spread(abortMs),
    'cancel → 202': spread(cancelMs),
    'cancel → backend sees it': spread(cancelSeenMs),
    'cancel → record is cancelled': spread(cancelledMs),
  });
}

async function openHanging(target: Target) {
  const { headers, body } = await target.pool.request({
    method: 'POST',
    path: '/api/v1/responses',
    headers: HEADERS,
    body: JSON.stringify({ model: 'm', input: 'hang please', stream: true }),
  });
  body.on('error', () => undefined);
  await once(body, 'data');
  return { requestId: String(headers['x-request-id']), body };
}

async function closedAt(backend: ChildProcess): Promise<number> {
  const { closedAt } = (await message(backend)) as { closedAt: number };
  return closedAt;
}

/** Streams go on while every commit has to wait: the event loop must not wait with it. */
async function reportSlowDisk(target: Target, database: string): Promise<void> {
  const free = await runStreams(target, STREAMS);
  const lock = start('lock.ts', [database, '8']);
  const held = await runStreams(target, STREAMS);
  lock.kill('SIGKILL');
  console.log('delay of the event loop in ms, without and with commits that wait up to 8 ms for another process');
  const toRow = ({ delayP99Ms, delayMaxMs }: Usage) => ({ p99: round(delayP99Ms), max: round(delayMaxMs) });
  console.table({ 'commits at once': toRow(free), 'commits wait': toRow(held) });
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

function spread(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50: sorted[Math.floor(sorted.length / 2)], max: sorted.at(-1) };
}

function ratio(values: readonly number[], base: readonly number[]): number {
  return Number((median(values) / median(base)).toFixed(2));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
