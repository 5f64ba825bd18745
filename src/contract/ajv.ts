import type { Ajv, Options } from 'ajv';
import { createRequire } from 'node:module';

const load: (name: 'ajv') => typeof import('ajv') = createRequire(import.meta.url);

/**
 * Opens an ajv for our schemas. Most starts need only the generated validators, so it loads late.
 */
export function openAjv(options: Options): Ajv {
  const { Ajv } = load('ajv');
  // Errors then carry their schema, which names the accepted values.
  return new Ajv({ strict: true, verbose: true, keywords: ['tsType'], ...options });
}
