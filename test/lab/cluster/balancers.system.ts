/** The guide's upgrade without a break, through its configurations of load balancers. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as sendRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'chai';
import { answer, finish, text, usageChunk } from '../../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { TEST_KEY } from '../../support/gateway.ts';
import { freePort } from '../../support/free-port.ts';
import { startGatewayProcess, type GatewayProcess } from '../../support/gateway-process.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import { openBalancers, type Balancer } from './balancers.ts';

const server = await findPostgres();

const REQUESTS = 2000;
const CLIENTS = 4;
/** A gateway is back when a balancer has sent it so many. */
const ENOUGH = 10;

if (server !== undefined) {
  describe('two gateways that are restarted one after the other behind a load balancer', () => {
    useRealSockets();
    let backend: ScriptedBackend;
    let database: TestDatabase;
    let folder: string;
    let gateways: GatewayProcess[];
    let ports: number[];
    let balancers: readonly Balancer[];
    /** How many requests a gateway has sent to the backend since its last start, by its balancer. */
    let served: Map<string, number>[];
    /** What clients got, by their balancer. */
    let answered: Map<string, number>;
    let failures: Map<string, string[]>;
    /** The log of the gateways. */
    let said = '';

    before(async () => {
      backend = await startScriptedBackend();
      database = await createTestDatabase(server);
      folder = mkdtempSync(join(tmpdir(), 'balanced-'));
      ports = [await freePort(), await freePort()];
      served = ports.map(() => new Map());
      answered = new Map();
      failures = new Map();
      backend.always(async (stage) => {
        const place = Number(/^\/(\d)\//.exec(stage.request.path)?.[1]);
        const { messages, stream } = stage.request.body as { messages: [{ content: string }]; stream?: boolean };
        count(served[place], messages[0].content);
        if (stream !== true) return answer()(stage);
        await stage.sse(text('Hello'));
        await stage.wait(20);
        await stage.sse(finish('stop'), usageChunk, '[DONE]');
        stage.end();
      });
      gateways = [];
      for (const place of ports.keys()) gateways.push(await start(place));
      balancers = await openBalancers(ports);
      for (const { name } of balancers) failures.set(name, []);
      await expectRestarts();
    });

    after(async () => {
      for (const balancer of balancers ?? []) await balancer.close();
      for (const gateway of gateways ?? []) {
        gateway.kill();
        await gateway.ended();
      }
      await backend.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Again when a busy machine has let the time-outs of a start pass, as a supervisor does. */
    async function start(place: number, triesLeft = 5): Promise<GatewayProcess> {
      served[place]?.clear();
      const settings = {
        PORT: String(ports[place]),
        // The backend sees by the path which gateway asks.
        UPSTREAM_BASE_URL: backend.baseUrl.replace('/v1', `/${place}/v1`),
        DATABASE_URL: database.url,
        GATEWAY_SECRET: 'the same secret for both gateways',
        AUTH_MODE: 'static',
        API_KEYS: TEST_KEY,
        TRUST_PROXY: '1',
        PUBLIC_BASE_URL: 'http://gateway.example.com',
        DRAIN_DELAY_MS: '5000',
        NODE_COMPILE_CACHE: join(folder, 'cache'),
        LOG_LEVEL: 'warn',
      };
      const gateway = await startGatewayProcess(settings, { onLog: (lines) => (said += lines) });
      if (gateway.url !== undefined) return gateway;
      if (triesLeft === 1) throw new Error(`a gateway did not start: ${(await gateway.ended()).stderr}`);
      return start(place, triesLeft - 1);
    }

    async function expectRestarts(): Promise<void> {
      let isOver = false;
      const clients = balancers.flatMap((balancer) =>
        Array.from({ length: CLIENTS }, () => load(balancer, () => isOver)),
      );
      try {
        for (const place of ports.keys()) {
          await isServedBy(place);
          for (const balancer of balancers) balancer.takeOut(place);
          await gateways[place]?.stop();
          gateways[place] = await start(place);
          for (const balancer of balancers) balancer.putBack();
          await isServedBy(place);
        }
      } finally {
        isOver = true;
      }
      await Promise.all(clients);
    }

    /** Until each balancer sends requests to this gateway. */
    function isServedBy(place: number): Promise<void> {
      return until(() => balancers.every(({ name }) => (served[place]?.get(name) ?? 0) >= ENOUGH));
    }

    async function load({ name, url, keepsClients }: Balancer, isOver: () => boolean): Promise<void> {
      const agent = new Agent({ keepAlive: keepsClients, maxSockets: 1 });
      for (let request = 0; !isOver() || (answered.get(name) ?? 0) < REQUESTS; request += 1) {
        const failure = await ask(`${url}/api/v1/responses`, agent, {
          model: 'm',
          input: name,
          stream: request % 2 === 0,
        });
        count(answered, name);
        if (failure !== undefined) failures.get(name)?.push(failure);
      }
      agent.destroy();
    }

    for (const name of ['nginx', 'HAProxy', 'Caddy']) {
      it(`fail no request of ${REQUESTS} through ${name}`, function () {
        if (!failures.has(name)) this.skip();
        expect(answered.get(name)).to.be.at.least(REQUESTS);
        const balancer = balancers.find((one) => one.name === name);
        expect(failures.get(name), `${said}\n${balancer?.said()}`).to.deep.equal([]);
      });
    }
  });
}

interface Body {
  readonly model: string;
  readonly input: string;
  readonly stream: boolean;
}

/** Returns what was wrong with the reply. */
async function ask(url: string, agent: Agent, body: Body): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' };
  const sent = sendRequest(url, { agent, method: 'POST', headers });
  try {
    const arrived = once(sent, 'response');
    sent.end(JSON.stringify(body));
    const [reply] = (await arrived) as [IncomingMessage];
    const all = await readText(reply);
    const end = body.stream ? /event: response\.completed\n[^]*data: \[DONE\]\n\n$/ : /"status":\s*"completed"/;
    if (reply.statusCode === 200 && end.test(all)) return undefined;
    return `${new Date().toISOString()} ${reply.statusCode}: … ${all.slice(-600)}`;
  } catch (error) {
    return String(error);
  }
}

function count(counts: Map<string, number> | undefined, name: string): void {
  counts?.set(name, (counts.get(name) ?? 0) + 1);
}
