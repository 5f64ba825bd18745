import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { explainNoAnswer } from '../../src/doctor/no-answer.ts';
import { ApiError } from '../../src/core/errors.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { SELF_SIGNED } from '../support/certificate.ts';
import { run } from '../support/cli.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const MODELS = { object: 'list', data: [{ id: 'some-model' }] };
const KEY = 'sk-canary-canary';
/** The first byte of whoever speaks TLS. */
const TLS_HANDSHAKE = 0x16;

describe('the first contact of the doctor', () => {
  useRealSockets();
  /** Runs the doctor and gives the one sentence that it ends with. */
  async function sentenceFor(baseUrl: string, ...options: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await run(['doctor', '--base-url', baseUrl, ...options]);
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(stderr).not.to.contain('canary');
    const lines = stderr.trimEnd().split('\n');
    return lines.at(-1) ?? '';
  }

  describe('with what is no HTTP backend', () => {
    let server: Server;
    let sockets: Socket[];

    beforeEach(() => {
      sockets = [];
    });
    afterEach(async () => {
      for (const socket of sockets) socket.destroy();
      // It may be closed already, which the callback is told.
      await new Promise((resolve) => server.close(resolve));
    });

    async function listen(opened: Server): Promise<string> {
      server = opened;
      server.on('connection', (socket) => sockets.push(socket));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `127.0.0.1:${(server.address() as AddressInfo).port}`;
    }

    const listenRaw = (onConnection: (socket: Socket) => void): Promise<string> =>
      listen(
        createServer((socket) => {
          socket.on('error', () => {});
          onConnection(socket);
        }),
      );

    const listenTls = (): Promise<string> =>
      listen(createHttpsServer(SELF_SIGNED, (_req, res) => res.end(JSON.stringify(MODELS))));

    it('says that nothing listens there', async () => {
      const host = await listenRaw(() => {});
      server.close();
      expect(await sentenceFor(`http://${host}/v1`)).to.equal(
        `Nothing listens at ${host}: the connection was refused. Is the backend running, and is the port right?`,
      );
    });

    it('says that it is no HTTP what answers', async () => {
      const host = await listenRaw((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
      expect(await sentenceFor(`http://${host}/v1`)).to.equal(
        `What listens at ${host} does not speak HTTP. Is the port right?`,
      );
    });

    it('says that the connection was closed', async () => {
      const host = await listenRaw((socket) => socket.destroy());
      expect(await sentenceFor(`http://${host}/v1`)).to.match(/closed the connection .*Is the address right\?$/);
    });

    it('says that no answer came in time', async () => {
      const host = await listenRaw(() => {});
      expect(await sentenceFor(`http://${host}/v1`, '--timeout', '1s')).to.match(
        new RegExp(`^${host} did not answer in time. .*--timeout`),
      );
    });

    it('says that TLS is expected', async () => {
      const host = await listenTls();
      expect(await sentenceFor(`http://${host}/v1`)).to.equal(`${host} expects TLS. Use https:// instead of http://.`);
    });

    it('says that TLS is expected where a 400 says so to plain HTTP (nginx, Go)', async () => {
      const secure = createHttpsServer(SELF_SIGNED);
      const host = await listenRaw((socket) => {
        socket.once('data', (bytes) => {
          if (bytes[0] === TLS_HANDSHAKE) {
            socket.pause();
            socket.unshift(bytes);
            secure.emit('connection', socket);
            process.nextTick(() => socket.resume());
          } else {
            socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n');
          }
        });
      });
      expect(await sentenceFor(`http://${host}/v1`)).to.equal(`${host} expects TLS. Use https:// instead of http://.`);
    });

    it('says that the certificate was not accepted, and how it can be', async () => {
      const host = await listenTls();
      expect(await sentenceFor(`https://${host}/v1`)).to.match(
        /^The TLS certificate of 127\.0\.0\.1:\d+ was not accepted \(\w*SELF_SIGNED\w*\); set NODE_EXTRA_CA_CERTS, or tls\.ca_file /,
      );
    });

    it('says that no TLS can be had there', async () => {
      const host = await listenRaw((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
      expect(await sentenceFor(`https://${host}/v1`)).to.match(/^No TLS connection could be made to 127/);
    });
  });

  describe('with what speaks HTTP', () => {
    let backend: ScriptedBackend;

    beforeEach(async () => {
      backend = await startScriptedBackend();
    });
    afterEach(() => backend.close());

    it('says that TLS is not expected, and shows the key to nobody but the address it was given for', async () => {
      backend.always({ json: MODELS });
      const sentence = await sentenceFor(backend.baseUrl.replace('http:', 'https:'), '--key', KEY);
      expect(sentence).to.match(/^127\.0\.0\.1:\d+ speaks plain HTTP, without TLS\. Use http:\/\/ instead of https/);
      expect(backend.requests.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
    });

    /** Answers by the path; a 404 elsewhere. */
    function serve(replies: Readonly<Record<string, Reply>>): void {
      backend.always(async (stage) => {
        const reply = replies[stage.request.path] ?? { json: { detail: 'Not Found' }, status: 404 };
        if (typeof reply === 'function') return reply(stage);
        const { status = 200, headers } = reply;
        stage.start(status, { 'content-type': 'application/json', ...headers });
        stage.end('json' in reply ? JSON.stringify(reply.json) : 'text' in reply ? reply.text : '');
      });
    }

    const PAGE: Reply = { text: '<!doctype html><title>Welcome</title>', headers: { 'content-type': 'text/html' } };

    for (const { what, models } of [
      { what: 'a web page', models: PAGE },
      { what: 'a 404', models: { json: { error: { message: 'Not Found' } }, status: 404 } },
    ]) {
      it(`suggests the /v1 where ${what} is without it, and shows nobody the key for that`, async () => {
        serve({ '/models': models, '/v1/models': { json: MODELS } });
        const root = backend.baseUrl.replace('/v1', '');
        expect(await sentenceFor(root, '--key', KEY)).to.equal(`${root} lacks its /v1. Use ${root}/v1.`);
        expect(backend.requests.at(-1)?.headers.authorization).to.equal(undefined);
      });
    }

    it('suggests the /v1 also where that wants a key', async () => {
      serve({ '/models': PAGE, '/v1/models': { json: { error: { message: 'no key' } }, status: 401 } });
      expect(await sentenceFor(backend.baseUrl.replace('/v1', ''))).to.match(/lacks its \/v1/);
    });

    it('says that it is a web page', async () => {
      serve({ '/v1/models': PAGE, '/v1/v1/models': PAGE });
      expect(await sentenceFor(backend.baseUrl)).to.equal(
        `${backend.baseUrl}/models is a web page: this is not the base URL of a chat backend.`,
      );
    });

    it('says where a redirect leads, without what may be secret in it', async () => {
      const location = 'https://other.test/v1/models?token=canary';
      serve({ '/v1/models': { json: {}, status: 301, headers: { location } } });
      expect(await sentenceFor(backend.baseUrl)).to.match(
        /redirect \(301\) to https:\/\/other\.test\/v1\/models\. The gateway does not follow redirects\.$/,
      );
    });

    for (const status of [401, 403]) {
      it(`says after a ${status} that a key is wanted, or that this one is wrong`, async () => {
        serve({ '/v1/models': { json: { error: { message: `bad key ${KEY}` } }, status } });
        expect(await sentenceFor(backend.baseUrl)).to.equal(
          `The backend needs a key (${status}). Provide it with --key or UPSTREAM_API_KEY.`,
        );
        expect(await sentenceFor(backend.baseUrl, '--key', KEY)).to.equal(
          `The backend does not accept the key (${status}).`,
        );
      });
    }

    it('says that the key is wrong where only completions want one', async () => {
      serve({
        '/v1/models': { json: MODELS },
        '/v1/chat/completions': { json: { error: { message: `bad key ${KEY}` } }, status: 401 },
      });
      expect(await sentenceFor(backend.baseUrl, '--key', KEY)).to.equal('The backend does not accept the key (401).');
    });

    it('says that there are no chat completions', async () => {
      serve({ '/v1/models': { json: MODELS } });
      expect(await sentenceFor(backend.baseUrl)).to.equal(
        `There are no chat completions at ${backend.baseUrl}/chat/completions (404).`,
      );
    });

    it('repeats the words with which a server of chat completions answers 404', async () => {
      const refusal = {
        json: { error: { message: `No fixture matched ${KEY}`, type: 'invalid_request_error' } },
        status: 404,
      };
      serve({ '/v1/models': { json: MODELS }, '/v1/chat/completions': refusal });
      expect(await sentenceFor(backend.baseUrl, '--key', KEY)).to.equal(
        `There are no chat completions at ${backend.baseUrl}/chat/completions (404): No fixture matched [redacted]`,
      );
    });

    // The second one is Ollama's.
    for (const message of ['The model `other` does not exist.', "model 'other' not found"]) {
      it(`says that the model is not there, as in: ${message}`, async () => {
        serve({
          '/v1/models': { json: MODELS },
          '/v1/chat/completions': { json: { error: { message, code: 'model_not_found' } }, status: 404 },
        });
        expect(await sentenceFor(backend.baseUrl, '--model', 'other')).to.equal(
          `The backend has no model "other" (404): ${message.replace(/\.$/, '')}. --model names another.`,
        );
      });
    }

    it('repeats why the smallest completion was refused', async () => {
      serve({
        '/v1/models': { json: MODELS },
        '/v1/chat/completions': { json: { error: { message: 'messages: odd' } }, status: 400 },
      });
      expect(await sentenceFor(backend.baseUrl)).to.equal(
        'The backend refuses the smallest chat completion (400): messages: odd',
      );
      expect(backend.requests.filter(({ method }) => method === 'POST')).to.have.length(2);
    });

    it('repeats the first reason where the other name of the limit is refused for itself', async () => {
      serve({
        '/v1/models': { json: MODELS },
        '/v1/chat/completions': (stage) => {
          const { max_tokens: limit } = stage.request.body as { max_tokens?: unknown };
          const message = limit === undefined ? 'max_completion_tokens: not permitted' : 'no room left';
          stage.start(422, { 'content-type': 'application/json' });
          stage.end(JSON.stringify({ detail: message }));
        },
      });
      expect(await sentenceFor(backend.baseUrl)).to.equal(
        'The backend refuses the smallest chat completion (422): no room left',
      );
    });

    for (const { what, reply, says } of [
      { what: 'a web page', reply: PAGE, says: /sent a web page instead of a chat completion/ },
      { what: 'something else', reply: { json: { ok: true } }, says: /not a chat completion/ },
      {
        what: 'an error with a 200',
        reply: { json: { error: { message: 'out of memory', code: 500 } } },
        says: /^out of memory$/,
      },
    ]) {
      it(`says that ${what} is no chat completion`, async () => {
        serve({ '/v1/models': { json: MODELS }, '/v1/chat/completions': reply });
        expect(await sentenceFor(backend.baseUrl)).to.match(says);
      });
    }

    it('wants a model named where none is listed', async () => {
      serve({ '/v1/models': { json: { data: [] } } });
      expect(await sentenceFor(backend.baseUrl)).to.equal('The backend lists no models: name one by --model.');
    });

    it('goes on without a list where a model is named', async () => {
      serve({});
      expect(await sentenceFor(backend.baseUrl, '--model', 'm')).to.match(/^There are no chat completions/);
    });

    it('reads a bare list of models', async () => {
      serve({ '/v1/models': { json: MODELS.data } });
      await sentenceFor(backend.baseUrl);
      expect(backend.requests.at(-1)?.body).to.include({ model: 'some-model' });
    });
  });
});

describe('explainNoAnswer', () => {
  const address = { baseUrl: 'http://backend.test:8000/v1', timeoutMs: 1, signal: AbortSignal.abort() };
  const failure = (code: string): ApiError =>
    new ApiError('upstream_unreachable', { cause: Object.assign(new Error(code), { code }) });

  for (const [code, says] of [
    ['ENOTFOUND', /^The host name backend\.test could not be resolved\.$/],
    ['EAI_AGAIN', /^The host name backend\.test could not be resolved\.$/],
    ['CERT_HAS_EXPIRED', /certificate of backend\.test:8000 was not accepted \(CERT_HAS_EXPIRED\)/],
    ['UND_ERR_CONNECT_TIMEOUT', /^backend\.test:8000 did not answer in time/],
    ['PROXY_407', /Write them into the URL of the proxy\. \(HTTP_PROXY\)$/],
    ['EHOSTUNREACH', /\(backend\.test:8000\) Is the address right\?$/],
  ] as const) {
    it(`has a sentence for ${code}`, async () => {
      const proxy = { variable: 'HTTP_PROXY', url: 'http://proxy.test' };
      expect(await explainNoAnswer(failure(code), { ...address, proxy })).to.match(says);
    });
  }
});
