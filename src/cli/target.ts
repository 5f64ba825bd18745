import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { startDemoBackend } from '../backend/demo/demo.ts';
import { ConfigError, readConfig, type Config } from '../config/config.ts';
import { ENV_FILE } from '../config/env-file.ts';
import { isLoopback } from '../config/loopback.ts';
import { currentHeaders } from '../backend/current-key.ts';
import { egressOf } from '../backend/outbound.ts';
import { toModelMatcher } from '../core/model-patterns.ts';
import { readKeyFile } from '../config/value-file.ts';
import { withSettings, type Environment } from '../config/settings.ts';
import type { BackendSpec, Egress } from '../core/routes.ts';
import { isYes } from './confirm.ts';
import { CliError, UsageError, type CliContext } from './context.ts';
import type { ExaminationOptions } from '../doctor/examine.ts';
import type { Examined } from './doctor-report.ts';
import { parseDuration } from './options.ts';
import { createProgress } from './progress.ts';
import { toVisible } from '../core/visible.ts';
import { given } from '../core/given.ts';

export interface TargetOptions {
  readonly baseUrl?: string;
  readonly key?: string;
  readonly model?: string;
  readonly dialect?: string;
  readonly backend?: string;
  readonly timeout: number;
}

const MAX_TOTAL_MS = 600_000;

export function addTargetOptions(command: Command): Command {
  return command
    .option('--base-url <url>', 'base URL of the backend, with its /v1 (default: UPSTREAM_BASE_URL)')
    .option('--key <key>', 'API key for it (default: UPSTREAM_API_KEY, which other users of this machine cannot see)')
    .option('--model <model>', 'model to ask (default: DEFAULT_MODEL_ID, or the first model that the backend lists)')
    .option('--dialect <name>', 'dialect of the backend (default: UPSTREAM_DIALECT)')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for each answer')
        .argParser(parseDuration(600_000))
        .default(60_000, '60s'),
    );
}

export interface Target extends Examined, Egress {
  readonly headers: Readonly<Record<string, string>>;
  readonly apiKey: string | undefined;
  /** The setting that names the backend; undefined for an option, and for the demo backend. */
  readonly namedBy: 'UPSTREAM_BASE_URL' | 'BACKENDS_FILE' | undefined;
  readonly timeoutMs: number;
  readonly namesDialect: boolean;
}

/** Runs `use` with the backend of the options and settings, or else with the demo backend. */
export async function withTarget<Result>(
  { env }: Pick<CliContext, 'env'>,
  options: TargetOptions,
  use: (target: Target) => Promise<Result>,
): Promise<Result> {
  const { baseUrl, dialect, backend, timeout: timeoutMs } = options;
  const config = readTargetConfig(env, options);
  const apiKey = config.upstreamApiKey ?? undefined;
  const namesDialect = dialect !== undefined || (env['UPSTREAM_DIALECT'] ?? '') !== '';
  const target = { config, apiKey, timeoutMs, namesDialect, name: null, headers: {} };
  if (config.backends !== null && baseUrl === undefined) {
    const spec = config.backends.backends.find(({ name }) => backend === undefined || name === backend);
    if (spec === undefined) throw new CliError(`BACKENDS_FILE has no backend named ${backend}.`);
    const apiKeyOfSpec = spec.apiKey ?? apiKey;
    return use({ ...toTargetOf(spec, target), apiKey: apiKeyOfSpec, namedBy: 'BACKENDS_FILE' });
  }
  if (backend !== undefined) throw new CliError('--backend needs BACKENDS_FILE, which is not set.');
  if (config.upstreamBaseUrl !== null) {
    const namedBy = baseUrl === undefined ? 'UPSTREAM_BASE_URL' : undefined;
    const { upstreamProxy: proxy } = config;
    // The headers are for the backend of the settings.
    const headers = baseUrl === undefined ? currentHeaders(config.upstreamHeaders, readKeyFile) : {};
    return use({
      ...target,
      ...(proxy !== null && { proxy }),
      headers,
      baseUrl: config.upstreamBaseUrl,
      isDemo: false,
      namedBy,
    });
  }
  const demo = await startDemoBackend();
  try {
    return await use({ ...target, baseUrl: demo.baseUrl, isDemo: true, namedBy: undefined });
  } finally {
    await demo.close();
  }
}

const OPTION_OF = {
  UPSTREAM_BASE_URL: '--base-url',
  UPSTREAM_API_KEY: '--key',
  DEFAULT_MODEL_ID: '--model',
  UPSTREAM_DIALECT: '--dialect',
} as const;

export function settingsOf({ baseUrl, key = '', model, dialect }: TargetOptions): Readonly<Record<string, string>> {
  const set = { UPSTREAM_BASE_URL: baseUrl, DEFAULT_MODEL_ID: model, UPSTREAM_DIALECT: dialect };
  return given({ ...set, UPSTREAM_API_KEY: key === '' ? undefined : key });
}

/** Throws UsageError for a wrong option, in its name, and ConfigError for all else. */
function readTargetConfig(env: Environment, options: TargetOptions): Config {
  const given = settingsOf(options);
  try {
    return readConfig(withSettings(env, given), { isCaller: true });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const wrong = error.problems.flatMap((problem) =>
      Object.entries(OPTION_OF)
        .filter(([name]) => problem.startsWith(`${name}: `) && given[name] !== undefined)
        .map(([name, option]) => problem.replace(`${name}: `, `${option}: `)),
    );
    throw wrong.length === 0 ? error : new UsageError(wrong.join('\n'));
  }
}

/**
 * Runs `use` with each backend of BACKENDS_FILE unless one is named. Throws the first error at the
 * end.
 */
export async function withEachTarget(
  context: Pick<CliContext, 'env'>,
  options: TargetOptions,
  use: (target: Target) => Promise<void>,
): Promise<void> {
  const isOne = options.baseUrl !== undefined || options.backend !== undefined;
  const { backends } = isOne ? { backends: null } : readConfig(context.env, { isCaller: true });
  if (backends === null) return withTarget(context, options, use);
  const failures: unknown[] = [];
  for (const { name } of backends.backends) {
    await withTarget(context, { ...options, backend: name }, use).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

type TargetBasis = Pick<Target, 'config' | 'timeoutMs' | 'namesDialect'>;

/** Its first model is asked where the default one is not its own. */
function toTargetOf(spec: BackendSpec, { config, timeoutMs }: TargetBasis): Omit<Target, 'apiKey' | 'namedBy'> {
  const { name, baseUrl, dialect, upstreamDialect, modelAliases, models } = spec;
  const wanted = config.defaultModelId;
  const known = wanted === null ? undefined : (modelAliases.get(wanted) ?? wanted);
  const isServed = known !== undefined && (models === null || models.some((model) => toModelMatcher(model)(known)));
  const first = models?.find((model) => !model.includes('*')) ?? null;
  const defaultModelId = isServed ? wanted : first;
  return {
    config: { ...config, dialect, upstreamDialect, modelAliases, defaultModelId },
    baseUrl,
    ...egressOf(spec),
    headers: currentHeaders(spec.headers, readKeyFile),
    isDemo: false,
    name,
    namesDialect: true,
    timeoutMs,
  };
}

/** Puts questions to a backend. Throws CliError when it is interrupted, or when the key is not for this backend. */
export async function askWithProgress<Answer>(
  context: CliContext,
  target: Target,
  ask: (options: ExaminationOptions) => Promise<Answer>,
): Promise<Answer> {
  await expectKeyIsFor(target, context);
  const { config, baseUrl, apiKey, timeoutMs } = target;
  const progress = createProgress(context);
  const signal = context.interruption();
  const wanted = config.defaultModelId ?? undefined;
  try {
    return await ask({
      ...egressOf(target),
      baseUrl,
      apiKey,
      headers: target.headers,
      model: wanted === undefined ? undefined : (config.modelAliases.get(wanted) ?? wanted),
      timeoutMs,
      totalMs: MAX_TOTAL_MS,
      signal,
      onStart: (name) => progress.begin(name),
    });
  } catch (error) {
    if (signal.aborted) throw new CliError('Interrupted.', { cause: error });
    throw error;
  } finally {
    progress.stop();
  }
}

/**
 * A key that is not from the `.env` that names the backend goes there only if a person agrees,
 * since the folder may be a stranger's. This machine may have it.
 */
async function expectKeyIsFor({ baseUrl, apiKey, namedBy }: Target, context: CliContext): Promise<void> {
  const { env, fileNames, stderr, ask } = context;
  if (namedBy === undefined || !fileNames.has(namedBy)) return;
  const file = resolve(ENV_FILE);
  if (stderr.isTTY === true) stderr.write(`${namedBy} comes from ${toVisible(file)}.\n`);
  const isOfFile = [...fileNames].some((name) => env[name] === apiKey);
  if (apiKey === undefined || isOfFile || isLoopback(new URL(baseUrl).hostname)) return;
  const answer = await ask?.(toVisible(`Send your key, which is not from this file, to ${baseUrl}? [y/N] `));
  if (isYes(answer)) return;
  throw new CliError(
    toVisible(
      `${file} names the backend ${baseUrl}, and the key is not from that file. Nothing was sent. ` +
        'If the key is for this backend, name it with --base-url.',
    ),
  );
}
