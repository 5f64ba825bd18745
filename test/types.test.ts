import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv, type AnySchemaObject } from 'ajv';
import { expect } from 'chai';
import { ENV_EXAMPLE_PATH, generateEnvExample } from './support/generate-env-example.ts';
import { GENERATED_TYPES_PATH, generateTypes } from './support/generate-types.ts';
import { generateValidators } from './support/generate-validators.ts';

const SCHEMAS = join(import.meta.dirname, '../schemas');

describe('schemas', () => {
  const schemas = readdirSync(SCHEMAS).map((name) => ({ name, schema: readSchema(name) }));
  let ajv: Ajv;

  beforeEach(() => {
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

describe('what is made from the schemas', () => {
  it('src/types/contract.ts is not stale (else: npm run types)', async () => {
    expect(readFileSync(GENERATED_TYPES_PATH, 'utf8')).to.equal(await generateTypes());
  });

  for (const [path, text] of generateValidators()) {
    it(`src/types/${basename(path)} is not stale (else: npm run types)`, () => {
      expect(readFileSync(path, 'utf8')).to.equal(text);
    });
  }

  it('.env.example is not stale (else: npm run types)', () => {
    expect(readFileSync(ENV_EXAMPLE_PATH, 'utf8')).to.equal(generateEnvExample());
  });
});

function readSchema(name: string): AnySchemaObject {
  return JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as AnySchemaObject;
}
