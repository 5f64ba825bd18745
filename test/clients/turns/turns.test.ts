import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';
import { BACKENDS, playBackend } from './backends.ts';
import { CLIENTS } from './clients.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from './scenarios.ts';

const ALL = Object.keys(SCENARIOS) as ScenarioName[];
const GUIDE = join(import.meta.dirname, '../../../src/docs/clients.md');

describe('the turns of clients', () => {
  const marks = new Map<string, string>();

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
        });
      });

      after(async () => {
        await gateway.close();
        await backend.close();
      });

      for (const [client, { run, scenarios = ALL }] of Object.entries(CLIENTS)) {
        it(`go on with ${client}`, async () => {
          const wrong = new Map<ScenarioName, string>();
          for (const scenario of scenarios) {
            const asked: Scenario = SCENARIOS[scenario];
            const got = await run({ ...asked, baseURL: `${gateway.url}/api/v1`, model: scenario }).catch(String);
            if (got !== asked.result) wrong.set(scenario, String(got));
          }
          const toMark = (scenario: ScenarioName): string => (wrong.has(scenario) ? '✗' : '✓');
          marks.set(
            `${name} ${client}`,
            ALL.map((scenario) => (scenarios.includes(scenario) ? toMark(scenario) : '·')).join(''),
          );
          const impossible = played.impossible.filter((cell) => (cell.client ?? client) === client);
          expect([...wrong.keys()], [...wrong].join('\n')).to.deep.equal(
            impossible.map(({ scenario }) => scenario).filter((scenario) => scenarios.includes(scenario)),
          );
        });
      }
    });
  }

  it('are told in the guide as they are here', () => {
    expect(readFileSync(GUIDE, 'utf8')).to.include(toTable());
  });
});

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

/** The same for the guide, in which no client is named but those that differ. */
function toTable(): string {
  const lines = Object.entries(BACKENDS).map(([name, { impossible }]) => {
    const cells = ALL.map((scenario) => {
      const found = impossible.find((cell) => cell.scenario === scenario);
      return found === undefined ? 'yes' : found.client === undefined ? 'no' : `not ${found.client}`;
    });
    return `| ${[name, ...cells].join(' | ')} |`;
  });
  const head = ['backend', ...ALL.map((scenario) => scenario.replace('-', ' '))];
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines, ''].join('\n');
}
