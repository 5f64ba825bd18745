import { writeCodex } from '../snippets.ts';

export interface Agent {
  readonly install: string;
  /** A warning of its own that a user need not mind. */
  readonly expected?: string;
  readonly configure: (gateway: AgentGateway, folder: string) => Configuration;
}

export interface AgentGateway {
  /** Ends with `/api/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Is in the environment of each agent too, as KEY_VARIABLE. */
  readonly key: string;
}

export interface Configuration {
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** Agents that can name a variable read their key from this one. */
export const KEY_VARIABLE = 'GATEWAY_API_KEY';

/**
 * The coding agents, by the names of their programs. Each keeps all of its own files in one folder.
 * Their home folder stays, since the tools that they run need it.
 */
export const AGENTS: ReadonlyMap<string, Agent> = new Map(
  Object.entries<Agent>({
    codex: {
      install: 'npm install -g @openai/codex',
      expected: 'Codex may warn that it has no metadata for this model. That is expected.',
      configure: ({ baseUrl, model }, folder) => ({
        files: { 'config.toml': `check_for_update_on_startup = false\n${writeCodex(baseUrl, model)}\n` },
        env: { CODEX_HOME: folder },
      }),
    },
    opencode: {
      install: 'npm install -g opencode-ai',
      configure: (gateway, folder) => ({
        files: {},
        env: {
          // It comes after the opencode.json of a project, which may name another model.
          OPENCODE_CONFIG_CONTENT: JSON.stringify(toOpencode(gateway)),
          XDG_CONFIG_HOME: folder,
          XDG_DATA_HOME: folder,
          XDG_STATE_HOME: folder,
          XDG_CACHE_HOME: folder,
          // It installs a package for its plugins.
          npm_config_cache: folder,
        },
      }),
    },
    pi: {
      install: 'npm install -g @mariozechner/pi-coding-agent',
      configure: ({ baseUrl, model }, folder) => ({
        files: {
          'models.json': JSON.stringify({
            providers: {
              gateway: { baseUrl, api: 'openai-responses', apiKey: KEY_VARIABLE, models: [{ id: model }] },
            },
          }),
          'settings.json': JSON.stringify({ defaultProvider: 'gateway', defaultModel: model }),
        },
        env: { PI_CODING_AGENT_DIR: folder },
      }),
    },
    copilot: {
      install: 'npm install -g @github/copilot',
      configure: ({ baseUrl, model, key }, folder) => ({
        files: {},
        env: {
          COPILOT_HOME: folder,
          COPILOT_CACHE_HOME: folder,
          // It writes an id of the device there.
          XDG_CACHE_HOME: folder,
          COPILOT_PROVIDER_TYPE: 'openai',
          COPILOT_PROVIDER_BASE_URL: baseUrl,
          COPILOT_PROVIDER_API_KEY: key,
          // One of the user would be sent in the place of the key.
          COPILOT_PROVIDER_BEARER_TOKEN: '',
          COPILOT_PROVIDER_WIRE_API: 'responses',
          COPILOT_PROVIDER_TRANSPORT: 'http',
          COPILOT_MODEL: model,
          // Without it a sign-in at GitHub is asked for, and telemetry is sent there.
          COPILOT_OFFLINE: 'true',
        },
      }),
    },
    cline: {
      install: 'npm install -g cline',
      configure: (gateway, folder) => ({
        files: {
          'settings/providers.json': JSON.stringify(toCline(gateway)),
          // Telemetry is on by default, and the file in which the user may have turned it off is not read.
          'settings/global-settings.json': JSON.stringify({ telemetryOptOut: true, autoUpdateEnabled: false }),
        },
        // Without a sandbox a daemon of Cline outlives it. CLINE_DATA_DIR is where its telemetry looks for the setting.
        env: { CLINE_DIR: folder, CLINE_SANDBOX: '1', CLINE_SANDBOX_DATA_DIR: folder, CLINE_DATA_DIR: folder },
      }),
    },
  }),
);

/** What `cline auth -p openai-native` writes, whose arguments other users of the machine could read. */
function toCline({ baseUrl, model, key }: AgentGateway): object {
  const provider = 'openai-native';
  const settings = { provider, baseUrl, model, apiKey: key };
  const entry = { settings, updatedAt: new Date(0).toISOString(), tokenSource: 'manual' };
  return { version: 1, lastUsedProvider: provider, providers: { [provider]: entry } };
}

function toOpencode({ baseUrl, model }: AgentGateway): object {
  const options = { baseURL: baseUrl, apiKey: `{env:${KEY_VARIABLE}}` };
  // Without `reasoning` it drops thoughts that are not sealed, and some backends want them back.
  const gateway = { npm: '@ai-sdk/openai', options, models: { [model]: { reasoning: true } } };
  const name = `gateway/${model}`;
  return {
    share: 'disabled',
    autoupdate: false,
    enabled_providers: ['gateway'],
    model: name,
    small_model: name,
    provider: { gateway },
  };
}
