import type { ErrorObject, ValidateFunction } from 'ajv';
import createResponseSchema from '../../schemas/create-response.json' with { type: 'json' };
import responseSchema from '../../schemas/response.json' with { type: 'json' };
import { openAjv } from '../contract/ajv.ts';
import { readJson } from '../core/json.ts';
import { lazily } from '../core/lazily.ts';
import { readSmallFile } from './value-file.ts';

const MAX_PROBLEMS = 20;
const MAX_PATH_CHARACTERS = 300;

export interface TableFile<Content> {
  /** Null without a file, and for a file with a mistake. */
  readonly content: Content | null;
  readonly problems: readonly string[];
}

interface TableFileOptions<Table, Content> {
  readonly setting: string;
  readonly path: string | undefined;
  readonly compile: (characters: number) => ValidateFunction<Table>;
  readonly describe?: (mistake: ErrorObject) => string;
  /** Returns mistakes that the schema does not find. */
  readonly check?: (table: Table) => readonly string[];
  readonly create: (table: Table) => Content;
}

/** Reads and checks a JSON file. Does not throw. */
export function readTableFile<Table, Content>(options: TableFileOptions<Table, Content>): TableFile<Content> {
  const { setting, path, compile, describe = describeMistake, check = () => [], create } = options;
  if (path === undefined) return { content: null, problems: [] };
  const { text, problem } = readSmallFile(path);
  if (problem !== undefined) return refuse(setting, [problem]);
  const value = readJson(text);
  if (value === undefined) return refuse(setting, ['is not valid JSON']);
  const isTable = compile(text.length);
  if (!isTable(value)) return refuse(setting, [...new Set(isTable.errors?.map(describe))]);
  const mistakes = check(value);
  return mistakes.length === 0 ? { content: create(value), problems: [] } : refuse(setting, mistakes);
}

const MAX_CHARACTERS_OF_ALL_MISTAKES = 65_536;

/**
 * Returns what compiles the validator of a file with so many characters: one that finds every mistake, and for a large file one
 * that ends with the first. Ajv copies all mistakes with each further one, which for 100,000 would take minutes. Compiling
 * takes as long as the rest of a start.
 */
export function compileBySize<Table>(schema: object): (characters: number) => ValidateFunction<Table> {
  const compile = (allErrors: boolean) => lazily(() => openAjv({ ...OPTIONS, allErrors }).compile<Table>(schema));
  const [findAll, findFirst] = [compile(true), compile(false)];
  return (characters) => (characters > MAX_CHARACTERS_OF_ALL_MISTAKES ? findFirst() : findAll());
}

/** Models and kinds of backends may set what a request may set. */
const OPTIONS = { allowUnionTypes: true, discriminator: true, schemas: [createResponseSchema, responseSchema] };

function refuse(setting: string, lines: readonly string[]): TableFile<never> {
  const shown = lines.slice(0, MAX_PROBLEMS);
  if (shown.length < lines.length) shown.push(`has ${lines.length - shown.length} more mistakes`);
  return { content: null, problems: shown.map((line) => `${setting}: ${line}`) };
}

function describeMistake({ instancePath, keyword, params, parentSchema, propertyName, data }: ErrorObject): string {
  const path = toPath(instancePath);
  if (keyword === 'propertyNames' || propertyName !== undefined) {
    return path === 'models'
      ? 'models must have names of 1 to 256 characters, none of them a control character'
      : `${path} must have names of parameters`;
  }
  switch (keyword) {
    case 'required':
      return `${path} must have ${String(params['missingProperty'])}`;
    case 'additionalProperties':
      return `${path} must not have ${JSON.stringify(params['additionalProperty']).slice(0, MAX_PATH_CHARACTERS)}`;
    case 'type':
      if (typeof data === 'number' && params['type'] === 'string')
        return `${path} must be in quotes, as in "2.50", since a JSON number is a float`;
      return `${path} must be ${String(params['type'])}`;
    case 'enum':
      return `${path} must be one of ${[params['allowedValues']].flat().join(', ')}`;
    case 'minimum':
    case 'maximum':
      return `${path} must be ${String(params['comparison'])} ${String(params['limit'])}`;
    default:
      return `${path} is not valid. ${String(parentSchema?.['description'] ?? '')}`.trim();
  }
}

function toPath(instancePath: string): string {
  const parts = instancePath.split('/').slice(1);
  return pathOf(...parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/** Writes `models["gpt-4.1"].input`, since names of models have points and slashes. */
export function pathOf(...[top, model, ...rest]: readonly string[]): string {
  if (top === undefined) return 'the file';
  if (model === undefined) return top;
  return [`${top}[${JSON.stringify(model).slice(0, MAX_PATH_CHARACTERS)}]`, ...rest].join('.');
}
