import { AGENTS, type AgentGateway, type Configuration } from '../../../src/cli/run/agents.ts';
import type { ModelCall } from '../../clients/strict-backend.ts';
import { blocksRunAs } from '../../docs/blocks.ts';

/** A client that is too large for `test/clients`. */
export interface HeavyClient {
  /** As the guide calls it. */
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly program: string;
  readonly configure: (gateway: AgentGateway, folder: string) => Configuration;
  readonly args: (prompt: string) => readonly string[];
  /** Runs a command by its own tool. */
  readonly shell: (command: string) => ModelCall;
}

export const HEAVY_CLIENTS: readonly HeavyClient[] = [
  {
    name: 'GitHub Copilot CLI',
    package: '@github/copilot',
    version: '1.0.102',
    program: 'copilot',
    configure: (gateway, folder) => configureAs('copilot', gateway, folder),
    args: (prompt) => ['--no-auto-update', '--no-color', '--allow-all-tools', '-p', prompt],
    shell: (command) => ({ name: 'bash', arguments: { command, description: 'Joins two words' } }),
  },
  {
    name: 'Cline CLI',
    package: 'cline',
    version: '3.0.65',
    program: 'cline',
    configure: (gateway, folder) => configureAs('cline', gateway, folder),
    args: (prompt) => [prompt],
    shell: (command) => ({ name: 'run_commands', arguments: { commands: [command] } }),
  },
  {
    name: 'Kilo CLI',
    package: '@kilocode/cli',
    // Later ones are not in every registry with their packages for Linux.
    version: '7.7.7',
    program: 'kilo',
    configure: (gateway) => ({
      files: { '.config/kilo/kilo.json': configureKilo(gateway) },
      env: {
        KILO_DISABLE_AUTOUPDATE: '1',
        KILO_DISABLE_LSP_DOWNLOAD: '1',
        KILO_DISABLE_MODELS_FETCH: '1',
        KILO_DISABLE_SESSION_INGEST: '1',
        KILO_TELEMETRY_LEVEL: 'off',
      },
    }),
    args: (prompt) => ['run', '--pure', '--auto', '--title', 'Words', prompt],
    shell: (command) => ({ name: 'bash', arguments: { command, description: 'Joins two words' } }),
  },
];

/** As `gateway run` does. */
function configureAs(agent: string, gateway: AgentGateway, folder: string): Configuration {
  const known = AGENTS.get(agent);
  if (known === undefined) throw new Error(`gateway run knows no ${agent}`);
  return known.configure(gateway, folder);
}

/** As the guide does. */
function configureKilo({ baseUrl, model }: AgentGateway): string {
  const block = blocksRunAs('parsed').find(({ section }) => section === 'Kilo');
  if (block === undefined) throw new Error('the guide has no configuration of Kilo');
  return block.code.replace('http://127.0.0.1:8080/api/v1', baseUrl).replaceAll('demo', model);
}
