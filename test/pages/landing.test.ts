import { expect } from 'chai';
import packageJson from '../../package.json' with { type: 'json' };
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { compileSchema } from '../support/schemas.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('the landing page', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function show(settings: Record<string, string>, accept = BROWSER): Promise<string> {
    gateway = await openGateway(settings);
    return (await fetch(gateway.url, { headers: { accept } })).text();
  }

  for (const { accept, type } of [
    { accept: BROWSER, type: 'text/html' },
    { accept: 'text/html', type: 'text/html' },
    { accept: '*/*', type: 'application/json' },
    { accept: 'application/json', type: 'application/json' },
    { accept: 'image/png', type: 'application/json' },
  ]) {
    it(`is ${type} for who accepts ${accept}, and no cache takes one for the other`, async () => {
      gateway = await openGateway({});
      const { status, headers } = await fetch(gateway.url, { headers: { accept } });
      expect([status, headers.get('vary')?.split(', ')[0]]).to.deep.equal([200, 'Accept']);
      expect(headers.get('content-type')).to.match(new RegExp(`^${type};`));
    });
  }

  it('tells programs what this is and where to go from here', async () => {
    const landing = JSON.parse(
      await show({ PUBLIC_BASE_URL: 'https://gateway.example.com/', DEFAULT_MODEL_ID: 'best-model' }, '*/*'),
    ) as { links: Record<string, string> };
    expect(compileSchema('operate.json#/$defs/Landing', { closed: true })(landing)).to.equal(true);
    expect(landing).to.deep.include({
      name: packageJson.name,
      version: packageJson.version,
      base_url: 'https://gateway.example.com/api/v1',
      default_model: 'best-model',
      demo: true,
    });
    for (const link of Object.values(landing.links)) {
      const path = link.replace('https://gateway.example.com', '');
      expect((await gateway.get(path)).status, link).to.equal(200);
    }
  });

  it('begins with a request to this gateway, for the model that the operator recommends', async () => {
    const page = await show({ DEFAULT_MODEL_ID: 'best-model', UPSTREAM_BASE_URL: backend.baseUrl });
    expect(page).to.include(`curl ${gateway.url}/api/v1/responses`).and.include('&#34;model&#34;:&#34;best-model&#34;');
    expect(page).not.to.include('demo backend');
  });

  it('says where to find a model when none is recommended', async () => {
    const page = await show({ UPSTREAM_BASE_URL: backend.baseUrl });
    expect(page).to.include('your-model').and.include('docs/api#listModels');
  });

  for (const { mode, settings, word } of [
    { mode: 'passthrough', settings: {}, word: 'any API key will do' },
    { mode: 'static', settings: { AUTH_MODE: 'static', API_KEYS: 'a-key-of-this-test' }, word: 'UPSTREAM_BASE_URL' },
  ]) {
    it(`says that the demo backend answers, with AUTH_MODE=${mode}`, async () => {
      const page = await show(settings);
      expect(page).to.include('The demo backend answers').and.include(word);
      expect(page.includes('any API key will do')).to.equal(mode === 'passthrough');
      expect(page).to.include('Authorization: Bearer $GATEWAY_API_KEY"');
      expect(page.includes('export GATEWAY_API_KEY=demo\ncurl ')).to.equal(mode === 'passthrough');
    });
  }
});
