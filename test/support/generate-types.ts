import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
const CONTRACT = join(import.meta.dirname, '../../src/contract');
/** What operators speak: the admin API, alerts, settings and files. */
const OF_OPERATORS = new Set(
  ['admin', 'alert', 'backends', 'dialects', 'models', 'operate', 'prices', 'settings'].map((name) => `${name}.json`),
);
const BANNER = '// Made from schemas/*.json by `npm run types`. Not to be edited.';
const IDS = ['CallId', 'GroupId', 'ItemId', 'KeyId', 'RequestId', 'ResponseId', 'UnknownItemType'];
const DECLARATION =
  /^(?:\/\*\*\n(?: \*.*\n)+)?export (?:interface|type) (?<name>\w+)[^]*?(?=^(?:\/\*\*|export )|$(?![^]))/gm;

/**
 * Returns the TypeScript types of all schemas by the path of their file. A definition that schemas share is one type: what operators
 * have in common with callers stands in the file of the callers.
 */
export async function generateTypes(): Promise<Readonly<Record<string, string>>> {
  const files = readdirSync(SCHEMAS).filter((name) => name.endsWith('.json') && name !== 'openapi.json');
  const ofCallers = await compileTogether(files.filter((name) => !OF_OPERATORS.has(name)));
  const all = declarationsOf(await compileTogether(files));
  const shared = declarationsOf(ofCallers);
  const others = [...all].flatMap(([name, text]) => (shared.has(name) ? [] : text)).join('');
  return {
    [join(CONTRACT, 'types.ts')]: [BANNER, importing(ofCallers, IDS, './ids.ts'), ofCallers].join('\n\n'),
    [join(CONTRACT, 'operator-types.ts')]: [
      BANNER,
      [importing(others, IDS, './ids.ts'), importing(others, shared.keys(), './types.ts')].join('\n'),
      others,
    ].join('\n\n'),
  };
}

/** Returns the types of these schemas, and of all tools. */
function compileTogether(files: readonly string[]): Promise<string> {
  const named = [
    'FunctionTool',
    'CustomTool',
    'NamespaceTool',
    'ToolSearchTool',
    'LocalShellTool',
    'ShellTool',
    'ApplyPatchTool',
    'HostedTool',
    'FunctionChoice',
    'CustomChoice',
    'AllowedTools',
  ];
  const root: JSONSchema = {
    title: 'Contract',
    description: 'All that the schemas define.',
    anyOf: [
      ...files.map((name) => ({ $ref: name })),
      ...named.map((name) => ({ $ref: `create-response.json#/$defs/${name}` })),
    ],
  };
  return compile(root, 'Contract', {
    cwd: SCHEMAS,
    additionalProperties: false,
    bannerComment: '',
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, printWidth: 120 },
  });
}

function declarationsOf(text: string): ReadonlyMap<string, string> {
  return new Map(Array.from(text.matchAll(DECLARATION), ([declaration, name = '']) => [name, declaration]));
}

/** Returns the import of those names from a file that a text uses. */
function importing(text: string, names: Iterable<string>, file: string): string {
  const words = new Set(text.match(/\w+/g));
  return `import type { ${[...names].filter((name) => words.has(name)).join(', ')} } from '${file}';`;
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of Object.entries(await generateTypes())) writeFileSync(path, text);
}
