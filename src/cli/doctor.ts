import { Option, type Command } from 'commander';
import { startDemoBackend } from '../backend/demo/demo.ts';
import { readConfig } from '../config/config.ts';
import { CliError, type CliContext } from './context.ts';
import { examine, type Examination } from './doctor/examine.ts';
import { formatReport, toJson, toReport, type Examined } from './doctor/report.ts';
import { addExamples } from './help.ts';
import { parseDuration } from './options.ts';
import { createPrinter } from './printer.ts';
import { createProgress } from './progress.ts';

interface DoctorOptions {
  readonly baseUrl?: string;
  readonly key?: string;
  readonly model?: string;
  readonly dialect?: string;
  readonly timeout: number;
}

const MAX_TOTAL_MS = 600_000;

/** Adds `doctor`, which finds what the backend can do and what to set for it. */
export function addDoctor(program: Command, context: CliContext): void {
  const doctor = program
    .command('doctor')
    .description('ask the backend with tiny requests what it can do, and say what to set for it')
    .option('--base-url <url>', 'the backend, with its /v1, in place of UPSTREAM_BASE_URL')
    .option('--key <key>', 'the key for it, in place of UPSTREAM_API_KEY (which other users of the machine cannot see)')
    .option('--model <model>', 'the model to ask, in place of DEFAULT_MODEL_ID; else the first that is listed')
    .option('--dialect <name>', 'the dialect to compare with, in place of UPSTREAM_DIALECT')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for each answer')
        .argParser(parseDuration(600_000))
        .default(60_000, '60s'),
    )
    .action((options: DoctorOptions, command: Command) =>
      withBackend(context, options, async (target) => {
        const examination = await examineWithProgress(context, target, options);
        const report = toReport(target, examination);
        createPrinter(context, command).show(toJson(report), (paint) => formatReport(report, paint));
        if (!examination.isFine)
          throw new CliError('The backend lacks what every client needs: chat, streams or a limit.');
      }),
    );
  doctor.addHelpText('after', '\nIt makes about 30 requests, of a few tokens each, and never shows the key.');
  addExamples(doctor, [
    ['doctor', 'the backend of the settings'],
    ['doctor --base-url http://127.0.0.1:8000/v1', 'one that is not set yet'],
    ['doctor --model qwen3-32b --json', 'one model of several, for a program'],
  ]);
}

interface Target extends Examined {
  readonly apiKey: string | undefined;
}

async function withBackend<Result>(
  { env }: CliContext,
  { baseUrl, key, model, dialect }: DoctorOptions,
  use: (target: Target) => Promise<Result>,
): Promise<Result> {
  const config = readConfig({
    ...env,
    ...(baseUrl !== undefined && { UPSTREAM_BASE_URL: baseUrl }),
    ...(model !== undefined && { DEFAULT_MODEL_ID: model }),
    ...(dialect !== undefined && { UPSTREAM_DIALECT: dialect }),
    // The gateway refuses this setting with AUTH_MODE=passthrough. Here it is the key of a caller.
    UPSTREAM_API_KEY: '',
  });
  const apiKey = [key, env['UPSTREAM_API_KEY']].find((text) => text !== undefined && text !== '');
  if (apiKey !== undefined && !/^[\x21-\x7e]{1,4096}$/.test(apiKey)) {
    throw new CliError('The key must be printable ASCII without spaces.');
  }
  if (config.upstreamBaseUrl !== null) {
    return use({ config, baseUrl: config.upstreamBaseUrl, apiKey, isDemo: false });
  }
  const demo = await startDemoBackend();
  try {
    return await use({ config, baseUrl: demo.baseUrl, apiKey, isDemo: true });
  } finally {
    await demo.close();
  }
}

async function examineWithProgress(
  context: CliContext,
  { config, baseUrl, apiKey }: Target,
  { timeout: timeoutMs }: DoctorOptions,
): Promise<Examination> {
  const progress = createProgress(context);
  const signal = context.interruption();
  const wanted = config.defaultModelId ?? undefined;
  try {
    return await examine({
      baseUrl,
      apiKey,
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
