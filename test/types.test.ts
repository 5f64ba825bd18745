import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchemaObject } from 'ajv';
import { expect } from 'chai';
import { ENV_EXAMPLE_PATH, generateEnvExample } from './support/generate-env-example.ts';
import { generateTypes } from './support/generate-types.ts';
import { generateValidators, VALIDATORS_PATH } from '../src/contract/generate-validators.ts';

const SCHEMAS = join(import.meta.dirname, '../schemas');

describe('schemas', () => {
  // openapi.json is no schema: it describes the API with them.
  const names = readdirSync(SCHEMAS).filter((name) => name !== 'openapi.json');
  const schemas = names.map((name) => ({ name, schema: readSchema(name) }));
  let ajv: Ajv;

  before(() => {
    ajv = new Ajv({ strict: true, discriminator: true, allowUnionTypes: true, keywords: ['tsType'] });
    for (const { schema } of schemas) ajv.addSchema(schema);
  });

  for (const { name, schema } of schemas) {
    it(`${name} has its file name as $id, which others refer to it by`, () => {
      expect(schema.$id).to.equal(name);
    });

    it(`${name} compiles in ajv's strict mode`, () => {
      expect(ajv.getSchema(name)).to.be.a('function');
    });
  }
});

describe('the schema of an input item', () => {
  it('looks at every known type, and takes only others for unknown', () => {
    const { KnownItem, UnknownItem, ...others } = readSchema('create-response.json')['$defs'] as Definitions;
    const names = (KnownItem?.oneOf ?? []).map(({ $ref }) => $ref.split('/').at(-1) ?? '');
    const types = names.map((name) => others[name]?.properties.type.const);
    expect(UnknownItem?.properties.type.not?.enum).to.deep.equal(types);
  });
});

describe('what is made from the schemas', () => {
  it('the types of src/contract are not stale (else: npm run types)', async () => {
    for (const [path, text] of Object.entries(await generateTypes())) expect(readFileSync(path, 'utf8')).to.equal(text);
  });

  it('src/contract/validators.generated.js is not stale (else: npm run types)', () => {
    expect(readFileSync(VALIDATORS_PATH, 'utf8')).to.equal(generateValidators());
  });

  it('.env.example is not stale (else: npm run types)', () => {
    expect(readFileSync(ENV_EXAMPLE_PATH, 'utf8')).to.equal(generateEnvExample());
  });
});

type Definitions = Readonly<
  Record<
    string,
    {
      readonly oneOf?: readonly { readonly $ref: string }[];
      readonly properties: {
        readonly type: { readonly const?: string; readonly not?: { readonly enum: readonly string[] } };
      };
    }
  >
>;

function readSchema(name: string): AnySchemaObject {
  return JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as AnySchemaObject;
}
