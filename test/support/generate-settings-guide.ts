import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import settings from '../../schemas/settings.json' with { type: 'json' };
import type { Property } from './generate-env-example.ts';

export const SETTINGS_GUIDE_PATH = join(import.meta.dirname, '../../src/docs/settings.md');

const HEAD = `# Settings

Every setting of the gateway, with its default and its meaning.

<!-- Made from schemas/settings.json by \`npm run types\`. Not to be edited. -->

Set them in the environment or in a \`.env\` file in the folder where the gateway starts; the environment wins. A wrong value stops
the start with one line for each. A misspelt name gets a warning and is ignored. \`./gateway config\` shows every value and
where it comes from, and hides secrets. [\`.env.example\`](../../.env.example) has the same settings to copy.

\`NAME_FILE\` names a file with the value of \`NAME\`, for every secret and for \`DATABASE_URL\`, \`ALERT_WEBHOOK_URL\` and
\`MODEL_ALIASES\`: \`GATEWAY_SECRET_FILE=/run/secrets/gateway-secret\`.

The end of a name is the unit: \`_MS\` is milliseconds, \`_S\` seconds, \`_DAYS\` days, \`_BYTES\` bytes, \`_TOKENS\` tokens.
`;

/** The title of each group, and the setting that it begins with, in the order of the schema. */
const GROUPS = [
  ['Address', 'HOST'],
  ['Backend', 'UPSTREAM_BASE_URL'],
  ['Callers', 'AUTH_MODE'],
  ['Records and processes', 'DATABASE_URL'],
  ['Translation', 'HOSTED_TOOLS'],
  ['Limits', 'MAX_BODY_BYTES'],
  ['Timeouts', 'CONNECT_TIMEOUT_MS'],
  ['Logs, metrics and alerts', 'LOG_LEVEL'],
] as const satisfies readonly (readonly [string, keyof typeof settings.properties])[];

/** The text of the guide: a table for each group of settings. */
export function generateSettingsGuide(): string {
  const entries: [string, Property][] = Object.entries(settings.properties);
  const starts = GROUPS.map(([, first]) => entries.findIndex(([name]) => name === first));
  const groups = GROUPS.map(([title], at) => describeGroup(title, entries.slice(starts[at], starts[at + 1])));
  return [HEAD, ...groups].join('\n');
}

function describeGroup(title: string, entries: readonly [string, Property][]): string {
  const rows = entries.map(
    ([name, property]) => `| \`${name}\` | ${describeDefault(name, property)} | ${describe(property)} |`,
  );
  return [`## ${title}`, '', '| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

function describeDefault(name: string, { default: value }: Property): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
  const text = `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
  const readable = typeof value === 'number' ? toReadable(name, value) : undefined;
  return readable === undefined ? text : `${text} (${readable})`;
}

/** In a larger unit than the one that the end of the name says. */
function toReadable(name: string, value: number): string | undefined {
  if (value === 0) return undefined;
  if (/_BYTES(_|$)/.test(name)) return `${value / 2 ** 20} MiB`;
  if (!name.endsWith('_MS')) return undefined;
  return value < 60_000 ? `${value / 1000} s` : `${value / 60_000} min`;
}

function describe({ description, enum: values, minimum, maximum, examples, writeOnly }: Property): string {
  const range = minimum === undefined || maximum === undefined ? '' : `From ${group(minimum)} to ${group(maximum)}.`;
  const sentences = [
    markSettings(description),
    values === undefined ? range : `One of ${values.map(String).map(toCode).join(', ')}.`,
    writeOnly === true ? 'A secret.' : '',
    examples === undefined ? '' : `For example ${examples.map(toCode).join(' or ')}.`,
  ];
  return sentences.filter(Boolean).join(' ').replaceAll('|', '\\|');
}

/** The names of other settings, and their values, as code. */
function markSettings(text: string): string {
  return text.replaceAll(/\b[A-Z]+(?:_[A-Z]+)+(?:=\w+)?/g, toCode);
}

function toCode(text: string): string {
  return `\`${text}\``;
}

function group(value: number): string {
  return value.toLocaleString('en');
}

if (process.argv[1] === import.meta.filename) writeFileSync(SETTINGS_GUIDE_PATH, generateSettingsGuide());
