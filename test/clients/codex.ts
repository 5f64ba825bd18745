/** The Codex CLI itself, in folders of its own: it neither reads nor changes anything of the machine's user. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { blocksRunAs } from '../docs/blocks.ts';
import { useGateway, type Scene } from './scene.ts';
import { API_KEY } from './strict-backend.ts';

interface Codex {
  /** Where it works. */
  readonly directory: string;
  /** Puts a file there. Returns its path. */
  write(name: string, content: string | Uint8Array): string;
  /** What is in a file there; undefined where none is. */
  read(name: string): string | undefined;
  /** `codex exec` with this prompt. Resolves when it has ended; it is killed when that takes too long. */
  exec(prompt: string, options?: ExecOptions): Promise<Run>;
  close(): void;
}

interface ExecOptions {
  readonly model?: string;
  /** Lines of the configuration beyond those that README shows, such as `model_reasoning_effort="low"`. */
  readonly config?: readonly string[];
  readonly args?: readonly string[];
  /** Interrupts it, as Ctrl-C does. */
  readonly interrupt?: Promise<unknown>;
}

interface Run {
  readonly exitCode: number | null;
  /** The answer it ended with; undefined where it has none. */
  readonly answer: string | undefined;
  /** What a person sees: everything that it printed. */
  readonly printed: string;
}

/** For the metrics of a gateway that Codex asks. */
export const METRICS_TOKEN = 'the-token-of-this-test';
export const CODEX = join(import.meta.dirname, 'node_modules/@openai/codex/bin/codex.js');
/** Below mocha's own limit, so that what it has printed is seen. */
const TIME_LIMIT_MS = 200_000;

/** The machine that runs the tests is the sandbox; retries are few, so that failures come soon; nothing is sent home. */
const ARGUMENTS = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--color', 'never'];
const TEST_CONFIG = [
  'check_for_update_on_startup=false',
  'analytics.enabled=false',
  'model_providers.gateway.request_max_retries=1',
  'model_providers.gateway.stream_max_retries=1',
];

/** For a `describe`: as `useGateway`, with a Codex which asks that gateway. */
export function useCodex(setup?: Parameters<typeof useGateway>[0]): Scene & { readonly codex: Codex } {
  const scene = useGateway(setup);
  let codex: Codex;

  beforeEach(() => {
    codex = prepareCodex(scene.baseUrl);
  });

  afterEach(() => codex.close());

  return {
    get baseUrl() {
      return scene.baseUrl;
    },
    get backend() {
      return scene.backend;
    },
    get codex() {
      return codex;
    },
  };
}

/** Fails when Codex did not end well, with this answer; it then says what Codex printed. */
export function expectAnswer(run: Run, answer: string): void {
  expect(run.answer, run.printed).to.equal(answer);
  expect(run.exitCode, run.printed).to.equal(0);
}

/** In front of this gateway. To be closed. */
export function prepareCodex(baseUrl: string): Codex {
  const root = mkdtempSync(join(tmpdir(), 'codex-'));
  const [home, codexHome, directory] = ['home', 'codex-home', 'work'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [home, codexHome, directory]) mkdirSync(folder);
  const [config] = blocksRunAs('codex');
  writeFileSync(join(codexHome, 'config.toml'), config?.code.replace('http://127.0.0.1:8080/api/v1', baseUrl) ?? '');
  const env = { PATH: process.env['PATH'], HOME: home, CODEX_HOME: codexHome, GATEWAY_API_KEY: API_KEY };

  return {
    directory,
    write(name, content) {
      writeFileSync(join(directory, name), content);
      return join(directory, name);
    },
    read: (name) => readIfThere(join(directory, name)),
    async exec(prompt, { model, config = [], args = [], interrupt } = {}) {
      const answerFile = join(root, 'answer.txt');
      rmSync(answerFile, { force: true });
      const settings = [...TEST_CONFIG, ...config].flatMap((setting) => ['-c', setting]);
      const chosen = model === undefined ? [] : ['-m', model];
      const child = spawn(
        process.execPath,
        [CODEX, ...ARGUMENTS, ...settings, ...chosen, '-o', answerFile, '-C', directory, ...args, '--', prompt],
        { env, cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      const limit = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT_MS);
      const interrupted = interrupt?.then(() => child.kill('SIGINT'));
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      await interrupted;
      clearTimeout(limit);
      return { exitCode: child.exitCode, answer: readIfThere(answerFile), printed: `${stdout}\n${stderr}` };
    },
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Every model that the installed Codex knows. */
export function catalogue(): readonly string[] {
  const home = mkdtempSync(join(tmpdir(), 'codex-'));
  try {
    const env = { PATH: process.env['PATH'], HOME: home, CODEX_HOME: home };
    const told = execFileSync(process.execPath, [CODEX, 'debug', 'models', '--bundled'], { env, stdio: 'pipe' });
    const { models } = JSON.parse(told.toString()) as { models: readonly { slug: string }[] };
    return models.map(({ slug }) => slug);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** How many WebSockets this gateway has opened. Fails if it has refused one, or a request. */
export async function handshakesOf(gatewayUrl: string): Promise<number> {
  const reply = await fetch(new URL('/metrics', gatewayUrl), { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  const metrics = await reply.text();
  expect(metrics).not.to.match(/^responses_gateway_requests_total\{endpoint="responses",status="[45]xx"/m);
  const granted = /^responses_gateway_requests_total\{endpoint="responses",status="1xx".*\} (\d+)$/m.exec(metrics);
  return Number(granted?.[1] ?? 0);
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
