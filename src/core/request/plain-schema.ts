import { isList, isObject, listOf } from '../json.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Of one tool. Definitions can name each other again and again. */
const MAX_SCHEMAS = 1000;
const MAX_DEPTH = 16;

/**
 * Returns the schema of a tool in the few keywords that every service knows. The first of several
 * alternatives stands for all of them, because some services refuse a type beside them, and others
 * want one. What has no type is a string.
 */
export function toPlainSchema(root: Schema): Schema {
  let left = MAX_SCHEMAS;
  return toPlain({ properties: {}, ...root, type: 'object' }, 0);

  function toPlain(given: unknown, depth: number): Schema {
    const whole = toWhole(given, depth);
    const { description, enum: values, properties, required, items } = whole;
    const type = typeOf(whole);
    const plain = { type, ...(typeof description === 'string' && { description }) };
    if (type === 'array') return { ...plain, items: toPlain(items, depth + 1) };
    if (type === 'string') return { ...plain, ...(areStrings(values) && { enum: values }) };
    if (type !== 'object') return plain;
    const known = isObject(properties) ? Object.entries(properties) : [];
    const names = new Set(listOf(required));
    const needed = known.flatMap(([name]) => (names.has(name) ? [name] : []));
    return {
      ...plain,
      properties: Object.fromEntries(known.map(([name, property]) => [name, toPlain(property, depth + 1)])),
      ...(needed.length > 0 && { required: needed }),
    };
  }

  /** Returns the schema with what it refers to, with all of its parts and the first of its alternatives. */
  function toWhole(given: unknown, depth: number): Schema {
    left -= 1;
    if (left < 0 || depth > MAX_DEPTH || !isObject(given)) return {};
    const { $ref: ref, allOf, anyOf, oneOf, const: only, ...own } = given;
    const alternatives = [...listOf(anyOf), ...listOf(oneOf)].filter(isObject);
    const parts = [
      ...(typeof ref === 'string' ? [definitionOf(ref)] : []),
      ...listOf(allOf),
      ...alternatives.filter(({ type }) => type !== 'null').slice(0, 1),
      ...(only === undefined ? [] : [{ enum: [only] }]),
    ];
    return parts.map((part) => toWhole(part, depth + 1)).reduce<Schema>(joined, own);
  }

  /** References to other documents are unknown. */
  function definitionOf(ref: string): unknown {
    const names = ref.split('/').slice(1);
    const found = names.reduce<unknown>((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : {}), root);
    return ref.startsWith('#') ? found : {};
  }
}

function joined(one: Schema, other: Schema): Schema {
  const [own, more] = [one['properties'], other['properties']];
  return {
    ...other,
    ...one,
    ...(isObject(more) && { properties: isObject(own) ? { ...own, ...more, ...own } : more }),
    required: [...listOf(one['required']), ...listOf(other['required'])],
  };
}

function typeOf({ type: given, properties, items }: Schema): string {
  const types = isList(given) ? given : [given];
  const type = types.filter((one) => typeof one === 'string').find((one) => one !== 'null');
  if (type !== undefined) return type;
  return isObject(properties) ? 'object' : items === undefined ? 'string' : 'array';
}

function areStrings(values: unknown): boolean {
  return isList(values) && values.length > 0 && values.every((value) => typeof value === 'string' && value !== '');
}
