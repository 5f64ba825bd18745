import type { Config } from '../config/config.ts';
import {
  findDifferences,
  type Differences,
  type DialectChoice,
  type FoundDifferences,
} from '../doctor/dialect-choice.ts';
import type { Paint, Style } from './printer.ts';
import { toGatewayUrl, writeSnippets, type Snippet } from './snippets.ts';
import { formatTable, type Column } from './table.ts';
import { toVisible } from '../core/visible.ts';
import { describeClients, judgeClients, meaningAt, type ClientFit } from '../doctor/clients.ts';
import type { Examination, Finding } from '../doctor/examine.ts';

export interface Examined {
  readonly config: Config;
  readonly baseUrl: string;
  readonly isDemo: boolean;
  readonly name: string | null;
}

export interface Report extends Examined {
  readonly examination: Examination;
  readonly fits: readonly ClientFit[];
  /** Of the dialect that is set. */
  readonly differences: FoundDifferences;
  readonly settings: Readonly<Record<string, string>>;
  readonly ownDialects: object | null;
  readonly snippets: readonly Snippet[];
}

const OWN_NAME = 'my-backend';

export function toReport(examined: Examined, examination: Examination): Report {
  const { config, baseUrl, isDemo, name } = examined;
  const { choice, model, seen } = examination;
  const ownDialects = isDemo ? null : toOwnDialects(choice);
  return {
    config,
    baseUrl,
    isDemo,
    name,
    examination,
    fits: judgeClients(examination.findings),
    differences: findDifferences(config.dialect, seen),
    ownDialects,
    settings: {
      ...(!isDemo && name === null && { UPSTREAM_BASE_URL: baseUrl }),
      ...(name === null && { UPSTREAM_DIALECT: ownDialects === null ? choice.dialect : OWN_NAME }),
      ...(ownDialects !== null && { DIALECTS_FILE: './dialects.json' }),
      DEFAULT_MODEL_ID: model,
      AUTH_MODE: needsOwnKeys(examined, examination) ? 'static' : config.authMode,
    },
    snippets: writeSnippets(`${toGatewayUrl(config)}/api/v1`, model),
  };
}

function toOwnDialects({ dialect, differences }: DialectChoice): object | null {
  return Object.keys(differences).length === 0 ? null : { [OWN_NAME]: { extends: dialect, ...differences } };
}

/** A backend that accepts any key tells no callers apart, so the gateway has to. */
function needsOwnKeys({ config, isDemo }: Examined, { checksKeys }: Examination): boolean {
  return !isDemo && checksKeys === 'no' && config.authMode === 'passthrough';
}

export function toJson({ config, baseUrl, isDemo, name, examination, ...report }: Report): object {
  const { model, findings, isFine, choice, oddities } = examination;
  return {
    object: 'examination',
    backend: name,
    base_url: isDemo ? null : baseUrl,
    model,
    ok: isFine,
    verdict: describeClients(report.fits),
    works_with: report.fits,
    findings: findings.map((finding) => ({
      ...finding,
      ...(finding.result === 'no' && { means: meaningOf(finding, examination, isDemo) }),
    })),
    oddities: oddities.map(({ name, reading, dialects }) => ({ name, reading, known_of: Object.keys(dialects) })),
    dialect: {
      set: config.upstreamDialect,
      suggested: choice.dialect,
      reason: choice.reason,
      equivalents: choice.equivalents,
      mismatch: report.differences.needed,
      better: report.differences.better,
    },
    settings: report.settings,
    dialects_file: report.ownDialects,
    clients: Object.fromEntries(report.snippets.map(({ id, text }) => [id, text])),
  };
}

export function formatReport(report: Report, paint: Paint): string[] {
  const { baseUrl, isDemo, name, examination, fits, settings, ownDialects, snippets } = report;
  const refused = examination.findings.filter(({ result }) => result === 'no');
  const title = (text: string): string[] => ['', paint('bold', text)];
  return [
    paint(examination.isFine ? 'green' : 'red', describeClients(fits)),
    '',
    isDemo
      ? 'The embedded demo backend, because UPSTREAM_BASE_URL is not set:'
      : toVisible(name === null ? `${baseUrl}:` : `${name}, ${baseUrl}:`),
    '',
    ...formatTable(COLUMNS, examination.findings, paint),
    ...(refused.length === 0 ? [] : title('What each “no” means')),
    ...refused.map((finding) => `${finding.name}: ${meaningOf(finding, examination, isDemo)}`),
    ...(examination.oddities.length === 0 ? [] : title('What is odd in its answers, and what the gateway makes of it')),
    ...examination.oddities.map(({ name, reading }) => `${name}: ${reading}`),
    ...title('Dialect'),
    ...describeDialect(report, paint),
    ...title('Settings'),
    ...Object.entries(settings).map(([name, value]) => toVisible(`${name}=${toWord(value)}`)),
    ...(needsOwnKeys(report, examination)
      ? [
          'The backend takes any key. With AUTH_MODE=static, the gateway accepts only the keys in API_KEYS, which you choose.',
        ]
      : []),
    ...(ownDialects === null ? [] : [...title('dialects.json'), JSON.stringify(ownDialects, null, 2)]),
    ...snippets.flatMap((snippet) => [...title(snippet.title), snippet.text]),
  ];
}

function meaningOf({ name }: Finding, { choice }: Examination, isDemo: boolean): string {
  if (isDemo && name === 'keys') return 'The demo backend takes any key; no model runs behind it.';
  return meaningAt(name, choice.dialect);
}

/** The backend chooses the names of its models, and people paste them into shells and .env. */
function toWord(value: string): string {
  return /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

function describeDialect(report: Report, paint: Paint): string[] {
  const { config, name, isDemo, examination, differences } = report;
  const { choice } = examination;
  const owner = name === null ? 'UPSTREAM_DIALECT' : `The dialect of ${name}`;
  const needed = listDifferences(differences.needed);
  const better = isDemo ? '' : listDifferences(differences.better);
  return [
    `${paint('cyan', choice.dialect)}. ${choice.reason}`,
    ...(choice.equivalents.length > 0 ? [`The same holds for ${choice.equivalents.join(', ')}.`] : []),
    ...(needed === '' ? [] : [paint('red', `${owner} is ${config.upstreamDialect}, which does not fit: ${needed}.`)]),
    ...(better === ''
      ? []
      : [`${owner} is ${config.upstreamDialect}, and the backend supports more than that: ${better}.`]),
  ];
}

function listDifferences(differences: Differences): string {
  return Object.entries(differences)
    .map(([name, value]) => `${name} should be ${JSON.stringify(value)}`)
    .join(', ');
}

const WORDS: Readonly<Record<Finding['result'], string>> = { yes: 'yes', no: 'no', unclear: 'not clear' };
const STYLES: Readonly<Record<Finding['result'], Style>> = { yes: 'green', no: 'red', unclear: 'yellow' };
const MAX_REASON_CHARACTERS = 100;

const COLUMNS: readonly Column<Finding>[] = [
  { title: 'QUESTION', of: ({ name }) => name },
  { title: 'ANSWER', of: ({ result }) => WORDS[result], style: ({ result }) => STYLES[result] },
  { title: 'WHY', of: ({ reason }) => shortened(reason) },
];

function shortened(text: string): string {
  return text.length <= MAX_REASON_CHARACTERS ? text : `${text.slice(0, MAX_REASON_CHARACTERS - 1).toWellFormed()}…`;
}
