/** Types of items and parameters that the installed `openai` package has, and the tables here do not. */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import createResponseSchema from '../../../schemas/create-response.json' with { type: 'json' };
import { isToldType } from '../../../src/core/request/items.ts';

const DECLARATIONS = readFileSync(
  join(dirname(fileURLToPath(import.meta.resolve('openai'))), 'resources/responses/responses.d.ts'),
  'utf8',
);

/** No model is told of these. They are named in x-dropped-items. */
const LEFT_OUT_ITEMS = new Set([
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_list_tools',
  'program',
  'program_output',
]);

/** They have no effect here. Some are named in x-ignored-parameters. */
const LEFT_OUT_PARAMETERS = new Set([
  'access_programs',
  'image',
  'moderation',
  'multi_agent',
  'prompt_cache_options',
  'prompt_cache_retention',
]);

/** Returns the body of a declared interface, which may be in a namespace. */
function bodyOf(name: string): string {
  const [outer = '', inner] = name.split('.');
  const start = inner === undefined ? 0 : DECLARATIONS.indexOf(`declare namespace ${outer} {`);
  const found = new RegExp(
    `\\n( *)(?:export )?interface ${inner ?? outer}(?: extends \\w+)? \\{\\n([^]*?)\\n\\1\\}`,
  ).exec(DECLARATIONS.slice(start));
  expect(found, `no interface ${name}`).to.not.equal(null);
  return found?.[2] ?? '';
}

function membersOf(union: string): readonly string[] {
  const [, names = ''] = new RegExp(`^export type ${union} = (.*);$`, 'm').exec(DECLARATIONS) ?? [];
  return names.split(' | ');
}

describe('the installed openai package', () => {
  for (const union of ['ResponseInputItem', 'ResponseOutputItem']) {
    it(`has no item in ${union} that is not in a table here`, () => {
      const types = membersOf(union).flatMap((name) => {
        const [, type] = /^ +type\??: '(\w+)'/m.exec(bodyOf(name)) ?? [];
        return type ?? [];
      });
      expect(types.length).to.be.above(20);
      expect(types.filter((type) => !isToldType(type) && !LEFT_OUT_ITEMS.has(type))).to.deep.equal([]);
    });
  }

  it('has no parameter that is not in a table here', () => {
    const names = [...bodyOf('ResponseCreateParamsBase').matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name);
    expect(names.length).to.be.above(20);
    const known: object = createResponseSchema.properties;
    expect(names.filter((name) => !Object.hasOwn(known, name) && !LEFT_OUT_PARAMETERS.has(name))).to.deep.equal([]);
  });
});
