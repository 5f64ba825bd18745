import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchemaObject } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
export const VALIDATORS_PATH = join(import.meta.dirname, 'validators.generated.js');
const HEAD = `// Made from schemas/*.json by \`npm ci\`, \`npm run types\` and the build, with ajv. Not to be edited.
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
`;

/** The schemas by the names that the declarations beside the module give to their validators. */
const VALIDATORS = {
  isCreateResponse: 'create-response.json',
  isWebSocketCreate: 'web-socket-create.json',
  isCompactResponse: 'compact-response.json',
  isCreateChatCompletion: 'create-chat-completion.json',
  isSettings: 'settings.json',
};

/** What checks the requests and the settings, as the text of a module: a tenth of a second that a start need not spend on it. */
export function generateValidators(): string {
  const ajv = new Ajv({
    strict: true,
    keywords: ['tsType'],
    discriminator: true,
    allowUnionTypes: true,
    // An error then brings the schema it came from, which says what would have been accepted.
    verbose: true,
    schemas: ['response.json', ...Object.values(VALIDATORS)].map(readSchema),
    code: { source: true, esm: true, lines: true, optimize: true },
  });
  const code = standalone.default(ajv, VALIDATORS).replaceAll('require("ajv/dist/runtime/ucs2length")', 'ucs2length');
  if (code.includes('require(')) throw new Error('the validators need something else of ajv, which has to be imported');
  return `${HEAD}${code}\n`;
}

function readSchema(name: string): AnySchemaObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as AnySchemaObject;
}

export function writeValidators(): void {
  writeFileSync(VALIDATORS_PATH, generateValidators());
}

if (process.argv[1] === import.meta.filename) writeValidators();
