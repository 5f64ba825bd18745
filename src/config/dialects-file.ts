import type { ErrorObject } from 'ajv';
import createResponseSchema from '../../schemas/create-response.json' with { type: 'json' };
import schema from '../../schemas/dialects.json' with { type: 'json' };
import responseSchema from '../../schemas/response.json' with { type: 'json' };
import { DIALECTS, isDialectName, toDialect, type Dialect } from '../core/dialects.ts';
import { compileBySize, readJsonFile } from './json-file.ts';
import { openAjv } from '../contract/ajv.ts';
import type { OwnDialects } from '../contract/types.ts';

export interface DialectsFile {
  readonly dialects: ReadonlyMap<string, Dialect>;
  readonly problems: readonly string[];
}

/** Reads and checks the operator's own dialects. Without a file there are none. Does not throw. */
export function readDialectsFile(path: string | undefined): DialectsFile {
  if (path === undefined) return { dialects: new Map(), problems: [] };
  const refuse = (...lines: string[]): DialectsFile => ({
    dialects: new Map(),
    problems: lines.map((line) => `DIALECTS_FILE: ${line}`),
  });
  const { value, characters, problem } = readJsonFile(path);
  if (problem !== undefined) return refuse(problem);
  const isOwnDialects = compileOwnDialects(characters);
  if (!isOwnDialects(value)) return refuse(...new Set(isOwnDialects.errors?.map(describe)));
  const builtIn = Object.keys(value).filter(isDialectName);
  if (builtIn.length > 0) return refuse(...builtIn.map((name) => `${name} is the name of a built-in kind of backend`));
  return { dialects: new Map(Object.entries(value).map(([name, own]) => [name, toDialect(own)])), problems: [] };
}

/** Returns the operator's own kind of backend, or the built-in one, with this name. */
export function findDialect(name: string, { dialects }: DialectsFile): Dialect | undefined {
  return dialects.get(name) ?? (isDialectName(name) ? DIALECTS[name] : undefined);
}

/** Returns what a name must be that no kind of backend has. */
export function unknownDialect({ dialects }: DialectsFile): string {
  return `must be one of ${[...Object.keys(DIALECTS), ...dialects.keys()].join(', ')}`;
}

/** Compiling takes as long as the rest of a start. */
const compileOwnDialects = compileBySize((allErrors) =>
  openAjv({
    allErrors,
    allowUnionTypes: true,
    discriminator: true,
    schemas: [createResponseSchema, responseSchema],
  }).compile<OwnDialects>(schema),
);

function describe({ instancePath, keyword, params, parentSchema, propertyName }: ErrorObject): string {
  const place = instancePath.slice(1).replaceAll('/', '.');
  switch (keyword) {
    case 'required':
      return `${place} must say which built-in kind of backend it extends`;
    case 'additionalProperties':
      return `${place}.${String(params['additionalProperty'])} is not a property of a kind of backend`;
    case 'enum':
      return `${place} must be one of ${[params['allowedValues']].flat().join(', ')}`;
    case 'type':
      return `${place === '' ? 'the file' : place} must be ${[params['type']].flat().join(' or ')}`;
    case 'pattern':
    case 'propertyNames':
      return `${propertyName ?? String(params['propertyName'])} must be a name of lower-case letters, digits and hyphens`;
    default:
      return `${place === '' ? 'the file' : place} is not valid. ${String(parentSchema?.['description'] ?? '')}`.trim();
  }
}
