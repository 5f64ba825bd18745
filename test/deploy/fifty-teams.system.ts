/** What a platform engineer does for fifty teams: from an empty PostgreSQL to the answer to a complaint. */
import { expect } from 'chai';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdminGroup, Alert } from '../../src/contract/operator-types.ts';
import { callerOf } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { ROOT } from '../docs/documents.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { run } from '../support/cli.ts';
import { freePort } from '../support/free-port.ts';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { until, untilDayHasLeft } from '../support/time.ts';
import { readDashboard, readRules } from './queries.ts';

const TEAMS = Array.from({ length: 50 }, (_, at) => `team-${String(at + 1).padStart(2, '0')}`);
/** A request costs 0.000092, so that its budget is used up by the fourth. */
const POOR = 'team-07';
const POOR_BUDGET = '0.0003';
const TOKEN = 'metrics-token-of-the-tests';
const REQUEST = { model: 'm', input: 'Hello', max_output_tokens: 7 };

interface Series {
  readonly metric: Readonly<Record<string, string>>;
}

describe('a platform engineer with fifty teams', () => {
  let folder: string;
  let database: TestDatabase | undefined;
  let backends: ScriptedBackend[];
  let receiver: ScriptedBackend;
  let gateway: GatewayProcess | undefined;
  let prometheus: ChildProcess | undefined;
  let prometheusUrl: string;
  let env: Readonly<Record<string, string>>;
  let secrets: ReadonlyMap<string, string>;

  before(async function () {
    const server = await findPostgres();
    if (server === undefined) {
      console.log('\n  not run, since there is no PostgreSQL: fifty teams');
      return this.skip();
    }
    if (spawnSync('prometheus', ['--version']).status !== 0) {
      console.log('\n  not run, since prometheus is not installed: fifty teams');
      return this.skip();
    }
    // All of it is about what a team may spend in one day.
    await untilDayHasLeft(240_000);
    folder = mkdtempSync(join(tmpdir(), 'fifty-teams-'));
    database = await createTestDatabase(server);
    backends = [await startScriptedBackend(), await startScriptedBackend()];
    backends[0]?.always(answer());
    backends[1]?.always({ status: 503, json: { error: { message: 'away' } } });
    receiver = await startScriptedBackend();
    receiver.always({ json: {} });
    const files = {
      'prices.json': { currency: 'USD', models: { m: { input: '2', output: '10' } } },
      'backends.json': { backends: backends.map(({ baseUrl }, at) => ({ name: `gpu-${at}`, base_url: baseUrl })) },
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
    env = {
      AUTH_MODE: 'managed',
      DATABASE_URL: database.url,
      GATEWAY_SECRET: 'a secret of fifty teams',
      PRICES_FILE: join(folder, 'prices.json'),
      BACKENDS_FILE: join(folder, 'backends.json'),
      METRICS_TOKEN: TOKEN,
      ALERT_WEBHOOK_URL: `${receiver.baseUrl}/alerts`,
      ALERT_WEBHOOK_SECRET: `whsec_${'a'.repeat(32)}`,
    };
  });

  after(async () => {
    if (prometheus?.exitCode === null) {
      prometheus.kill();
      await once(prometheus, 'exit');
    }
    await gateway?.stop();
    if (database === undefined) return;
    await Promise.all([...backends, receiver].map((server) => server.close()));
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  async function cli(line: string): Promise<string> {
    const { status, stdout, stderr } = await run(line, { env });
    expect(status, `${line}: ${stderr}`).to.equal(0);
    return stdout;
  }

  it('makes the groups with their budgets, and their keys from a file', async () => {
    await cli('db migrate');
    for (const team of TEAMS) {
      await cli(`groups create --name ${team} --rpm 600 --spend-per-day ${team === POOR ? POOR_BUDGET : '5'}`);
    }
    const [keys, out] = [join(folder, 'keys.csv'), join(folder, 'secrets.csv')];
    writeFileSync(keys, ['name,group', ...TEAMS.map((team) => `${team}-app,${team}`)].join('\n'));
    await cli(`keys import ${keys} --out ${out}`);
    const lines = readFileSync(out, 'utf8').trim().split('\n').slice(1);
    secrets = new Map(lines.map((line) => [/team-\d\d/.exec(line)?.[0] ?? '', /rgk_\w{40}/.exec(line)?.[0] ?? '']));
    expect([...secrets.keys()]).to.have.members(TEAMS);
  });

  it('starts a gateway, and a Prometheus with the rules of the package', async () => {
    gateway = await startGatewayProcess(env);
    const port = await freePort();
    prometheusUrl = `http://127.0.0.1:${port}`;
    const config = {
      // A scrape may take as long as the time between two.
      global: { scrape_interval: '3s', evaluation_interval: '1s' },
      rule_files: [join(ROOT, 'src/deploy/alerts.yml')],
      scrape_configs: [
        {
          job_name: 'responses-gateway',
          authorization: { credentials: TOKEN },
          static_configs: [{ targets: [new URL(gateway.url ?? '').host] }],
        },
      ],
    };
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
    const options = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
    prometheus = spawn('prometheus', [...options, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
    await until(async () => (await fetch(`${prometheusUrl}/-/ready`).catch(() => undefined))?.ok === true);
  });

  const ask = (team: string, more: object = {}): Promise<Response> =>
    callerOf(gateway?.url ?? '', secrets.get(team)).create({ ...REQUEST, ...more });

  it('has the poor team refused with its budget, what is left of it, when it opens again and the way out', async () => {
    for (const team of TEAMS) for (const stream of [true, false]) await (await ask(team, { stream })).text();
    await until(async () => (await ask(POOR)).status === 402);
    const { error } = (await (await ask(POOR)).json()) as { readonly error: { readonly message: string } };
    expect(error.message).to.match(
      /^The request may cost up to 0\.0\d+ USD\. Of the 0\.0003 USD which the group of the API key may spend per day, 0\.00\d+ USD is left until \d{4}-\d\d-\d\dT00:00:00\.000Z\. Send a lower max_output_tokens to reserve less\.$/,
    );
  });

  it('gets an alert of the budget, and one of the backend that rests', async () => {
    const alerts = () => receiver.requests.map(({ body }) => body as Alert);
    const namesOf = () =>
      alerts().map(({ data }) => ('account' in data ? data.account.name : 'backend' in data ? data.backend : ''));
    // Funds are looked at every few seconds too, which may find the team near its budget before it is refused.
    const isWhole = ({ data }: Alert) => 'account' in data && data.threshold === 100 && data.per === 'day';
    await until(() => alerts().some(isWhole) && namesOf().includes('gpu-1'));
    expect(new Set(namesOf())).to.deep.equal(new Set([POOR, 'gpu-1']));
  });

  it('finds a series for every query of the dashboard and every rule', async () => {
    const missing = async () => {
      // Rates need requests between two scrapes.
      for (const team of TEAMS.slice(0, 3)) await (await ask(team, { stream: true })).text();
      const queries = [...readDashboard().map(({ query }) => query), ...readRules().map(({ value }) => value)];
      const found = await Promise.all(queries.map(async (query) => ({ query, series: await seriesOf(query) })));
      return found.filter(({ series }) => series.length === 0).map(({ query }) => query);
    };
    let left: readonly string[] = [];
    const giveUpMs = Date.now() + 200_000;
    do left = await missing();
    while (left.length > 0 && Date.now() < giveUpMs);
    expect(left).to.deep.equal([]);
  });

  it('sees in Prometheus which team it is', async () => {
    let firing: readonly Series[] = [];
    // A scrape that fails takes it away for a moment.
    await until(async () => {
      firing = await seriesOf('ALERTS{alertname="GatewayGroupNearItsLimit", alertstate="firing"}');
      return firing.length > 0;
    });
    expect(firing.map(({ metric }) => [metric['group'], metric['of']])).to.deep.equal([[POOR, 'day']]);
  });

  it('answers the complaint from the command line, and lets the team go on', async () => {
    const group = JSON.parse(await cli(`groups show ${POOR} --json`)) as AdminGroup;
    expect(group.limits.spend_per_day).to.equal(POOR_BUDGET);
    expect(Number(group.spent_today)).to.be.greaterThan(0.8 * Number(POOR_BUDGET));
    expect(await cli(`usage --group ${POOR} --per day`)).to.include(`${POOR}-app`);
    await cli(`groups update ${POOR} --spend-per-day 5`);
    await until(async () => (await ask(POOR)).status === 200);
  });

  async function seriesOf(query: string): Promise<readonly Series[]> {
    const reply = await fetch(`${prometheusUrl}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query }),
    });
    const { data } = (await reply.json()) as { readonly data: { readonly result: readonly Series[] } };
    return data.result;
  }
});
