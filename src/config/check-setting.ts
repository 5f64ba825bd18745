/** What `schemas/settings.json` says of a value, in the keywords that it uses. */
export interface ValueSchema {
  readonly type?: string;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: ValueSchema;
  readonly maxItems?: number;
  readonly propertyNames?: ValueSchema;
  readonly additionalProperties?: ValueSchema;
  readonly maxProperties?: number;
}

/** Returns whether a value is as its schema says. */
export function isAsSaid(value: unknown, schema: ValueSchema): boolean {
  if (schema.enum !== undefined) return schema.enum.some((one) => one === value);
  switch (schema.type) {
    case 'integer':
      return typeof value === 'number' && isWithin(value, schema.minimum, schema.maximum);
    case 'array': {
      const { items = {} } = schema;
      return (
        Array.isArray(value) &&
        isWithin(value.length, 0, schema.maxItems) &&
        value.every((item) => isAsSaid(item, items))
      );
    }
    case 'object': {
      const { propertyNames = {}, additionalProperties = {}, maxProperties } = schema;
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
      const entries = Object.entries(value);
      return (
        isWithin(entries.length, 0, maxProperties) &&
        entries.every(([name, each]) => isAsSaid(name, propertyNames) && isAsSaid(each, additionalProperties))
      );
    }
    default:
      return (
        typeof value === 'string' &&
        isWithin(value.length, schema.minLength, schema.maxLength) &&
        new RegExp(schema.pattern ?? '', 'u').test(value)
      );
  }
}

function isWithin(value: number, least = -Infinity, most = Infinity): boolean {
  return value >= least && value <= most;
}
