import type { ErrorObject } from 'ajv';
import schema from '../../schemas/dialects.json' with { type: 'json' };
import { DIALECTS, isDialectName, toDialect, type Dialect } from '../core/dialects.ts';
import { compileBySize, readTableFile, type TableFile } from './table-file.ts';
import type { OwnDialects } from '../contract/settings-types.ts';

export type DialectsFile = TableFile<ReadonlyMap<string, Dialect>>;

/** Reads and checks the operator's own dialects. Does not throw. */
export function readDialectsFile(path: string | undefined): DialectsFile {
  return readTableFile({
    setting: 'DIALECTS_FILE',
    path,
    compile: compileOwnDialects,
    describe,
    check: (own) =>
      Object.keys(own)
        .filter(isDialectName)
        .map((name) => `${name} is the name of a built-in kind of backend`),
    create: (own) => new Map(Object.entries(own).map(([name, each]) => [name, toDialect(each)])),
  });
}

/** Returns the operator's own kind of backend, or the built-in one, with this name. */
export function findDialect(name: string, { content }: DialectsFile): Dialect | undefined {
  return content?.get(name) ?? (isDialectName(name) ? DIALECTS[name] : undefined);
}

/** Returns what a name must be that no kind of backend has. */
export function unknownDialect({ content }: DialectsFile): string {
  return `must be one of ${[...Object.keys(DIALECTS), ...(content?.keys() ?? [])].join(', ')}`;
}

const compileOwnDialects = compileBySize<OwnDialects>(schema);

function describe({ instancePath, keyword, params, parentSchema, propertyName }: ErrorObject): string {
  const path = instancePath.slice(1).replaceAll('/', '.');
  switch (keyword) {
    case 'required':
      return `${path} must say which built-in kind of backend it extends`;
    case 'additionalProperties':
      return `${path}.${String(params['additionalProperty'])} is not a property of a kind of backend`;
    case 'enum':
      return `${path} must be one of ${[params['allowedValues']].flat().join(', ')}`;
    case 'type':
      return `${path === '' ? 'the file' : path} must be ${[params['type']].flat().join(' or ')}`;
    case 'pattern':
    case 'propertyNames':
      return `${propertyName ?? String(params['propertyName'])} must be a name of lower-case letters, digits and hyphens`;
    default:
      return `${path === '' ? 'the file' : path} is not valid. ${String(parentSchema?.['description'] ?? '')}`.trim();
  }
}
