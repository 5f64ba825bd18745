import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import express, { type Router } from 'express';
import source from '../../schemas/openapi.json' with { type: 'json' };
import { createOpenApi, type OpenApiDocument, type OpenApiOptions } from '../../src/openapi/openapi.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

const OPTIONS: OpenApiOptions = {
  defaultModelId: null,
  demo: false,
  hasAdmin: true,
  hasMetrics: true,
  passthroughPaths: [],
};

describe('createOpenApi', () => {
  for (const options of [
    OPTIONS,
    { ...OPTIONS, hasAdmin: false, hasMetrics: false },
    { ...OPTIONS, passthroughPaths: ['/v1/embeddings'], defaultModelId: 'best-model' },
  ]) {
    it(`is valid OpenAPI 3.1 with ${JSON.stringify(options)}`, async () => {
      const document = JSON.parse(JSON.stringify(createOpenApi(options))) as Record<string, unknown>;
      expect(await new Validator().validate(document)).to.deep.include({ valid: true });
    });
  }

  it('has nothing of draft-07 and of our own tools left, and every reference leads somewhere', () => {
    const document = createOpenApi(OPTIONS);
    const text = JSON.stringify(document);
    expect(text).not.to.match(/"(?:tsType|\$schema|\$id|\$defs|definitions)":/);
    const refs = [...text.matchAll(/"(?:\$ref|[^"]*)":"(#\/[^"]*)"/g)].map((match) => match[1] ?? '');
    expect(refs.length).to.be.greaterThan(200);
    const missing = refs.filter(
      (ref) =>
        ref
          .split('/')
          .slice(1)
          .reduce((at: unknown, name) => (at as Record<string, unknown> | undefined)?.[name], document) === undefined,
    );
    expect(missing).to.deep.equal([]);
  });

  it('says by which value of its type each part of a union is known', () => {
    const { schemas } = createOpenApi(OPTIONS).components;
    const part = schemas['InputPart'] as { discriminator: { mapping: Record<string, string> } };
    expect(part.discriminator).to.deep.equal({
      propertyName: 'type',
      mapping: {
        input_text: '#/components/schemas/InputText',
        output_text: '#/components/schemas/InputText',
        text: '#/components/schemas/InputText',
        refusal: '#/components/schemas/InputRefusal',
        input_image: '#/components/schemas/InputImage',
        input_file: '#/components/schemas/InputFile',
        input_audio: '#/components/schemas/InputAudio',
        encrypted_content: '#/components/schemas/EncryptedPart',
      },
    });
  });

  it('describes what is turned off no more than it is there', () => {
    const document = createOpenApi({ ...OPTIONS, hasAdmin: false, hasMetrics: false });
    const all = JSON.stringify(document);
    expect(all).not.to.match(/\/admin|"\/metrics"|AdminKey|adminToken|metricsToken/);
    expect(document.paths).to.include.keys('/api/v1/responses', '/');
  });

  it('recommends the model of the settings, and names what else is passed on', () => {
    const document = createOpenApi({ ...OPTIONS, defaultModelId: 'best-model', passthroughPaths: ['/v1/embeddings'] });
    expect(JSON.stringify(document.paths['/api/v1/responses'])).to.include('"model":"best-model"');
    expect(document.info.description).to.include('`/v1/embeddings`');
  });
});

/** Calls back for every property in a schema, however deep, with the name of its component. */
function visitFields(component: string, schema: unknown, visit: (field: Field) => void): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { properties = {}, ...rest } = schema as { properties?: Record<string, Record<string, unknown>> };
  for (const [name, property] of Object.entries(properties)) {
    visit({ component, name, property });
    visitFields(component, property, visit);
  }
  for (const inner of Object.values(rest)) {
    for (const one of [inner].flat()) visitFields(component, one, visit);
  }
}

interface Field {
  readonly component: string;
  readonly name: string;
  readonly property: Readonly<Record<string, unknown>>;
}

describe('the fields of the schemas', () => {
  const { schemas } = createOpenApi(OPTIONS).components;
  const fields: Field[] = [];
  for (const [name, schema] of Object.entries(schemas)) visitFields(name, schema, (field) => fields.push(field));

  const isDescribed = ({ property }: Field): boolean => {
    const ref = typeof property['$ref'] === 'string' ? property['$ref'].split('/').at(-1) : undefined;
    const named = ref === undefined ? {} : (schemas[ref] as object);
    return 'const' in property || 'description' in property || 'description' in named;
  };

  it('are all described', () => {
    expect(fields.length).to.be.greaterThan(700);
    const silent = fields.filter((field) => !isDescribed(field));
    expect(silent.map(({ component, name }) => `${component}.${name}`)).to.deep.equal([]);
  });

  it('are described by no words that are shown nowhere', () => {
    const shown = new Set(fields.map(({ property }) => property['description']));
    expect(
      Object.entries<string>(source['x-fields']).filter(([, description]) => !shown.has(description)),
    ).to.deep.equal([]);
  });
});

describe('the operations', () => {
  const operations = Object.values(createOpenApi(OPTIONS).paths).flatMap((methods) => Object.values(methods));

  it('have each a reply of success, and a schema of all that is JSON', () => {
    for (const { operationId, responses } of operations) {
      const success = Object.entries(responses).filter(([status]) => /^[12]/.test(status));
      expect(success, operationId).not.to.deep.equal([]);
      for (const [, { content }] of success) {
        const schema = content['application/json']?.schema;
        if (schema !== undefined && operationId !== 'getOpenApi') expect(schema, operationId).to.have.property('$ref');
      }
    }
  });

  it('stand there once each', () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.length).to.equal(new Set(ids).size);
    expect(ids.filter((id) => id.endsWith('Alias'))).to.deep.equal([]);
  });
});

describe('/openapi.json', () => {
  const { use } = express.application;
  let gateway: TestGateway;
  let root: Router | undefined;

  beforeEach(() => {
    root = undefined;
    express.application.use = function (this: { router: Router }, ...given: Parameters<typeof use>) {
      root ??= this.router;
      return use.apply(this, given);
    } as typeof use;
  });

  afterEach(async () => {
    express.application.use = use;
    await gateway.close();
  });

  const described = async () => (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApiDocument;

  for (const mode of ['passthrough', 'managed']) {
    it(`describes every route of a gateway with AUTH_MODE=${mode}, and no other`, async () => {
      gateway = await openGateway({
        AUTH_MODE: mode,
        ADMIN_TOKEN: 'admin-token-of-this-test',
        METRICS_TOKEN: 'metrics-token-of-this-test',
      });
      const { paths } = await described();
      const inDocument = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).flatMap(([method, operation]) =>
          [path, operation['x-also-at'] ?? []].flat().map((each) => nameless(`${method} ${each}`)),
        ),
      );
      const inRouter = new Set(root === undefined ? [] : routesOf(root).map(nameless));
      // The console's page loads the rest by itself.
      const notForCallers = /^get \/console\/./;
      expect([...inRouter].filter((route) => !notForCallers.test(route)).sort()).to.deep.equal(inDocument.sort());
    });
  }

  it('names the address that the caller used as its server, or the one of the settings', async () => {
    gateway = await openGateway({});
    expect(await described()).to.deep.include({ servers: [{ url: gateway.url }] });
    const document = (await described()) as unknown as Record<string, unknown>;
    expect(await new Validator().validate(document)).to.deep.include({ valid: true });
    await gateway.close();
    gateway = await openGateway({ PUBLIC_BASE_URL: 'https://gateway.example.com/below' });
    expect(await described()).to.deep.include({ servers: [{ url: 'https://gateway.example.com/below' }] });
  });
});

interface Listed {
  readonly path: string;
  readonly methods: readonly string[] | undefined;
  readonly router: Router | undefined;
}

/** Every method and path that the router answers itself, such as `get /v1/models`. */
function routesOf(router: Router, below = ''): string[] {
  const { listRoutes } = router as unknown as { listRoutes: () => readonly Listed[] };
  return listRoutes.call(router).flatMap(({ path, methods = [], router: inner }) => {
    const whole = path === '/' && below !== '' && below !== '/console' ? below : below + path;
    if (inner !== undefined) return routesOf(inner, whole === '/' ? '' : whole);
    return methods
      .filter((method) => method !== '*' && method !== 'HEAD')
      .map((method) => `${method.toLowerCase()} ${whole}`);
  });
}

/** What a path calls its parameters is its own affair. */
function nameless(route: string): string {
  return route.replaceAll(/\{\w+\}|[:*]\w+/g, '{}');
}
