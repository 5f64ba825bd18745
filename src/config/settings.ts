import { readFileSync, statSync } from 'node:fs';
import schema from '../../schemas/settings.json' with { type: 'json' };
import type { Settings } from '../contract/types.ts';
import { isSettings } from '../contract/settings-validator.generated.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Problem {
  readonly names: readonly string[];
  readonly line: string;
}

interface PropertySchema {
  readonly description: string;
  readonly type?: string;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly examples?: readonly string[];
  readonly writeOnly?: boolean;
}

const PROPERTIES: ReadonlyMap<string, PropertySchema> = new Map(Object.entries(schema.properties));
const MAX_KEYS_FILE_BYTES = 1_048_576;

/** Reads the settings and finds all mistakes; a wrong one counts as absent. Does not throw. */
export function readSettings(env: Environment): { readonly settings: Settings; readonly problems: readonly Problem[] } {
  const texts = presentTexts(env);
  const problems = addKeysFromFile(texts);
  const values = parseAll(texts);
  if (isSettings(values)) return { settings: values, problems };

  for (const name of new Set(isSettings.errors?.map((error) => error.instancePath.split('/')[1] ?? ''))) {
    problems.push({ names: [name], line: `${name}: ${requirement(name)}${showValue(name, texts.get(name))}` });
    texts.delete(name);
  }
  const rest = parseAll(texts);
  if (!isSettings(rest)) throw new TypeError('schemas/settings.json refuses its own defaults');
  return { settings: rest, problems };
}

/** Returns what a setting means; empty for a name that is none. */
export function describeSetting(name: string): string {
  return PROPERTIES.get(name)?.description ?? '';
}

/** Returns a line for each variable that looks like a misspelt setting. */
export function findMisspelt(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => !PROPERTIES.has(name) && name.length <= 64)
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
  readonly origin: 'set' | 'default' | 'absent';
  readonly isHidden: boolean;
}

/** Returns every setting without secrets and without URLs that may hold one. */
export function showSettings(env: Environment): readonly ShownSetting[] {
  const texts = presentTexts(env);
  return [...PROPERTIES].map(([name, property]) => {
    const text = texts.get(name);
    if (text !== undefined) {
      const isHidden = !mayShow(name, text);
      return { name, value: isHidden ? null : text, origin: 'set', isHidden };
    }
    const value = toDefaultText(property.default);
    return { name, value, origin: value === null ? 'absent' : 'default', isHidden: false };
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

function addKeysFromFile(texts: Map<string, string>): Problem[] {
  const path = texts.get('API_KEYS_FILE');
  if (path === undefined) return [];
  const refuse = (why: string): Problem[] => [{ names: ['API_KEYS_FILE', 'API_KEYS'], line: `API_KEYS_FILE: ${why}` }];
  try {
    if (statSync(path).size > MAX_KEYS_FILE_BYTES) return refuse(`is larger than ${MAX_KEYS_FILE_BYTES} bytes`);
    const lines = readFileSync(path, 'utf8').split('\n');
    const keys = lines.filter((line) => !line.trimStart().startsWith('#')).join(' ');
    texts.set('API_KEYS', `${texts.get('API_KEYS') ?? ''} ${keys}`);
    return [];
  } catch {
    return refuse('cannot be read');
  }
}

function parseAll(texts: ReadonlyMap<string, string>): unknown {
  return Object.fromEntries([...texts].map(([name, text]) => [name, parse(text, PROPERTIES.get(name)?.type)]));
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
