import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv';

const SCHEMAS = join(import.meta.dirname, '../../schemas');

/** The gateway's own schemas, in ajv's strict mode. `name` is that of a file in `schemas/`. */
export function compileSchema(name: string): ValidateFunction {
  const ajv = new Ajv({ strict: true, discriminator: true, allowUnionTypes: true, keywords: ['tsType'] });
  for (const file of readdirSync(SCHEMAS)) ajv.addSchema(readSchema(file));
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
