import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { OpenApiDocument } from '../../src/openapi/openapi.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

describe('/docs/api', () => {
  let gateway: TestGateway;
  let page: string;

  before(async () => {
    gateway = await openGateway({
      ADMIN_TOKEN: 'admin-token-of-this-test',
      DEFAULT_MODEL_ID: `best'<model>`,
      ALLOWED_HOSTS: 'one.example, two.example',
    });
    page = await (await fetch(`${gateway.url}/docs/api`)).text();
  });

  after(() => gateway.close());

  it('has a place for every operation and every schema, each name once', async () => {
    const { paths, components } = (await (await gateway.get('/openapi.json')).json()) as OpenApiDocument;
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]);
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids).to.include.members(operations.map(({ operationId }) => operationId));
    expect(ids).to.include.members(Object.keys(components.schemas).map((name) => `schema-${name}`));
  });

  it('leads nowhere but to places of its own and to pages of the gateway', async () => {
    const links = new Set([...page.matchAll(/ (?:href|src)="([^"]*)"/g)].map((match) => match[1] ?? ''));
    for (const link of links) {
      if (link.startsWith('#')) expect(page).to.include(` id="${link.slice(1)}"`);
      else expect((await fetch(new URL(link, `${gateway.url}/docs/api`))).status, link).to.equal(200);
    }
    expect([...links].filter((link) => /^(?:\w+:)?\/\//.test(link))).to.deep.equal([]);
  });

  it("has no script but the gateway's own, and no style of its own", () => {
    expect(page.match(/<script[^>]*>/g)).to.deep.equal(['<script type="module" src="../console/pages.js">']);
    expect(page).not.to.match(/<style| style=| on\w+=/i);
  });

  it('is sent as a page that may load nothing from elsewhere', async () => {
    const { headers } = await fetch(`${gateway.url}/docs/api`);
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).to.include("default-src 'none'").and.not.include('unsafe');
  });

  it('has examples that a shell takes, with the address by which the page was asked for', () => {
    expect(page).to.include(`curl ${gateway.url}/api/v1/responses \\\n  -H "Authorization: Bearer $GATEWAY_API_KEY"`);
    expect(page).to.include("'{&#34;model&#34;:&#34;best&#39;\\&#39;&#39;&#60;model&#62;&#34;");
    expect(page).to.include(`curl -X DELETE ${gateway.url}/admin/v1/keys/{key_id}`);
  });

  it('has the address of each request in its examples', async () => {
    for (const host of ['one.example', 'two.example', 'one.example']) {
      const [reply] = (await once(get(`${gateway.url}/docs/api`, { headers: { host } }), 'response')) as [
        IncomingMessage,
      ];
      expect(await text(reply)).to.include(`curl http://${host}/api/v1/responses`);
    }
  });

  it('writes the address of the request as text, whatever it is', async () => {
    const asked = get(`${gateway.url}/docs/api`, { headers: { host: '"><script>alert(1)</script>' } });
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    expect(await text(reply)).not.to.include('<script>');
  });
});
