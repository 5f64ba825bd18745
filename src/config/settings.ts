import schema from '../../schemas/settings.json' with { type: 'json' };
import type { Settings } from '../contract/settings-types.ts';
import { isSettings } from '../contract/validators.generated.js';
import { isGone } from './gone-settings.ts';
import { linesOf, readSmallFile } from './value-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Problem {
  readonly names: readonly string[];
  readonly line: string;
}

interface PropertySchema {
  readonly description: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly examples?: readonly string[];
  readonly writeOnly?: boolean;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
}

const PROPERTIES: ReadonlyMap<string, PropertySchema> = new Map(Object.entries(schema.properties));

/** What may be in a file that `NAME_FILE` names: every secret, and what is long or may hold one. */
const BY_FILE: ReadonlyMap<string, string> = new Map(
  [...PROPERTIES]
    .filter(
      ([name, { writeOnly, type }]) =>
        writeOnly === true || type === 'object' || ['DATABASE_URL', 'ALERT_WEBHOOK_URL'].includes(name),
    )
    .map(([name]) => [name, `${name}_FILE`]),
);
const FILE_NAMES: ReadonlySet<string> = new Set(BY_FILE.values());

/** Reads the settings and finds all mistakes; a wrong one counts as absent. Does not throw. */
export function readSettings(env: Environment): { readonly settings: Settings; readonly problems: readonly Problem[] } {
  const texts = presentTexts(env);
  const problems = addFromFiles(texts, env);
  const values: Record<string, unknown> = {};
  const set = (name: string, value: unknown): void => {
    if (value === undefined) delete values[name];
    else values[name] = value;
  };
  for (const [name, { type, default: standard }] of PROPERTIES) {
    const text = texts.get(name);
    set(name, text === undefined ? standard : parse(text, type));
  }
  // The validator stops at the first mistake.
  while (!isSettings(values)) {
    const name = isSettings.errors?.[0]?.instancePath.split('/')[1] ?? '';
    if (!texts.has(name)) throw new TypeError('schemas/settings.json requires what has no default');
    problems.push({ names: [name], line: `${name}: ${requirement(name)}${showValue(name, texts.get(name))}` });
    texts.delete(name);
    set(name, PROPERTIES.get(name)?.default);
  }
  return { settings: values, problems };
}

/** Returns the file that holds the value of a setting; undefined where none does. */
export function fileOf(env: Environment, name: string): string | undefined {
  const path = env[`${name}_FILE`]?.trim() ?? '';
  return path === '' ? undefined : path;
}

/** Returns the variables of these settings, each with the one that names a file in its place. */
export function pickSettings(env: Environment, names: readonly (keyof Settings)[]): Environment {
  return Object.fromEntries(names.flatMap((name) => [name, `${name}_FILE`]).map((name) => [name, env[name]]));
}

/** Returns the environment with values in the place of those that it has, also of those in files. */
export function withSettings(env: Environment, values: Partial<Record<keyof Settings, string>>): Environment {
  const files = Object.keys(values).map((name) => [`${name}_FILE`, ''] as const);
  return { ...env, ...Object.fromEntries(files), ...values };
}

/** Returns what a setting means; empty for a name that is none. */
export function describeSetting(name: string): string {
  return PROPERTIES.get(name)?.description ?? '';
}

export function findMisspelt(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => !PROPERTIES.has(name) && !FILE_NAMES.has(name) && !isGone(name) && name.length <= 64)
    .flatMap((name) => {
      const nearest = nearestSetting(name);
      return nearest === undefined ? [] : [`${name}: is not a setting; did you mean ${nearest}?`];
    });
}

/** Returns the value as an addition to a message; empty where it may hold a secret. */
export function showValue(name: string, text: string | undefined): string {
  if (text === undefined || !mayShow(name, text)) return '';
  return ` (it is ${JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)})`;
}

function mayShow(name: string, text: string): boolean {
  return PROPERTIES.get(name)?.writeOnly !== true && !/[@?]/.test(text);
}

export interface ShownSetting {
  readonly name: string;
  /** Null when it must not be shown, or without a value and a default. */
  readonly value: string | null;
  readonly source: string;
  readonly hidden: boolean;
}

/** Returns every setting without secrets and without URLs that may hold one. `fileNames` came from `.env`. */
export function showSettings(env: Environment, fileNames: ReadonlySet<string>): readonly ShownSetting[] {
  const set = presentTexts(env);
  const texts = new Map(set);
  addFromFiles(texts, env);
  return [...PROPERTIES].map(([name, property]) => {
    const text = texts.get(name);
    if (text === undefined) {
      const value = toDefaultText(property.default);
      return { name, value, source: value === null ? 'not set' : 'default', hidden: false };
    }
    const hidden = !mayShow(name, text);
    const variable = fileNames.has(name) ? '.env' : 'environment';
    return { name, value: hidden ? null : text, source: set.has(name) ? variable : `${name}_FILE`, hidden };
  });
}

function toDefaultText(value: unknown): string | null {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Many tools write absence as an empty variable. */
function presentTexts(env: Environment): Map<string, string> {
  const texts = new Map<string, string>();
  for (const name of PROPERTIES.keys()) {
    const text = env[name]?.trim() ?? '';
    if (text !== '') texts.set(name, text);
  }
  return texts;
}

/** Takes what the files say, beside what the environment says of a list and in its place otherwise. */
function addFromFiles(texts: Map<string, string>, env: Environment): Problem[] {
  return [...BY_FILE].flatMap(([name, fileName]) => {
    const path = fileOf(env, name);
    if (path === undefined) return [];
    const refuse = (why: string): Problem[] => [{ names: [name], line: `${fileName}: ${why}` }];
    const isList = PROPERTIES.get(name)?.type === 'array';
    const present = texts.get(name);
    if (present !== undefined && !isList) return refuse(`must not be set beside ${name}`);
    const { text, problem } = readSmallFile(path);
    if (problem !== undefined) return refuse(problem);
    const lines = linesOf(text);
    const read = isList ? `${present ?? ''} ${lines.join(' ')}` : lines.join('\n').trim();
    if (read === '') return refuse('is empty');
    texts.set(name, read);
    return [];
  });
}

function parse(text: string, type: string | undefined): unknown {
  switch (type) {
    case 'integer':
      return /^-?\d+$/.test(text) ? Number(text) : text;
    case 'array':
      return text.split(/[\s,]+/).filter((part) => part !== '');
    case 'object':
      return parseJson(text);
    default:
      return text;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const VISIBLE = 'visible ASCII characters without white space';

function requirement(name: string): string {
  const property: Partial<PropertySchema> = PROPERTIES.get(name) ?? {};
  const examples = property.examples?.join(' or ') ?? '';
  if (property.enum !== undefined) return `must be one of ${property.enum.join(', ')}`;
  if (property.type === 'integer') return `must be a whole number from ${property.minimum} to ${property.maximum}`;
  if (property.type === 'object') return `must be a JSON object of texts that are not empty, such as ${examples}`;
  if (property.type === 'array' && examples !== '') return `must be a list such as ${examples}`;
  const least = property.minLength ?? 0;
  if (least > 1 && property.pattern === undefined) return `must have at least ${least} characters`;
  if (least > 1) return `must have at least ${least} ${VISIBLE}`;
  return examples === '' ? `must be ${VISIBLE}` : `must look like ${examples}`;
}

function nearestSetting(name: string): string | undefined {
  const squashed = squash(name);
  let nearest: string | undefined;
  // A short name is close to many others, such as HOME to HOST.
  let least = name.startsWith('UPSTREAM_') ? Infinity : Math.floor(squashed.length / 5) + 1;
  for (const setting of PROPERTIES.keys()) {
    const squashedSetting = squash(setting);
    // The lengths show that most are further away.
    if (Math.abs(squashedSetting.length - squashed.length) >= least) continue;
    const distance = editDistance(squashed, squashedSetting);
    if (distance < least) [least, nearest] = [distance, setting];
  }
  return nearest;
}

function squash(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
