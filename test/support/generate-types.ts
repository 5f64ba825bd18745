import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
export const GENERATED_TYPES_PATH = join(import.meta.dirname, '../../src/contract/types.ts');
const BANNER = `// Made from schemas/*.json by \`npm run types\`. Not to be edited.

import type { CallId, GroupId, ItemId, KeyId, RequestId, ResponseId, UnknownItemType } from './ids.ts';`;

/** The TypeScript types of all schemas, as the text of one file, so that a definition shared by two schemas is one type. */
export function generateTypes(): Promise<string> {
  const files = readdirSync(SCHEMAS).filter((name) => name.endsWith('.json') && name !== 'openapi.json');
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
    bannerComment: BANNER,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, printWidth: 120 },
  });
}

if (process.argv[1] === import.meta.filename) writeFileSync(GENERATED_TYPES_PATH, await generateTypes());
