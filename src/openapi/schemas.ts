/** Turns schemas of ajv (draft-07) into components of an OpenAPI 3.1 document (2020-12). */

import { readdirSync, readFileSync } from 'node:fs';
import openApi from '../../schemas/openapi.json' with { type: 'json' };
import { isObject, readJson } from '../core/json.ts';
import { mapValues } from '../core/map-values.ts';

export type JsonObject = { readonly [name: string]: unknown };

/** What a field means where its schema does not say it, by its name, or by its component and its name. */
const FIELDS: Readonly<Record<string, string>> = openApi['x-fields'];

const FOLDER = new URL('../../schemas/', import.meta.url);
const FILES: ReadonlyMap<unknown, JsonObject> = new Map(
  readdirSync(FOLDER)
    .map((name) => readJson(readFileSync(new URL(name, FOLDER), 'utf8')))
    .filter(isObject)
    .map((schema) => [schema['$id'], schema]),
);

export interface ComponentSchemas {
  /** Also adds the schema, and all that it refers to, as components. */
  refTo(ref: string): { readonly $ref: string };
  all(): JsonObject;
}

/** Throws if two definitions in `schemas/` have the same name. */
export function createComponentSchemas(): ComponentSchemas {
  const components = new Map<string, { readonly source: JsonObject; schema: JsonObject }>();

  return {
    refTo: (ref) => ({ $ref: toComponent(referenceOf(ref, '')) }),
    all: () =>
      Object.fromEntries(
        [...components]
          .map(([name, { schema }]) => [name, schema] as const)
          .sort(([one], [other]) => (one < other ? -1 : 1)),
      ),
  };

  function toComponent(reference: Reference): string {
    const source = find(reference);
    const name = reference.pointer.split('/').at(-1) || String(source['title']);
    const known = components.get(name);
    if (known === undefined) {
      const component = { source, schema: {} };
      // The content may refer to the component itself.
      components.set(name, component);
      component.schema = rewrite(source, { name, file: reference.file });
    } else if (known.source !== source) {
      throw new Error(`two schemas are called ${name}`);
    }
    return `#/components/schemas/${name}`;
  }

  function rewrite(schema: JsonObject, within: Within): JsonObject {
    const { file } = within;
    const rewritten: Record<string, unknown> = {};
    const inside = (value: unknown): unknown => (isObject(value) ? rewrite(value, within) : value);
    const field = (value: unknown, name: string): unknown =>
      isObject(value) ? { ...describeField({ name, schema: value, within }), ...rewrite(value, within) } : value;
    for (const [keyword, value] of Object.entries(schema)) {
      if (LEFT_OUT.has(keyword)) continue;
      if (keyword === '$ref') rewritten[keyword] = toComponent(referenceOf(String(value), file));
      else if (NAMED_SCHEMAS.has(keyword) && isObject(value)) rewritten[keyword] = mapValues(value, field);
      else if (Array.isArray(value) && LISTED_SCHEMAS.has(keyword)) rewritten[keyword] = value.map(inside);
      else rewritten[keyword] = SINGLE_SCHEMAS.has(keyword) ? inside(value) : value;
    }
    const { discriminator } = schema;
    if (isObject(discriminator)) rewritten['discriminator'] = withMapping(discriminator, schema['oneOf'], file);
    return rewritten;
  }

  /** Without a mapping OpenAPI takes the value of the property for the name of a component. */
  function withMapping(discriminator: JsonObject, branches: unknown, file: string): JsonObject {
    const property = String(discriminator['propertyName']);
    const mapping: Record<string, string> = {};
    for (const branch of Array.isArray(branches) ? branches.filter(isObject) : []) {
      const reference = referenceOf(String(branch['$ref']), file);
      for (const value of valuesOf(find(reference), property)) mapping[value] = toComponent(reference);
    }
    return { propertyName: property, mapping };
  }
}

interface Within {
  readonly name: string;
  readonly file: string;
}

/** Returns the description of a field whose schema, and the one that it refers to, have none. */
function describeField({ name, schema, within }: { name: string; schema: JsonObject; within: Within }): JsonObject {
  const isClear = 'const' in schema || 'description' in schema;
  const ref = schema['$ref'];
  if (isClear || (typeof ref === 'string' && 'description' in find(referenceOf(ref, within.file)))) return {};
  const description = FIELDS[`${within.name}.${name}`] ?? FIELDS[name];
  return description === undefined ? {} : { description };
}

/** `tsType` is for the generated types; the others describe the file. */
const LEFT_OUT = new Set(['$schema', '$id', '$defs', 'tsType']);
const NAMED_SCHEMAS = new Set(['properties', 'patternProperties']);
const LISTED_SCHEMAS = new Set(['allOf', 'anyOf', 'oneOf']);
const SINGLE_SCHEMAS = new Set(['additionalProperties', 'else', 'if', 'items', 'not', 'propertyNames', 'then']);

interface Reference {
  readonly file: string;
  readonly pointer: string;
}

function referenceOf(ref: string, file: string): Reference {
  const [name = '', pointer = ''] = ref.split('#');
  return { file: name === '' ? file : name, pointer };
}

function find({ file, pointer }: Reference): JsonObject {
  const found = locate(FILES.get(file), pointer);
  if (!isObject(found)) throw new Error(`there is no schema ${file}#${pointer}`);
  return found;
}

/** Returns what is at a JSON pointer, such as `#/$defs/Item`. */
export function locate(document: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce((value: unknown, name) => (isObject(value) ? value[name] : undefined), document);
}

function valuesOf({ properties }: JsonObject, property: string): readonly string[] {
  const schema = isObject(properties) ? properties[property] : undefined;
  if (!isObject(schema)) return [];
  return (Array.isArray(schema['enum']) ? schema['enum'] : [schema['const']]).map(String);
}
