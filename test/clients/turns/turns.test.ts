import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { readMatrix, publishMatrix } from '../../support/generate-matrix.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';
import packageJson from '../package.json' with { type: 'json' };
import { BACKENDS, playBackend } from './backends.ts';
import { CLIENTS, type Client } from './clients.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from './scenarios.ts';

const ALL = Object.keys(SCENARIOS) as ScenarioName[];
const marks = new Map<string, string>();

describe('the turns of clients', () => {
  after(() => console.log(toPrinted(marks)));

  for (const [name, played] of Object.entries(BACKENDS)) {
    describe(`in front of ${name}`, () => {
      let backend: ScriptedBackend;
      let gateway: TestGateway;

      before(async () => {
        backend = await startScriptedBackend();
        backend.always(playBackend(played));
        gateway = await openGateway({
          UPSTREAM_BASE_URL: `${backend.baseUrl}${played.query ?? ''}`,
          UPSTREAM_DIALECT: played.dialect,
          // multi-llm-ts refers to the response before.
          ITEM_MEMORY_TTL_S: '60',
        });
      });

      after(async () => {
        await gateway.close();
        await backend.close();
      });

      for (const [client, { run, scenarios = ALL, dropsThoughts }] of Object.entries(CLIENTS)) {
        it(`go on with ${client}`, async () => {
          const wrong = new Map<ScenarioName, string>();
          for (const scenario of scenarios) {
            const asked: Scenario = SCENARIOS[scenario];
            const got = await run({ ...asked, baseURL: `${gateway.url}/api/v1`, model: scenario }).catch(String);
            if (got !== asked.result) wrong.set(scenario, String(got));
          }
          const toMark = (scenario: ScenarioName): string => (wrong.has(scenario) ? '✗' : '✓');
          const mark = ALL.map((scenario) => (scenarios.includes(scenario) ? toMark(scenario) : '·')).join('');
          if (scenarios.length > 0) marks.set(`${name} ${client}`, mark);
          const impossible = played.impossible.filter((cell) => (cell.client ?? client) === client);
          const missesThoughts = dropsThoughts && played.complaint !== undefined && played.takesInstead === undefined;
          const expected = [
            ...(missesThoughts ? (['tool-loop', 'parallel-calls'] as const) : []),
            ...impossible.map(({ scenario }) => scenario).filter((scenario) => scenarios.includes(scenario)),
          ];
          expect([...wrong.keys()], [...wrong].join('\n')).to.have.members(expected);
        });
      }
    });
  }
});

/** A suite of its own, since the tests of a suite run before the suites in it. */
describe('what the clients found', () => {
  it('is told in the guide as it is here (else: PUBLISH=1 npm run lab turns)', () => {
    const found = {
      scenarios: ALL,
      clients: Object.fromEntries(
        Object.entries(CLIENTS).map(([name, client]) => [
          name,
          { package: client.package, version: versionOf(client) },
        ]),
      ),
      backends: Object.fromEntries(
        Object.keys(BACKENDS).map((name) => [
          name,
          Object.fromEntries(Object.keys(CLIENTS).map((client) => [client, marks.get(`${name} ${client}`) ?? null])),
        ]),
      ),
    };
    const { date: _, ...published } = readMatrix();
    // Those of a run that leaves clients out are not known.
    for (const [name, cells] of Object.entries(found.backends)) {
      for (const [client, mark] of Object.entries(cells))
        cells[client] = mark ?? published.backends[name]?.[client] ?? null;
    }
    if (process.env['PUBLISH'] === '1') publishMatrix({ date: new Date().toISOString().slice(0, 10), ...found });
    else expect(published).to.deep.equal(found);
  });
});

function versionOf({ package: name }: Client): string {
  const versions: Readonly<Record<string, string>> = {
    ...packageJson.dependencies,
    ...packageJson.optionalDependencies,
  };
  return versions[name] ?? '';
}

/** Backends down, clients across; a mark for each scenario, in its order. */
function toPrinted(marks: ReadonlyMap<string, string>): string {
  const clients = Object.keys(CLIENTS);
  const row = (name: string, cells: readonly string[]): string =>
    `  ${name.padEnd(26)}${cells.map((cell, at) => cell.padEnd(Math.max(8, (clients[at] ?? '').length + 2))).join('')}`;
  const impossible = Object.entries(BACKENDS).flatMap(([name, backend]) =>
    backend.impossible.map(
      ({ scenario, client, source }) => `  ✗ ${[name, client ?? 'all', scenario].join(', ')}: ${source}`,
    ),
  );
  return [
    `\n  Marks: ${ALL.join(', ')}; · where a client cannot ask for it`,
    row('', clients),
    ...Object.keys(BACKENDS).map((name) =>
      row(
        name,
        clients.map((client) => marks.get(`${name} ${client}`) ?? ''),
      ),
    ),
    ...impossible,
  ].join('\n');
}
