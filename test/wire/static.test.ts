import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { openGateway, type TestGateway } from '../support/gateway.ts';

describe('what is the same for everybody', () => {
  let gateway: TestGateway;

  before(async () => {
    gateway = await openGateway({ CORS_ORIGINS: 'https://app.example', ALLOWED_HOSTS: 'gateway.example' });
  });

  after(() => gateway.close());

  /** Sends no header but these, unlike fetch. */
  const ask = async (path: string, headers: Record<string, string>, method = 'GET') => {
    const asked = request(gateway.url + path, { method, headers }).end();
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: reply.statusCode, headers: reply.headers, body: await buffer(reply) };
  };

  for (const path of [
    '/',
    '/docs',
    '/docs/settings',
    '/docs/api',
    '/docs/search.json',
    '/docs/dashboard.json',
    '/openapi.json',
    '/console/',
    '/console/style.css',
  ]) {
    describe(path, () => {
      const html = { accept: 'text/html' };
      const gzip = { ...html, 'accept-encoding': 'gzip, deflate, br' };

      it('comes compressed to whoever takes that, and as it is to others', async () => {
        const plain = await ask(path, html);
        const refused = await ask(path, { ...html, 'accept-encoding': 'gzip;q=0' });
        const small = await ask(path, gzip);
        expect([plain.headers['content-encoding'], refused.headers['content-encoding']]).to.deep.equal([
          undefined,
          undefined,
        ]);
        expect(small.headers['content-encoding']).to.equal('gzip');
        expect(small.body.length).to.be.below(plain.body.length);
        expect([refused.body, gunzipSync(small.body)]).to.deep.equal([plain.body, plain.body]);
        expect(small.headers['content-type']).to.equal(plain.headers['content-type']);
      });

      it('names what the answer depends on, and has a tag for each encoding', async () => {
        const [plain, small] = [await ask(path, html), await ask(path, gzip)];
        expect([plain.headers.vary, small.headers.vary].map((vary) => vary?.split(', '))).to.satisfy(
          (lists: string[][]) => lists.every((list) => list.includes('Accept-Encoding') && list.includes('Origin')),
        );
        expect(small.headers.etag).to.equal(plain.headers.etag?.replace(/"$/, '-gzip"'));
      });

      it('answers HEAD as GET, without the body', async () => {
        for (const headers of [html, gzip]) {
          const [got, head] = [await ask(path, headers), await ask(path, headers, 'HEAD')];
          const [gotHeaders, headHeaders] = [got, head].map((reply) => ofTheBody(reply.headers));
          expect(headHeaders).to.deep.equal(gotHeaders);
          expect([head.status, head.body.length]).to.deep.equal([200, 0]);
        }
      });

      it('is not sent again to a browser that has it', async () => {
        for (const headers of [html, gzip]) {
          const { etag = '', 'cache-control': cacheControl } = (await ask(path, headers)).headers;
          const known = await ask(path, { ...headers, 'if-none-match': etag });
          const other = await ask(path, { ...headers, 'if-none-match': '"other"' });
          expect([cacheControl, known.status, known.body.length, other.status]).to.deep.equal([
            'no-cache',
            304,
            0,
            200,
          ]);
        }
      });
    });
  }

  it('says in each encoding by which address it was asked for', async () => {
    for (const host of ['gateway.example', new URL(gateway.url).host, 'gateway.example']) {
      const { body } = await ask('/openapi.json', { host, 'accept-encoding': 'gzip' });
      expect(gunzipSync(body).toString()).to.include(`"servers":[{"url":"http://${host}"}]`);
    }
  });
});

/** Leaves out what is another for each request. */
function ofTheBody({ date: _date, 'x-request-id': _id, ...rest }: IncomingMessage['headers']) {
  return rest;
}
