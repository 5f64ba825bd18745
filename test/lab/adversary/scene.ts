/** An honest caller, those who attack, and a gateway in a process of its own whose CPU and memory can be read. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { given } from '../../../src/core/given.ts';
import { startGatewayProcess, type GatewayProcess } from '../../support/gateway-process.ts';
import type { Orders, Seen } from './attackers.ts';
import { begin, type Beginning } from './begin.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const METRICS_TOKEN = 'the-token-of-the-metrics';
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const COMPLETION = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: USAGE,
});
/** What one request of the honest caller costs, in millionths. */
export const COST_MICRO = 11 * 2 + 7 * 10;

export interface Figures {
  readonly cpuMs: number;
  readonly residentBytes: number;
  /** How often everything was collected. */
  readonly fullCollections: number;
  /** How many streams of responses run. */
  readonly streams: number;
}

export interface Scene {
  readonly url: string;
  /** Of all gateways, which have one database. */
  readonly urls: readonly string[];
  administrate(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
  issue(draft: object): Promise<{ readonly id: string; readonly secret: string }>;
  /** In millionths, read again. */
  balanceOf(id: string): Promise<{ readonly balance: number; readonly held: number }>;
  figures(): Promise<Figures>;
  /** Begins a request that its client never ends. */
  begin(path: string, key: string, headers: Beginning['headers'], body: string): ClientRequest;
  /** Some requests of an honest caller at once, one after the other in each row, until `isOver`. */
  serve(key: string, isOver: (done: number) => boolean): Promise<Served>;
  /** Resolves when they attack. */
  attack(orders: Omit<Orders, 'url'>): Promise<Attackers>;
  /** Also ends whoever serves and attacks, and prints what they saw: then the test has failed before its end. */
  close(): Promise<void>;
}

/** Answers a request with this body and this `Authorization`. */
export type BackendAnswer = (res: ServerResponse, body: Buffer, authorization?: string) => void;

export async function openScene(
  settings: Readonly<Record<string, string>> = {},
  answer: BackendAnswer = answerAsAsked,
  gatewayCount = 1,
  main?: string,
): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'adversary-'));
  writeFileSync(
    join(folder, 'prices.json'),
    JSON.stringify({ currency: 'USD', models: { m: { input: '2', cached_input: '1', output: '10' } } }),
  );
  const backend = createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.once('end', () => answer(res, Buffer.concat(pieces), req.headers.authorization));
  });
  backend.listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const start = (): ReturnType<typeof startGatewayProcess> =>
    startGatewayProcess(
      {
        UPSTREAM_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}/v1`,
        ADMIN_TOKEN,
        METRICS_TOKEN,
        PRICES_FILE: join(folder, 'prices.json'),
        DATABASE_URL: `file:${join(folder, 'gateway.db')}`,
        ...settings,
      },
      { folder, ...given({ main }) },
    );
  const gateways: GatewayProcess[] = [];
  const urls: string[] = [];
  while (gateways.length < gatewayCount) {
    const gateway = await start();
    if (gateway.url === undefined) throw new Error((await gateway.ended()).stderr);
    gateways.push(gateway);
    urls.push(gateway.url);
  }
  const [url = ''] = urls;
  const open = new Set<ClientRequest>();
  const begun: Begun[] = [];
  let issued = 0;

  async function administrate(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const reply = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const told = (await reply.json()) as Record<string, unknown>;
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(told)}`);
    return told;
  }

  return {
    url,
    urls,
    administrate,
    async issue(draft) {
      const { id, secret } = await administrate('POST', '/keys', { name: `key ${++issued}`, ...draft });
      return { id: String(id), secret: String(secret) };
    },
    async balanceOf(id) {
      const { balance, held } = await administrate('GET', `/keys/${id}`);
      return { balance: Math.round(Number(balance) * 1e6), held: Math.round(Number(held) * 1e6) };
    },
    async figures() {
      const reply = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
      const page = await reply.text();
      const lines = page.split('\n');
      const read = (name: string): number =>
        Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
      return {
        cpuMs: read('process_cpu_seconds_total') * 1000,
        residentBytes: read('process_resident_memory_bytes'),
        fullCollections: read('nodejs_gc_duration_seconds_count{kind="major"}') || 0,
        streams: read('responses_gateway_requests_running{endpoint="responses",stream="true"}'),
      };
    },
    begin(path, key, headers = {}, body) {
      const asked = begin({ url: `${url}${path}`, key, headers, body });
      open.add(asked);
      return asked.once('close', () => open.delete(asked));
    },
    async serve(key, isOver) {
      const serving = serveHonest(url, key, isOver);
      begun.push(serving);
      return serving.served;
    },
    async attack(orders) {
      const attackers = startAttackers({ url, ...orders });
      begun.push(attackers);
      await attackers.untilReady;
      return attackers;
    },
    async close() {
      for (const asked of open) asked.destroy();
      for (const each of begun.filter(({ isOver }) => !isOver())) {
        process.stdout.write(`\n    the test ended first: ${each.describe()}\n`);
        await each.stop();
      }
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      backend.closeAllConnections();
      backend.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const CHUNK = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(1000) } }] })}\n\n`.repeat(
  16,
);

export function answerAsAsked(res: ServerResponse, body: Buffer): void {
  if (body.includes('"stream":true')) writeForEver(res);
  else answerInJson(res);
}

/** Also where a stream is asked for. */
export function answerInJson(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(COMPLETION);
}

/** Writes as long as somebody reads. */
function writeForEver(res: ServerResponse): void {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
  while (!res.destroyed && res.write(CHUNK));
  if (!res.destroyed) res.once('drain', () => writeForEver(res));
}

export interface Served {
  readonly requests: number;
  readonly failures: readonly string[];
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What goes on beside a test, and ends with it. */
interface Begun {
  readonly isOver: () => boolean;
  readonly describe: () => string;
  readonly stop: () => Promise<unknown>;
}

function serveHonest(
  url: string,
  key: string,
  isOver: (done: number) => boolean,
): Begun & { readonly served: Promise<Served> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const took: number[] = [];
  const failures: string[] = [];
  let isStopped = false;
  let isServed = false;
  const goesOn = (): boolean => !isStopped && !isOver(took.length);
  const row = async (): Promise<void> => {
    while (goesOn()) {
      const startedAtMs = performance.now();
      const asked = request(`${url}/api/v1/responses`, {
        method: 'POST',
        agent,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
      asked.end('{"model":"m","input":"Hello"}');
      try {
        const [reply] = (await once(asked, 'response')) as [IncomingMessage];
        const body = await text(reply);
        if (reply.statusCode !== 200) failures.push(`${reply.statusCode} ${body.slice(0, 200)}`);
      } catch (error) {
        failures.push(String(error));
      }
      took.push(performance.now() - startedAtMs);
    }
  };
  const sum = (): Served => {
    const sorted = took.toSorted((one, other) => one - other);
    const at = (part: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
    return { requests: took.length, failures, p50Ms: at(0.5), p99Ms: at(0.99) };
  };
  const served = Promise.all(Array.from({ length: 4 }, row)).then(() => {
    isServed = true;
    agent.destroy();
    return sum();
  });
  return {
    served,
    isOver: () => isServed,
    describe: () => `the honest caller had ${JSON.stringify(sum())}`,
    stop() {
      isStopped = true;
      agent.destroy();
      return served;
    },
  };
}

export interface Attackers {
  readonly seen: Seen;
  stop(): Promise<void>;
}

function startAttackers(orders: Orders): Attackers & Begun & { readonly untilReady: Promise<void> } {
  // Without the hooks of mocha, which hold requests back until their bodies have ended.
  const child = fork(new URL('attackers.ts', import.meta.url), { execArgv: [] });
  // The attackers of a real gateway do not take its CPU for their own work.
  if (child.pid !== undefined) setPriority(child.pid, 19);
  const ended = once(child, 'exit');
  const attackers = {
    seen: {} as Seen,
    untilReady: beginAttack(),
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    describe: () => `the attackers saw ${JSON.stringify(attackers.seen)}`,
    async stop() {
      // They may have much to do, and then hear nothing.
      child.kill('SIGKILL');
      await ended;
    },
  };
  return attackers;

  async function beginAttack(): Promise<void> {
    await once(child, 'message');
    child.on('message', (seen: Seen) => (attackers.seen = seen));
    child.send(orders);
  }
}

/** Shows the figures of an attack: on the first tries, and now. */
export function print(what: string, before: string, now: string): void {
  process.stdout.write(`\n    ${what}\n      before: ${before}\n      now:    ${now}\n`);
}
