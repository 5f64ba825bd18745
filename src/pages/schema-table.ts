import { isObject } from '../core/json.ts';
import { html, prose, type Html } from './html.ts';
import type { JsonObject } from '../openapi/schemas.ts';
import { table } from './page.ts';

/** Renders the description, and a line for each property, nested ones included. */
export function showSchema(schema: JsonObject): Html {
  const { description } = schema;
  const rows = rowsOf(schema, '');
  return html`${typeof description === 'string' ? prose(description) : undefined}
  ${rows.length === 0 || schema['allOf'] !== undefined ? html`<p>${typeOf(schema)}</p>` : undefined}
  ${rows.length === 0 ? undefined : table({ columns: ['Property', 'Type', 'Meaning'], rows })}`;
}

/** Returns the type in a few words, with links to the components: `"low" or "high"`. */
export function typeOf(schema: unknown): Html {
  if (!isObject(schema)) return html`anything`;
  const { $ref: ref, const: constant, enum: values, anyOf, oneOf, allOf, type, items } = schema;
  if (typeof ref === 'string') return toLink(ref);
  if (constant !== undefined) return toCode(constant);
  if (Array.isArray(values)) return join(values.map(toCode), 'or');
  if (Array.isArray(anyOf ?? oneOf)) return join(list(anyOf ?? oneOf).map(typeOf), 'or');
  if (Array.isArray(allOf)) return join(list(allOf).map(typeOf), 'and');
  const types = list(type).map((name) =>
    name === 'array' && items !== undefined ? arrayOf(items) : html`${String(name)}`,
  );
  return types.length === 0 ? html`anything` : join(types, 'or');
}

function rowsOf(schema: JsonObject, path: string): readonly Html[] {
  const required = new Set(list(schema['required']));
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const own = properties.flatMap(([name, property]) => {
    if (!isObject(property)) return [];
    const row = html`<tr>
      <th scope="row">
        <code>${path + name}</code>${required.has(name) ? html` <span class="muted">required</span>` : undefined}
      </th>
      <td>${typeOf(property)}</td>
      <td>${meaningOf(property)}</td>
    </tr>`;
    return [row, ...rowsOf(property, `${path}${name}.`)];
  });
  const parts = [...list(schema['allOf']), ...list(schema['anyOf'])].filter(isObject);
  return [...own, ...parts.flatMap((part) => rowsOf(part, path))];
}

function meaningOf(property: JsonObject): Html {
  const { description } = property;
  const limits = LIMITS.flatMap(([keyword, name]) => {
    const value = property[keyword];
    return value === undefined ? [] : [`${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`];
  });
  return html`${typeof description === 'string' ? prose(description) : undefined}
  ${limits.length === 0 ? undefined : html`<p class="muted small">${limits.join(', ')}</p>`}`;
}

const LIMITS = [
  ['default', 'default'],
  ['minimum', 'at least'],
  ['maximum', 'at most'],
  ['minLength', 'least length'],
  ['maxLength', 'greatest length'],
  ['minItems', 'least items'],
  ['maxItems', 'most items'],
  ['pattern', 'pattern'],
] as const;

function arrayOf(items: unknown): Html {
  return html`array of ${typeOf(items)}`;
}

function toLink(ref: string): Html {
  const name = ref.split('/').at(-1) ?? '';
  return html`<a href="#schema-${name}">${name}</a>`;
}

function toCode(value: unknown): Html {
  return html`<code>${JSON.stringify(value)}</code>`;
}

function join(parts: readonly Html[], word: 'or' | 'and'): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html` ${word} ${part}`))}`;
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
