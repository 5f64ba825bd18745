/** Agents as processes, in folders of their own. They run commands as their tools. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CODEX, prepareCodex } from '../codex.ts';
import { API_KEY } from '../strict-backend.ts';
import { PROMPT, type Asked } from './scenarios.ts';

const MODULES = join(import.meta.dirname, '../node_modules');
const PI = join(MODULES, '@mariozechner/pi-coding-agent/dist/cli.js');
/** Only for Linux: the package for all platforms is not in every registry. */
const OPENCODE = join(MODULES, 'opencode-linux-x64-baseline/bin/opencode');
export const HAS_OPENCODE = existsSync(OPENCODE);
export const PROGRAMS = { codex: CODEX, opencode: OPENCODE, pi: PI } as const;

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

export async function withCodex({ baseURL, model, effort, isStructured }: Asked): Promise<string> {
  const codex = prepareCodex(baseURL);
  const schema = codex.write('schema.json', JSON.stringify(SCHEMA));
  try {
    const { answer, printed } = await codex.exec(PROMPT, {
      model,
      ...(effort !== undefined && { config: [`model_reasoning_effort="${effort}"`] }),
      ...(isStructured && { args: ['--output-schema', schema] }),
    });
    return answer ?? printed;
  } finally {
    codex.close();
  }
}

export async function withPi({ baseURL, model }: Asked): Promise<string> {
  const gateway = { baseUrl: baseURL, api: 'openai-responses', apiKey: API_KEY, models: [{ id: model }] };
  const args = [PI, '--provider', 'gateway', '--model', model, '--no-session', '-p', PROMPT];
  return run(process.execPath, args, { file: 'models.json', content: { providers: { gateway } } });
}

export async function withOpencode({ baseURL, model }: Asked): Promise<string> {
  const options = { baseURL, apiKey: API_KEY };
  // Without `reasoning` it drops thoughts that are not sealed, and Moonshot, DeepSeek and Mistral want them back.
  const gateway = { npm: '@ai-sdk/openai', options, models: { [model]: { reasoning: true } } };
  const args = ['run', '--pure', '--auto', '--title', 'Weather', '-m', `gateway/${model}`, PROMPT];
  return run(OPENCODE, args, { file: 'opencode.json', content: { share: 'disabled', provider: { gateway } } });
}

export const NOTHING_SENT_HOME = {
  PI_OFFLINE: '1',
  PI_TELEMETRY: '0',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
};
/** An agent that asks for ever is ended. */
const TIME_LIMIT_MS = 200_000;

/** What it prints, and nothing around it; with what went wrong where its exit status says so. */
async function run(
  command: string,
  args: readonly string[],
  { file, content }: { readonly file: string; readonly content: object },
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-'));
  writeFileSync(join(folder, file), JSON.stringify(content));
  const env = { ...NOTHING_SENT_HOME, PATH: process.env['PATH'], HOME: folder, PI_CODING_AGENT_DIR: folder };
  const child = spawn(command, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT_MS);
  const [printed, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  clearTimeout(limit);
  rmSync(folder, { recursive: true, force: true });
  return child.exitCode === 0 ? printed.trim() : `${printed}\n${problems}`;
}
