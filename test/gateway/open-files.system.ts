/** What clients are told by a gateway that may open few files, while there are more of them than that. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as sendRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { TEST_KEY } from '../support/gateway.ts';
import { startStaticGateway, type GatewayProcess } from '../support/gateway-process.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const OPEN_FILES = 200;
/** Half of what is left beside the files of its own. */
const ROOM = 60;
const CROWD = 300;
const REQUESTS_EACH = 3;
const METRICS_TOKEN = 'the-token-of-the-metrics';
const ADMIN_TOKEN = 'the-admin-token-of-few-files';

describe('a gateway that may open few files', () => {
  useRealSockets();
  let backend: ScriptedBackend;
  let gateway: GatewayProcess;
  let agents: Agent[];
  let lines: string;

  beforeEach(async () => {
    [agents, lines] = [[], ''];
    backend = await startScriptedBackend();
    backend.always(answer());
    const options = { openFiles: OPEN_FILES, onLog: (piece: string) => void (lines += piece) };
    gateway = await startStaticGateway(backend, { LOG_LEVEL: 'info', METRICS_TOKEN }, options);
  });
  afterEach(async () => {
    for (const agent of agents) agent.destroy();
    gateway.kill();
    await backend.close();
  });

  /** A client with one connection, which it keeps. */
  function newClient(): (path?: string) => Promise<string> {
    const agent = newAgent();
    agents.push(agent);
    return async (path = '/api/v1/responses') => {
      const isCreate = path.startsWith('/api');
      const key = path === '/metrics' ? METRICS_TOKEN : TEST_KEY;
      const sent = isCreate ? { model: 'm', input: 'Hi', stream: true } : undefined;
      try {
        const { status, body } = await ask(agent, `${gateway.url}${path}`, key, sent);
        return `${status} ${isCreate ? codeIn(body) : body}`.trim();
      } catch (error) {
        return error instanceof Error && 'code' in error ? String(error.code) : 'broken';
      }
    };
  }

  it('tells a client without room that it is overloaded, is not ready meanwhile, and makes room by closing idle connections', async () => {
    const letGo = Promise.withResolvers<void>();
    backend.always(async (stage) => {
      await letGo.promise;
      await answer()(stage);
    });
    const served = Array.from({ length: ROOM }, () => newClient()());
    await backend.request(ROOM);
    expect(await newClient()()).to.equal('503 server_overloaded');
    const unready = await newClient()('/readyz');
    expect(unready).to.match(/^503 .*"connections":false/);
    expect(await newClient()('/healthz')).to.match(/^200 /);
    letGo.resolve();
    expect(new Set(await Promise.all(served))).to.deep.equal(new Set(['200']));
    // They keep their connections, which are idle now.
    for (let times = 0; times < ROOM; times += 1) expect(await newClient()()).to.equal('200');
    const metrics = await newClient()('/metrics');
    expect(metrics).to.match(/errors_total\{[^}]*code="server_overloaded"[^}]*\} 1\n/);
    expect(metrics).to.match(new RegExp(`^process_max_fds ${OPEN_FILES}$`, 'm'));
    expect(lines.split('\n').filter((line) => line.includes('the limit of open files'))).to.have.lengthOf(1);
  });

  it('never says that the backend fails while a crowd fights for its connections, and serves all of them afterwards', async () => {
    const clients = Array.from({ length: CROWD }, newClient);
    const outcomes = new Set<string>();
    const work = clients.map(async (create) => {
      for (let times = 0; times < REQUESTS_EACH; times += 1) outcomes.add(await create());
    });
    await Promise.all(work);
    // What comes beyond those that are told so is not accepted.
    expect(['200', '503 server_overloaded', 'ECONNRESET']).to.include.members([...outcomes]);
    for (let times = 0; times < ROOM; times += 1) expect(await newClient()()).to.equal('200');
    expect(await newClient()('/readyz')).to.match(/^200 /);
  });
});

/** None of its connections is new, so that the server can go on with them. */
describe('a gateway that can open no further file', () => {
  useRealSockets();
  let backend: ScriptedBackend;
  let gateway: GatewayProcess;
  let agent: Agent;

  beforeEach(async () => {
    agent = newAgent();
    backend = await startScriptedBackend();
    backend.always(answer());
  });
  afterEach(async () => {
    agent.destroy();
    gateway.kill();
    await backend.close();
  });

  const askFor = (path: string, key = TEST_KEY, body?: object): Promise<Told> =>
    ask(agent, `${gateway.url}${path}`, key, body);

  /** Above the limit nothing is opened; what is open stays. */
  function limitFiles(to: number): void {
    execFileSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${to}:`]);
  }

  async function expectOwnFault(asked: Promise<Told>): Promise<void> {
    const { status, body } = await asked;
    expect(`${status} ${codeIn(body)}`).to.equal('503 server_overloaded');
    expect(body).to.include('The gateway can open no further connection');
  }

  const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

  it('says that it is its own fault where it passes requests on, is not ready, and passes them on afterwards', async () => {
    gateway = await startStaticGateway(backend, { PASSTHROUGH_PATHS: '/v1/embeddings' }, { openFiles: OPEN_FILES });
    const ways = [
      ['/v1/chat/completions', CHAT],
      ['/v1/embeddings', { model: 'm', input: 'Hi' }],
      ['/v1/models'],
    ] as const;
    expect((await askFor('/readyz')).status).to.equal(200);
    limitFiles(3);
    for (const [path, body] of ways) await expectOwnFault(askFor(path, TEST_KEY, body));
    const unready = await askFor('/readyz');
    expect(unready).to.include({ status: 503 });
    expect(unready.body).to.match(/"connections":false.*"backend":true/);
    expect(backend.requests).to.deep.equal([]);
    limitFiles(OPEN_FILES);
    expect((await askFor('/readyz')).status).to.equal(200);
    for (const [path, body] of ways) expect((await askFor(path, TEST_KEY, body)).status, path).to.equal(200);
  });

  it('keeps no money of a request that it could not send', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-open-files-'));
    const prices = join(folder, 'prices.json');
    writeFileSync(prices, JSON.stringify({ currency: 'USD', models: { m: { input: '1', output: '2' } } }));
    const settings = { AUTH_MODE: 'managed', API_KEYS: '', ADMIN_TOKEN, GATEWAY_SECRET: 'the secret of few files' };
    gateway = await startStaticGateway(backend, { ...settings, PRICES_FILE: prices }, { openFiles: OPEN_FILES });
    rmSync(folder, { recursive: true });
    const issued = await askFor('/admin/v1/keys', ADMIN_TOKEN, { name: 'team', credits: '1.00' });
    const { secret } = JSON.parse(issued.body) as { secret: string };
    limitFiles(3);
    await expectOwnFault(askFor('/api/v1/responses', secret, { model: 'm', input: 'Hi' }));
    await expectOwnFault(askFor('/v1/chat/completions', secret, CHAT));
    expect(JSON.parse((await askFor('/api/v1/key', secret)).body)).to.include({ balance: 1_000_000, held: 0 });
    limitFiles(OPEN_FILES);
    expect((await askFor('/api/v1/responses', secret, { model: 'm', input: 'Hi' })).status).to.equal(200);
    expect((await askFor('/v1/chat/completions', secret, CHAT)).status).to.equal(200);
    const { balance, held } = JSON.parse((await askFor('/api/v1/key', secret)).body) as {
      balance: number;
      held: number;
    };
    expect(held).to.equal(0);
    expect(balance).to.be.below(1_000_000);
  });
});

interface Told {
  readonly status: number | undefined;
  readonly body: string;
}

function newAgent(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 });
}

/** A POST if there is something to send. */
function ask(agent: Agent, url: string, key: string, sent?: object): Promise<Told> {
  const { promise, resolve, reject } = Promise.withResolvers<Told>();
  const request = sendRequest(url, {
    agent,
    method: sent === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  request.on('response', (reply) => {
    readText(reply).then((body) => resolve({ status: reply.statusCode, body }), reject);
  });
  request.on('error', reject);
  request.end(sent && JSON.stringify(sent));
  return promise;
}

function codeIn(body: string): string {
  return /"code":"(\w+)"/.exec(body)?.[1] ?? '';
}
