import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
/** What the request gave is shown as it was, whatever is in it. */
const OPEN = new Set(['ClientToolEcho']);

/**
 * The gateway's own schemas, in ajv's strict mode. `name` is that of a file in `schemas/`. With `closed`, no object may have a
 * property that its schema does not name.
 */
export function compileSchema(name: string, { closed = false }: { readonly closed?: boolean } = {}): ValidateFunction {
  const ajv = new Ajv({ strict: true, discriminator: true, allowUnionTypes: true, keywords: ['tsType'] });
  for (const file of readdirSync(SCHEMAS)) ajv.addSchema(closed ? close(readSchema(file)) : readSchema(file));
  const validate = ajv.getSchema(name);
  if (validate === undefined) throw new Error(`there is no schema ${name}`);
  return validate;
}

/** The properties that the schema of this name has at its top. */
export function propertiesOf(name: string): readonly string[] {
  return Object.keys(readSchema(name)['properties'] as object);
}

function readSchema(name: string): AnySchemaObject {
  return JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as AnySchemaObject;
}

function close(schema: AnySchemaObject): AnySchemaObject {
  const closed: AnySchemaObject = {};
  for (const [name, value] of Object.entries(schema))
    closed[name] = isObject(value) && !OPEN.has(name) ? close(value) : value;
  const known = isObject(schema['properties']) && schema['type'] === 'object';
  return known && !('additionalProperties' in schema) ? { ...closed, additionalProperties: false } : closed;
}

function isObject(value: unknown): value is AnySchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
