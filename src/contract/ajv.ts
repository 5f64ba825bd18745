import type { Ajv, Options } from 'ajv';
import { createRequire } from 'node:module';

const load: (name: 'ajv') => typeof import('ajv') = createRequire(import.meta.url);

/**
 * An ajv for our schemas. It is loaded when something is first to be checked with it: most starts need nothing but what was
 * generated from the schemas.
 */
export function openAjv(options: Options): Ajv {
  const { Ajv } = load('ajv');
  // An error then brings the schema it came from, which says what would have been accepted.
  return new Ajv({ strict: true, verbose: true, keywords: ['tsType'], ...options });
}
