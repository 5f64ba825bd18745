import { createRequire } from 'node:module';
import { lazily } from './lazily.ts';

const load: (name: 'ajv') => typeof import('ajv') = createRequire(import.meta.url);

/** ajv, from when something is first to be checked with it: most starts need nothing but what was generated from the schemas. */
export const loadAjv = lazily(() => load('ajv').Ajv);
