import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import settings from '../../schemas/settings.json' with { type: 'json' };

export const ENV_EXAMPLE_PATH = join(import.meta.dirname, '../../.env.example');

const HEAD = `# Made from schemas/settings.json by \`npm run types\`. Copy it to .env, which npm start reads, and take away the # of
# the settings to change. The value after each = is the default. src/docs/settings.md says more of each.
# Put a value that holds a # or begins with a quote in single quotes. NAME_FILE may name a file with the value of NAME, for
# every secret and for DATABASE_URL, ALERT_WEBHOOK_URL and MODEL_ALIASES.
`;

/** What the schema says of a setting. */
export interface Property {
  readonly description: string;
  readonly default?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly string[];
  /** Whether it is a secret. */
  readonly writeOnly?: boolean;
}

/** The text of `.env.example`: every setting with what it is, what it may be and its default, commented out. */
export function generateEnvExample(): string {
  const entries: [string, Property][] = Object.entries(settings.properties);
  return [HEAD, ...entries.map(([name, property]) => describe(name, property))].join('\n');
}

function describe(name: string, property: Property): string {
  const text = `${firstSentenceOf(property.description)} ${choices(property)}`.trim();
  const comment = [...wrap(text, 117), ...examplesOf(property)];
  return [...comment.map((line) => `# ${line}`), `#${name}=${toText(property.default)}`, ''].join('\n');
}

/** The others are in the guide on settings alone. */
function firstSentenceOf(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

function choices({ enum: values, minimum, maximum }: Property): string {
  if (values !== undefined) return `One of ${values.join(', ')}.`;
  return minimum === undefined || maximum === undefined ? '' : `From ${minimum} to ${maximum}.`;
}

function examplesOf({ examples }: Property): string[] {
  return examples === undefined ? [] : [`For example: ${examples.join('   or   ')}`];
}

function toText(value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

if (process.argv[1] === import.meta.filename) writeFileSync(ENV_EXAMPLE_PATH, generateEnvExample());
