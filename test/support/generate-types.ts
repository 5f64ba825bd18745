import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
const CONTRACT = join(import.meta.dirname, '../../src/contract');
/** The files of types, and the schemas of each. The first has all that no other has. */
const FILES = [
  { file: 'types.ts', schemas: undefined },
  { file: 'record-types.ts', schemas: ['key', 'request-record', 'request-replies', 'usage', 'web-socket-duplicate'] },
  { file: 'settings-types.ts', schemas: ['backends', 'dialects', 'models', 'prices', 'settings'] },
  { file: 'operator-types.ts', schemas: ['admin', 'alert', 'operate'] },
];
const BANNER = '// Made from schemas/*.json by `npm run types`. Not to be edited.';
const IDS = ['CallId', 'GroupId', 'ItemId', 'KeyId', 'RequestId', 'ResponseId', 'UnknownItemType'];
const DECLARATION =
  /^(?:\/\*\*\n(?: \*.*\n)+)?export (?:interface|type) (?<name>\w+)[^]*?(?=^(?:\/\*\*|export )|$(?![^]))/gm;

/** Returns the TypeScript types of all schemas by the path of their file. A definition that schemas share stands in the first of their files. */
export async function generateTypes(): Promise<Readonly<Record<string, string>>> {
  const named = new Set(FILES.flatMap(({ schemas = [] }) => schemas.map((name) => `${name}.json`)));
  const all = readdirSync(SCHEMAS).filter((name) => name.endsWith('.json') && name !== 'openapi.json');
  const known = new Map([['Contract', ''], ...IDS.map((name) => [name, './ids.ts'] as const)]);
  const compiled: string[] = [];
  const texts: Record<string, string> = {};
  for (const { file, schemas } of FILES) {
    compiled.push(
      ...all.filter((name) => (schemas === undefined ? !named.has(name) : schemas.includes(name.slice(0, -5)))),
    );
    const own = [...declarationsOf(await compileTogether(compiled))].filter(([name]) => !known.has(name));
    const text = own.map(([, declaration]) => declaration).join('');
    texts[join(CONTRACT, file)] = [BANNER, importing(text, known), text].join('\n\n');
    for (const [name] of own) known.set(name, `./${file}`);
  }
  return texts;
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

/** Returns the imports of the names that a text uses, of those that stand in other files. */
function importing(text: string, known: ReadonlyMap<string, string>): string {
  const words = new Set(text.match(/\w+/g));
  const used = [...known].filter(([name]) => words.has(name));
  return [...new Set(used.map(([, file]) => file))]
    .map(
      (file) => `import type { ${used.flatMap(([name, of]) => (of === file ? name : [])).join(', ')} } from '${file}';`,
    )
    .join('\n');
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of Object.entries(await generateTypes())) writeFileSync(path, text);
}
