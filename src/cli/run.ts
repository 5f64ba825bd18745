import { randomBytes } from 'node:crypto';
import { Argument, type Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { pickSettings, withSettings, type Environment } from '../config/settings.ts';
import type { Settings } from '../contract/settings-types.ts';
import { CliError, type CliContext } from './context.ts';
import { MEANING } from '../doctor/clients.ts';
import { findDialect } from '../doctor/examine.ts';
import { addCommand } from './command.ts';
import { AGENTS, KEY_VARIABLE, type Agent } from './run/agents.ts';
import { findProgram, runChild } from './run/child.ts';
import { toVisible } from '../core/visible.ts';
import {
  addTargetOptions,
  askWithProgress,
  settingsOf,
  withTarget,
  type Target,
  type TargetOptions,
} from './target.ts';

/** Adds `run`, which runs a coding agent in front of the backend. `onEnd` gets its exit status. */
export function addRun(program: Command, context: CliContext, onEnd: (status: number) => void): void {
  const run = addCommand(program, 'run', {
    what: 'run a coding agent on your backend, through a temporary gateway and with settings of its own',
    note: 'Exits with the exit status of the agent once the agent has started.',
    examples: [
      ['run codex --base-url http://127.0.0.1:11434/v1', 'Codex with a model from Ollama'],
      ['run opencode --model qwen3-32b', 'opencode with the configured backend'],
      ['run copilot -- -p "What is in this folder?"', 'Copilot CLI, with arguments for it'],
    ],
  })
    .addArgument(new Argument('<agent>', 'the agent to run; it must be installed').choices([...AGENTS.keys()]))
    .argument('[arguments...]', 'arguments for the agent, after --');
  addTargetOptions(run).action(async (name: string, args: readonly string[], options: TargetOptions) => {
    const agent = AGENTS.get(name);
    const path = findProgram(name, context.env);
    if (agent === undefined || path === undefined) {
      throw new CliError(`${name} is not installed: run \`${agent?.install}\`.`);
    }
    const env = withSettings(pickSettings(context.env, BACKEND_SETTINGS), settingsOf(options));
    onEnd(await withTarget({ env }, options, (target) => runAgent(context, { name, agent, path, args, env, target })));
  });
}

/** All others are for a gateway that serves, or come from the .env of the project in which an agent works. */
const BACKEND_SETTINGS = [
  'UPSTREAM_BASE_URL',
  'UPSTREAM_API_KEY',
  'UPSTREAM_DIALECT',
  'DIALECTS_FILE',
  'MODEL_ALIASES',
  'MODELS_FILE',
  'DEFAULT_MODEL_ID',
  'DEFAULT_MAX_OUTPUT_TOKENS',
  'HISTORY',
  'IMAGE_URLS',
  'REASONING_OUTPUT',
  'CONNECT_TIMEOUT_MS',
  'FIRST_BYTE_TIMEOUT_MS',
  'IDLE_TIMEOUT_MS',
] as const satisfies readonly (keyof Settings)[];

interface AgentRun {
  readonly name: string;
  readonly agent: Agent;
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly target: Target;
}

async function runAgent(context: CliContext, { name, agent, path, args, env, target }: AgentRun): Promise<number> {
  const { baseUrl, config, isDemo, namesDialect } = target;
  const { callsTools, choice, ...found } = await askWithProgress(context, target, (options) =>
    findDialect({ ...options, isKnown: namesDialect }),
  );
  const key = randomBytes(24).toString('base64url');
  const { dialect, ...gatewayConfig } = readConfig({
    ...env,
    UPSTREAM_BASE_URL: baseUrl,
    UPSTREAM_DIALECT: namesDialect ? config.upstreamDialect : choice.dialect,
    PORT: '0',
    DATABASE_URL: ':memory:',
    // The agent and what it runs never see the key of the backend.
    AUTH_MODE: 'static',
    API_KEYS: key,
    LOG_LEVEL: 'silent',
  });
  const differences = namesDialect ? {} : choice.differences;
  // Most commands do not need the whole gateway.
  const { openGateway } = await import('../process/serve.ts');
  const gateway = await openGateway({ ...gatewayConfig, dialect: { ...dialect, ...differences } });
  try {
    const { url } = await gateway.listen();
    if (context.interruption().aborted) throw new CliError('Interrupted.');
    const model = config.defaultModelId ?? found.model;
    const backend = isDemo ? 'the demo backend, where no model runs (--base-url names yours)' : baseUrl;
    const lines = [`${name} with ${model} at ${backend}, as ${gatewayConfig.upstreamDialect}`];
    if (!callsTools) lines.push(`Warning: the backend does not let this model call tools. ${MEANING.tools}`);
    if (agent.expected !== undefined) lines.push(agent.expected);
    for (const line of lines) context.stderr.write(`${toVisible(line)}\n`);
    return await runChild({
      path,
      args,
      env: { ...toAgentEnvironment(context), [KEY_VARIABLE]: key },
      configure: (folder) => agent.configure({ baseUrl: `${url}/api/v1`, model, key }, folder),
    });
  } finally {
    await gateway.close();
  }
}

/** Returns the environment of the caller, which has not what comes from .env. */
function toAgentEnvironment({ env, fileNames }: CliContext): Environment {
  const noProxy = [env['NO_PROXY'] ?? env['no_proxy'], '127.0.0.1'].filter(Boolean).join(',');
  const own = Object.entries(env).filter(([name]) => !fileNames.has(name) && !/^UPSTREAM_API_KEY(_FILE)?$/.test(name));
  return { ...Object.fromEntries(own), NO_PROXY: noProxy, no_proxy: noProxy };
}
