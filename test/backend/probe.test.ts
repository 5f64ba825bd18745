import { expect } from 'chai';
import { probeKeys, tryMadeUpKey } from '../../src/backend/probe.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const PATIENT = { timeoutMs: 60_000 };

describe('probeKeys', () => {
  useRealSockets();

  let backend: ScriptedBackend;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await backend.close();
  });

  const ask = (baseUrl: string, { timeoutMs }: { timeoutMs: number } = PATIENT) =>
    probeKeys({ baseUrl }, { timeoutMs });

  for (const status of [401, 403]) {
    it(`has nothing to say of a backend that answers ${status} to a made-up key`, async () => {
      backend.reply({ json: { error: {} }, status });
      expect(await ask(backend.baseUrl)).to.equal(undefined);
    });
  }

  it('warns of a backend that takes a made-up key', async () => {
    backend.reply({ json: { object: 'list', data: [] } });
    expect(await ask(backend.baseUrl)).to.match(/made-up key.*same request records/);
  });

  it('asks with another key each time, which nobody could have given out', async () => {
    backend.always({ json: {}, status: 401 });
    await ask(backend.baseUrl);
    await ask(`${backend.baseUrl}/?api-version=7`);
    const keys = backend.requests.map(({ headers }) => headers.authorization);
    expect(keys[0]).to.match(/^Bearer probe-[\w-]{32}$/);
    expect(keys[1]).not.to.equal(keys[0]);
    expect(backend.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'GET /v1/models',
      'GET /v1/models?api-version=7',
    ]);
  });

  it('says that it could not find out where there are no models to list', async () => {
    backend.reply({ text: 'no', status: 404 });
    expect(await ask(backend.baseUrl)).to.match(/404.*UPSTREAM_BASE_URL/);
  });

  it('says that it could not find out from a backend in trouble', async () => {
    backend.reply({ text: 'no', status: 503 });
    expect(await ask(backend.baseUrl)).to.match(/503/);
  });

  it('says that nobody is there', async () => {
    const gone = await startScriptedBackend();
    await gone.close();
    expect(await ask(gone.baseUrl)).to.match(/could not be reached/);
  });

  it('does not wait for a backend that does not answer', async () => {
    backend.reply(({ hang }) => hang());
    expect(await ask(backend.baseUrl, { timeoutMs: 50 })).to.match(/could not be reached/);
  });

  it('does not wait for the end of a list without one', async () => {
    backend.reply(async ({ start, write }) => {
      start();
      while (await write('x'.repeat(1000)));
    });
    expect(await ask(backend.baseUrl)).to.match(/made-up key/);
    expect(await backend.requests[0]?.closed).to.include({ aborted: true });
  });
});

describe('tryMadeUpKey', () => {
  useRealSockets();

  let backend: ScriptedBackend;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });
  afterEach(() => backend.close());

  for (const { status, expected } of [
    { status: 200, expected: { kind: 'taken' } },
    { status: 299, expected: { kind: 'taken' } },
    { status: 401, expected: { kind: 'refused' } },
    { status: 403, expected: { kind: 'refused' } },
    { status: 404, expected: { kind: 'unclear', status: 404 } },
    { status: 500, expected: { kind: 'unclear', status: 500 } },
  ]) {
    it(`makes of a ${status} that the key is ${expected.kind}`, async () => {
      backend.reply({ json: {}, status });
      expect(await tryMadeUpKey(backend, PATIENT)).to.deep.equal(expected);
    });
  }

  it('gives up when it is told to', async () => {
    backend.always(({ hang }) => hang());
    const controller = new AbortController();
    const check = tryMadeUpKey(backend, { ...PATIENT, signal: controller.signal });
    const { closed } = await backend.request(1);
    controller.abort();
    expect(await check).to.deep.equal({ kind: 'unreachable' });
    expect((await closed).aborted).to.equal(true);
  });
});
