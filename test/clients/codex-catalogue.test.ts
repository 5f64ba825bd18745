/** Every model that the installed Codex knows, since each has tools and ways of its own. */

import { expect } from 'chai';
import { openGateway } from '../support/gateway.ts';
import { catalogue, expectAnswer, handshakesOf, METRICS_TOKEN, prepareCodex } from './codex.ts';
import { after, calling, SPECIAL } from './model-words.ts';
import { startStrictBackend, type Line } from './strict-backend.ts';

const PROVIDERS = ['Gateway', 'OpenAI'];
const TRANSPORTS = ['HTTP', 'WebSocket'];

describe('Codex CLI', () => {
  for (const model of catalogue()) {
    it(`runs a tool under each name of a provider and over each transport as ${model}`, async () => {
      const cells = PROVIDERS.flatMap((provider) => TRANSPORTS.map((transport) => ({ provider, transport })));
      const failures = await Promise.all(
        cells.map(async (cell) => {
          const failure = await runTool(model, cell).then(() => '', String);
          return failure === '' ? [] : [`as ${cell.provider} over ${cell.transport}: ${failure}`];
        }),
      );
      expect(failures.flat()).to.deep.equal([]);
    });
  }
});

interface Cell {
  readonly provider: string;
  readonly transport: string;
}

async function runTool(model: string, { provider, transport }: Cell): Promise<void> {
  const backend = await startStrictBackend();
  const gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, METRICS_TOKEN });
  const codex = prepareCodex(`${gateway.url}/api/v1`);
  try {
    backend.plays(callShell, after('made it', { text: SPECIAL }));
    const isWebSocket = transport === 'WebSocket';
    const config = [`name="${provider}"`, `supports_websockets=${isWebSocket}`];
    const run = await codex.exec('Make a file.', {
      model,
      config: config.map((line) => `model_providers.gateway.${line}`),
    });
    expectAnswer(run, SPECIAL);
    expect(codex.read('made.txt')).to.equal(SPECIAL);
    expect(await handshakesOf(gateway.url)).to.equal(isWebSocket ? 1 : 0);
  } finally {
    codex.close();
    await gateway.close();
    await backend.close();
  }
}

const COMMAND = JSON.stringify({ cmd: `printf '%s' '${SPECIAL}' > made.txt; echo made it` });

/** In code mode the one tool for that is a script. */
const callShell: Line = ({ tools = [] }) =>
  tools.some((tool) => tool.function.name === 'functions__exec')
    ? calling('functions__exec', { input: `const r = await tools.exec_command(${COMMAND}); text(r.output);` })
    : calling('exec_command', JSON.parse(COMMAND) as object);
