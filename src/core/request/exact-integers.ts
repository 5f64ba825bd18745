import { isKnownParameter } from '../../contract/known-parameters.ts';
import type { CreateResponse } from '../../contract/types.ts';
import { fieldsOf } from '../json-bytes.ts';

/** Node.js has it (TC39, "JSON.parse source text access"), and the types of TypeScript do not. */
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
  }
}

/** Their JSON Schemas are passed on as they are. */
const WITH_SCHEMAS = new Set(['tools', 'text']);

/**
 * Returns the request with the integers of the body itself in the parameters and JSON Schemas that
 * are passed on. Numbers of JavaScript round them from 2^53 on, and a `seed` or a `maximum` may have
 * 64 bits.
 */
export function withExactIntegers(request: CreateResponse, body: Buffer): CreateResponse {
  const rounded = Object.entries(request).filter(
    ([name, value]) => (WITH_SCHEMAS.has(name) || !isKnownParameter(name)) && hasRounded(value),
  );
  if (rounded.length === 0) return request;
  const names = new Set(rounded.map(([name]) => name));
  const exact: Record<string, unknown> = {};
  for (const { name = '', start, end } of fieldsOf(body, 0)) {
    if (names.has(name)) exact[name] = parseExact(body.subarray(start, end));
  }
  return { ...request, ...exact };
}

function hasRounded(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasRounded);
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasRounded);
  return isRounded(value);
}

function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** A reviver costs far more for each value than the parser, so this is for what has such integers. */
export function parseExact(json: Buffer): unknown {
  return JSON.parse(json.toString(), (name, value, { source }) => {
    if (name === '__proto__') return undefined;
    return isRounded(value) && source !== undefined ? JSON.rawJSON(source) : value;
  });
}
