import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchemaObject } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
export const GENERATED_VALIDATORS_PATH = join(import.meta.dirname, '../../src/types/validators.js');
const BANNER = `// Made from schemas/*.json by \`npm run types\`, with ajv. Not to be edited.
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
`;

/** By the names that validators.d.ts gives them. */
const VALIDATORS = {
  isCreateResponse: 'create-response.json',
  isWebSocketCreate: 'web-socket-create.json',
  isCompactResponse: 'compact-response.json',
  isCreateChatCompletion: 'create-chat-completion.json',
};

/** What checks the bodies of requests, as the text of a module: a tenth of a second that a start need not spend on it. */
export function generateValidators(): string {
  const ajv = new Ajv({
    strict: true,
    discriminator: true,
    allowUnionTypes: true,
    // An error then brings the schema it came from, which says what would have been accepted.
    verbose: true,
    keywords: ['tsType'],
    schemas: ['response.json', ...Object.values(VALIDATORS)].map(readSchema),
    // V8 drops by itself what does nothing.
    code: { source: true, esm: true, lines: true, optimize: false },
  });
  const code = standalone.default(ajv, VALIDATORS).replaceAll('require("ajv/dist/runtime/ucs2length")', 'ucs2length');
  if (code.includes('require(')) throw new Error('the validators need something else of ajv, which has to be imported');
  return `${BANNER}${code}\n`;
}

function readSchema(name: string): AnySchemaObject {
  return JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as AnySchemaObject;
}

if (process.argv[1] === import.meta.filename) writeFileSync(GENERATED_VALIDATORS_PATH, generateValidators());
