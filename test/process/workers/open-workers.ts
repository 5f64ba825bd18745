/**
 * A gateway of several processes (`WORKERS`) with a scripted backend behind it, and a hand on each process.
 *
 *     const workers = await openWorkers({ WORKERS: '2' });
 *     const connection = await workers.connect(1);
 *     const reply = await connection.create({ model: 'm', input: 'Hello' });
 */
import { randomUUID } from 'node:crypto';
import { Agent, request as sendRequest, type IncomingHttpHeaders } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import type { KeyId } from '../../../src/contract/ids.ts';
import { parseKeyId } from '../../../src/core/ids.ts';
import type { IssuedKey } from '../../../src/contract/operator-types.ts';
import { TEST_KEY } from '../../support/gateway.ts';
import { startGatewayProcess, type GatewayProcess, type ProcessOptions } from '../../support/gateway-process.ts';
import { until } from '../../support/time.ts';

export interface LogLine {
  readonly msg: string;
  readonly worker?: number;
  readonly workerPid?: number;
  readonly restartInMs?: number;
  readonly recovered?: number;
  readonly how?: string;
  readonly reason?: string;
  readonly req?: { readonly clientId?: string };
}

export interface Workers {
  readonly gateway: GatewayProcess;
  readonly url: string;
  readonly backend: ScriptedBackend;
  readonly folder: string;
  /** Of the database. */
  readonly file: string;
  readonly pricesFile: string;
  /** All that has been logged so far. */
  readonly lines: readonly LogLine[];
  /** The process that last had this number. */
  pidOf(worker: number): number;
  /** The next line like this which is not there yet. */
  nextLine(isWanted: (line: LogLine) => boolean): Promise<LogLine>;
  /** A connection which is yet to be made, with the first request. */
  newConnection(apiKey?: string): Connection;
  /** A connection which this worker serves. */
  connect(worker: number, apiKey?: string): Promise<Connection>;
  /** With `MANAGED`: makes a key. */
  issueKey(draft: object): Promise<{ readonly id: KeyId; readonly secret: string }>;
  /** Sends this to the admin API, wherever it may come to. */
  administrate(method: 'POST' | 'PATCH', path: string, body: object): Promise<unknown>;
  /** Starts it once more, on the same database. */
  startAgain(): Promise<GatewayProcess>;
  close(): Promise<void>;
}

/** One connection, on which one request runs at a time. */
export interface Connection {
  ask(method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  create(body: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Resolves when the next answer begins. */
  nextHead(): Promise<void>;
}

export interface Answer {
  /** 0 when the connection broke before the head of a reply. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const ADMIN_TOKEN = 'the-admin-token-of-the-workers';

/** Settings for keys of the gateway's own, and a price for the model `m`. */
export const MANAGED = { AUTH_MODE: 'managed', API_KEYS: '', ADMIN_TOKEN };

const PRICES = '{"currency": "USD", "models": {"m": {"input": "2", "output": "10"}}}';

/** Starts it with these settings, in a folder with a price file; `close` is for an `afterEach`. */
export async function openWorkers(
  settings: Readonly<Record<string, string>>,
  options: Pick<ProcessOptions, 'isImpatient'> = {},
): Promise<Workers> {
  const folder = mkdtempSync(join(tmpdir(), 'workers-'));
  const file = join(folder, 'gateway.db');
  const pricesFile = join(folder, 'prices.json');
  writeFileSync(pricesFile, PRICES);
  const backend = await startScriptedBackend();
  let log = '';
  let probes = 0;
  const processes: GatewayProcess[] = [];
  const agents: Agent[] = [];

  async function start(): Promise<GatewayProcess> {
    const gateway = await startGatewayProcess(
      {
        WORKERS: '2',
        AUTH_MODE: 'static',
        API_KEYS: TEST_KEY,
        UPSTREAM_BASE_URL: backend.baseUrl,
        DATABASE_URL: `file:${file}`,
        GATEWAY_SECRET: 'the same secret for all workers',
        LOG_LEVEL: 'info',
        LOG_FORMAT: 'json',
        PRICES_FILE: pricesFile,
        ...settings,
      },
      { ...options, onLog: (piece) => (log += piece) },
    );
    log += `${gateway.banner}\n`;
    processes.push(gateway);
    return gateway;
  }

  const readLines = (): LogLine[] =>
    log
      .slice(0, log.lastIndexOf('\n'))
      .split('\n')
      .filter((line) => line.startsWith('{"level"'))
      .map((line) => JSON.parse(line) as LogLine);

  const gateway = await start();
  const url = gateway.url ?? 'http://127.0.0.1:1';
  const isToldOf = settings['LOG_LEVEL'] === undefined && gateway.url !== undefined;
  // The banner comes by another pipe, and may be here before their lines.
  if (isToldOf) await until(() => readLines().filter(({ msg }) => msg === 'a worker listens').length >= 2);
  const workers: Workers = {
    gateway,
    url,
    backend,
    folder,
    file,
    pricesFile,
    get lines() {
      return readLines();
    },
    pidOf(worker) {
      const line = readLines().findLast((line) => line.msg === 'a worker listens' && line.worker === worker);
      if (line?.workerPid === undefined) throw new Error(`worker ${worker} never listened`);
      return line.workerPid;
    },
    async nextLine(isWanted) {
      const before = readLines().length;
      let found: LogLine | undefined;
      await until(() => {
        found = readLines().slice(before).find(isWanted);
        return found !== undefined;
      });
      return found ?? { msg: '' };
    },
    newConnection(apiKey = TEST_KEY) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      agents.push(agent);
      return toConnection(url, agent, apiKey);
    },
    async connect(worker, apiKey) {
      for (;;) {
        probes += 1;
        const clientId = `probe-${probes}`;
        const connection = workers.newConnection(apiKey);
        const written = workers.nextLine((line) => line.req?.clientId === clientId);
        await connection.ask('GET', '/api/v1/requests', undefined, { 'x-client-request-id': clientId });
        if ((await written).worker === worker) return connection;
      }
    },
    async issueKey(draft) {
      const { id, secret } = (await workers.administrate('POST', '/admin/v1/keys', {
        name: `customer ${randomUUID()}`,
        ...draft,
      })) as IssuedKey;
      const keyId = parseKeyId(id);
      if (keyId === undefined) throw new Error('the key has no id');
      return { id: keyId, secret };
    },
    async administrate(method, path, body) {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
      const init = { method, headers, body: JSON.stringify(body) };
      const reply = await fetch(`${url}${path}`, init);
      if (!reply.ok) throw new Error(`${path} is answered by ${reply.status}`);
      return reply.json();
    },
    startAgain: start,
    async close() {
      for (const agent of agents) agent.destroy();
      for (const each of processes) each.kill();
      await Promise.all(processes.map((each) => each.ended()));
      await backend.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return workers;
}

function toConnection(url: string, agent: Agent, apiKey: string): Connection {
  let head = Promise.withResolvers<void>();
  const ask: Connection['ask'] = (method, path, body, headers) =>
    new Promise((resolve) => {
      const sent = sendRequest(`${url}${path}`, {
        agent,
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      });
      sent.on('response', (reply) => {
        head.resolve();
        const { statusCode: status = 0, headers } = reply;
        text(reply).then(
          (all) => resolve({ status, headers, text: all }),
          () => resolve({ status, headers, text: 'broken' }),
        );
      });
      sent.on('error', () => resolve({ status: 0, headers: {}, text: '' }));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    ask,
    create: (body, headers) => ask('POST', '/api/v1/responses', body, headers),
    nextHead() {
      head = Promise.withResolvers();
      return head.promise;
    },
  };
}
