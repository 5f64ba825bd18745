import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { MOVED } from '../../src/pages/guides.ts';
import { ROOT } from '../docs/documents.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

describe('/docs', () => {
  let gateway: TestGateway;

  before(async () => {
    gateway = await openGateway({ ALLOWED_HOSTS: 'gateway.example' });
  });

  after(() => gateway.close());

  const show = async (path: string) => (await fetch(gateway.url + path)).text();

  it('lists the guides and the API, and each is a page', async () => {
    const list = await show('/docs');
    const links = [...list.matchAll(/<li><a href="(docs\/[^"]+)">/g)].map(([, link = '']) => link);
    expect(links).to.include.members(['docs/readme', 'docs/settings', 'docs/api']);
    for (const link of links) {
      const reply = await fetch(`${gateway.url}/${link}`);
      expect([reply.status, reply.headers.get('content-type')], link).to.deep.equal([200, 'text/html; charset=utf-8']);
    }
  });

  it('leads on every page only to places that are there', async () => {
    const ids = new Map<string, Set<string>>();
    const links: { from: string; to: URL }[] = [];
    const open = [new URL('/docs', gateway.url)];
    for (let page = open.pop(); page !== undefined; page = open.pop()) {
      if (ids.has(page.pathname)) continue;
      const reply = await fetch(page);
      expect(reply.status, page.pathname).to.equal(200);
      const html = await reply.text();
      const own = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id);
      expect(own.length, `ids of ${page.pathname}`).to.equal(new Set(own).size);
      ids.set(page.pathname, new Set(own));
      for (const [, href = ''] of html.matchAll(/ href="([^"]*)"/g)) {
        const to = new URL(href, page);
        if (to.origin !== gateway.url) continue;
        links.push({ from: page.pathname, to });
        if (to.pathname.startsWith('/docs')) open.push(to);
        else if (!ids.has(to.pathname)) expect((await fetch(to)).status, to.href).to.equal(200);
      }
    }
    const dead = links.filter(({ to }) => {
      const anchor = decodeURIComponent(to.hash.slice(1));
      return anchor !== '' && ids.get(to.pathname)?.has(anchor) === false;
    });
    expect(dead.map(({ from, to }) => `${from} → ${to.pathname}${to.hash}`)).to.deep.equal([]);
  });

  it('has the text of all guides and the operations of the API to search through', async () => {
    const reply = await fetch(`${gateway.url}/docs/search.json`);
    const places = (await reply.json()) as { text: string; page: string; href: string; body: string }[];
    const bodyOf = (place: Omit<(typeof places)[number], 'body'>) =>
      places.find(({ text, page, href }) => text === place.text && page === place.page && href === place.href)?.body;
    expect(bodyOf({ text: 'Timeouts', page: 'Settings', href: 'settings#timeouts' })).to.equal('');
    expect(bodyOf({ text: 'DATABASE_URL', page: 'Settings', href: 'settings#database_url' })).to.match(/database/);
    expect(
      bodyOf({ text: 'Create a response (POST /api/v1/responses)', page: 'API', href: 'api#createResponse' }),
    ).to.be.a('string');
    for (const word of ['grafana', 'import OpenAI from', 'pgbouncer'])
      expect(
        places.some(({ body }) => body.toLowerCase().includes(word.toLowerCase())),
        word,
      ).to.equal(true);
  });

  it('serves the files for deployment that its guides link to', async () => {
    const page = await show('/docs/operate');
    for (const name of ['alerts.yml', 'dashboard.json']) {
      expect(page).to.include(`href="${name}"`);
      expect(await show(`/docs/${name}`)).to.equal(readFileSync(join(ROOT, 'src/deploy', name), 'utf8'));
    }
  });

  it('says in the examples of a guide by which address it was asked for', async () => {
    const asked = get(`${gateway.url}/docs/readme`, { headers: { host: 'gateway.example' } });
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    const page = await text(reply);
    expect(page).to.include('curl http://gateway.example/api/v1/responses').and.not.to.include('127.0.0.1:8080/api');
  });

  for (const [path, location] of [
    ['/docs/', '../docs'],
    ['/docs/settings/', '../settings'],
  ] as const) {
    it(`sends from ${path} to the page whose relative links hold`, async () => {
      const reply = await fetch(gateway.url + path, { redirect: 'manual' });
      expect([reply.status, reply.headers.get('location')]).to.deep.equal([307, location]);
    });
  }

  it('leads from each former guide to the place of its text', async () => {
    for (const name of MOVED.keys()) {
      for (const path of [`/docs/${name}`, `/docs/${name}/`]) {
        const reply = await fetch(gateway.url + path, { redirect: 'manual' });
        const to = new URL(reply.headers.get('location') ?? '', gateway.url + path);
        const page = await show(to.pathname);
        expect(reply.status, path).to.equal(308);
        expect(page, path).to.include(to.hash === '' ? '<h1 ' : ` id="${to.hash.slice(1)}"`);
      }
    }
  });

  for (const path of [
    '/docs/unknown',
    '/docs/constructor',
    '/docs/unknown/',
    '/docs/settings.md',
    '/docs/..%2f..%2fpackage.json',
    '/docs/a/b',
  ]) {
    it(`has no ${path}`, async () => {
      expect((await fetch(gateway.url + path)).status).to.equal(404);
    });
  }

  it('takes no other method than GET', async () => {
    const reply = await fetch(`${gateway.url}/docs/settings`, { method: 'POST' });
    expect([reply.status, reply.headers.get('allow')]).to.deep.equal([405, 'GET']);
  });
});
