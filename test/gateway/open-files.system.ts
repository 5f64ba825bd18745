/** What clients are told by a gateway that may open few files, while there are more of them than that. */
import { Agent, request as sendRequest } from 'node:http';
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
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    return (path = '/api/v1/responses') =>
      new Promise((resolve) => {
        const isCreate = path.startsWith('/api');
        const key = path === '/metrics' ? METRICS_TOKEN : TEST_KEY;
        const sent = sendRequest(`${gateway.url}${path}`, {
          agent,
          method: isCreate ? 'POST' : 'GET',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        });
        sent.on('response', (reply) => {
          const said = (body: string): string => (isCreate ? (/"code":"(\w+)"/.exec(body)?.[1] ?? '') : body);
          readText(reply).then(
            (body) => resolve(`${reply.statusCode} ${said(body)}`.trim()),
            () => resolve('broken'),
          );
        });
        sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
        sent.end(isCreate ? JSON.stringify({ model: 'm', input: 'Hi', stream: true }) : undefined);
      });
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
    const work = clients.map(async (ask) => {
      for (let times = 0; times < REQUESTS_EACH; times += 1) outcomes.add(await ask());
    });
    await Promise.all(work);
    // What comes beyond those that are told so is not accepted.
    expect(['200', '503 server_overloaded', 'ECONNRESET']).to.include.members([...outcomes]);
    for (let times = 0; times < ROOM; times += 1) expect(await newClient()()).to.equal('200');
    expect(await newClient()('/readyz')).to.match(/^200 /);
  });
});
