import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { START_COMMAND, writeFirstRequest } from '../config/banner.ts';
import { ENV_FILE } from '../config/env-file.ts';
import { describeSetting } from '../config/settings.ts';
import { writePrivateFile } from '../store/private-files.ts';
import { UsageError, CliError, type CliContext } from './context.ts';
import { describeClients } from '../doctor/clients.ts';
import { examine } from '../doctor/examine.ts';
import { toReport, type Report } from './doctor-report.ts';
import { addCommand } from './command.ts';
import type { Cli } from './printer.ts';
import { toGatewayUrl } from './snippets.ts';
import { addTargetOptions, askWithProgress, withTarget, type Target, type TargetOptions } from './target.ts';

export function addInit(program: Command, cli: Cli): void {
  const init = addCommand(program, 'init', {
    what: 'find out what the backend can do, and write settings for it to .env (an existing file is kept)',
    examples: [
      ['init', 'asks for the base URL of the backend on a terminal'],
      ['init --base-url http://127.0.0.1:11434/v1', 'in a script'],
    ],
  });
  addTargetOptions(init).action(async (options: TargetOptions) => {
    refuseWhereThereIs(ENV_FILE);
    const baseUrl = options.baseUrl ?? (await askForBaseUrl(cli));
    await withTarget(cli, { ...options, baseUrl }, async (target) => {
      const examination = await askWithProgress(cli, target, examine);
      const report = toReport(target, examination);
      const verdict = describeClients(report.fits);
      if (!examination.isFine) throw new CliError(`${verdict} Nothing was written. \`doctor\` says more.`);
      const clientKey = newKey();
      const files = toFiles(report, ofBackend(target, options, cli), clientKey);
      for (const { name } of files) refuseWhereThereIs(name);
      for (const { name, content } of files) if (!writePrivateFile(name, content)) throw thereIs(name);
      const names = files.map(({ name }) => name);
      const isStatic = report.settings['AUTH_MODE'] === 'static';
      const value = { object: 'init', files: names, verdict, api_key: isStatic ? clientKey : null };
      const url = toGatewayUrl(target.config);
      cli.printer.show(value, (paint) => [
        paint('green', verdict),
        `${names.join(' and ')} written. Start the gateway with \`${START_COMMAND}\`.`,
        ...(isStatic ? [TRY_IT, ...writeFirstRequest({ url, key: clientKey, model: examination.model })] : []),
      ]);
    });
  });
}

const TRY_IT = `The backend checks no key, so the gateway does: clients need this one, which is in ${ENV_FILE} as API_KEYS. Try it:`;

/** Returns the setting with the key of the backend. What is in a file stays there. */
function ofBackend(
  { apiKey }: Target,
  { key = '' }: TargetOptions,
  { env }: CliContext,
): Readonly<Record<string, string>> {
  const file = env['UPSTREAM_API_KEY_FILE'] ?? '';
  if (apiKey === undefined) return {};
  return key === '' && file !== '' ? { UPSTREAM_API_KEY_FILE: file } : { UPSTREAM_API_KEY: apiKey };
}

function refuseWhereThereIs(name: string): void {
  if (existsSync(name)) throw thereIs(name);
}

function thereIs(name: string): CliError {
  return new CliError(`${name} already exists and is never overwritten. \`doctor\` says what to set.`);
}

async function askForBaseUrl({ env, ask }: CliContext): Promise<string> {
  const known = env['UPSTREAM_BASE_URL'] ?? '';
  if (known !== '') return known;
  if (ask === undefined) throw new UsageError("error: without a terminal, option '--base-url <url>' is needed");
  const answer = (await ask('Base URL of the backend, with its /v1: ')).trim();
  if (answer === '') throw new UsageError('error: no base URL was given');
  return answer;
}

function newKey(): string {
  return `sk-${randomBytes(24).toString('hex')}`;
}

/** Returns the files of a report; `clientKey` is for a backend that checks none. `.env` comes last. */
export function toFiles(
  report: Report,
  backendKey: Readonly<Record<string, string>>,
  clientKey: string,
): readonly { readonly name: string; readonly content: string }[] {
  const isStatic = report.settings['AUTH_MODE'] === 'static';
  const settings = Object.entries({
    ...report.settings,
    ...(isStatic && { API_KEYS: clientKey }),
    ...(isStatic && backendKey),
  });
  const { ownDialects } = report;
  const parts = settings.map(([name, value]) => `${toComment(describeSetting(name))}${name}=${toValue(name, value)}\n`);
  return [
    ...(ownDialects === null ? [] : [{ name: 'dialects.json', content: `${JSON.stringify(ownDialects, null, 2)}\n` }]),
    { name: ENV_FILE, content: [toComment(HEAD), ...parts].join('\n') },
  ];
}

const HEAD =
  'The settings of the gateway, from what its backend answered. The guide "Settings" and .env.example have all others.';

function toComment(text: string): string {
  return text.replaceAll(/(.{1,98})(?:\s+|$)/g, '# $1\n');
}

/** The backend chooses the names of its models. */
function toValue(name: string, value: string): string {
  if (/^[\w@%+=:,./-]*$/.test(value)) return value;
  if (/['\p{C}\u2028\u2029]/u.test(value))
    throw new CliError(`${name} cannot be written to ${ENV_FILE}: ${JSON.stringify(value)}.`);
  return `'${value}'`;
}
