import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchemaObject, type Options } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
const CONTRACT = import.meta.dirname;
const BANNER = `// Made from schemas/*.json by \`npm ci\`, \`npm run types\` and the build, with ajv. Not to be edited.
`;
const UCS2LENGTH = `import ucs2length from 'ajv/dist/runtime/ucs2length.js';
`;

interface Module {
  /** The schemas by the names that the declarations beside the module give to their validators. */
  readonly validators: Readonly<Record<string, string>>;
  /** To which those refer. */
  readonly others: readonly string[];
  readonly options: Options;
}

/** What checks what every gateway is given, as the text of modules: a tenth of a second that a start need not spend on it. */
const MODULES: Readonly<Record<string, Module>> = {
  'validators.generated.js': {
    validators: {
      isCreateResponse: 'create-response.json',
      isWebSocketCreate: 'web-socket-create.json',
      isCompactResponse: 'compact-response.json',
      isCreateChatCompletion: 'create-chat-completion.json',
    },
    others: ['response.json'],
    // An error then brings the schema it came from, which says what would have been accepted.
    options: { discriminator: true, allowUnionTypes: true, verbose: true },
  },
  'settings-validator.generated.js': {
    validators: { isSettings: 'settings.json' },
    others: [],
    options: { allErrors: true, useDefaults: true },
  },
};

/** The texts of the modules, by the paths they belong to. */
export function generateValidators(): ReadonlyMap<string, string> {
  return new Map(Object.entries(MODULES).map(([name, module]) => [join(CONTRACT, name), generateModule(module)]));
}

function generateModule({ validators, others, options }: Module): string {
  const ajv = new Ajv({
    strict: true,
    keywords: ['tsType'],
    ...options,
    schemas: [...others, ...Object.values(validators)].map(readSchema),
    code: { source: true, esm: true, lines: true, optimize: true },
  });
  const code = standalone.default(ajv, validators).replaceAll('require("ajv/dist/runtime/ucs2length")', 'ucs2length');
  if (code.includes('require(')) throw new Error('the validators need something else of ajv, which has to be imported');
  return `${BANNER}${code.includes('ucs2length') ? UCS2LENGTH : ''}${code}\n`;
}

function readSchema(name: string): AnySchemaObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as AnySchemaObject;
}

export function writeValidators(): void {
  for (const [path, text] of generateValidators()) writeFileSync(path, text);
}

if (process.argv[1] === import.meta.filename) writeValidators();
