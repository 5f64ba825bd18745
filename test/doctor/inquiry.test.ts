import { expect } from 'chai';
import { createInquirer, type Inquirer } from '../../src/doctor/inquiry.ts';
import { ApiError } from '../../src/core/errors.ts';
import { startScriptedBackend, type ScriptedBackend, type Stage } from '../support/backend.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { useHeldTime } from '../support/held-time.ts';
import { allArrived } from '../support/time.ts';

describe('createInquirer', () => {
  useRealSockets();

  const { signal } = new AbortController();
  let backend: ScriptedBackend;
  let inquirer: Inquirer;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    inquirer = open('sk-1');
  });
  afterEach(async () => {
    await inquirer.close();
    await backend.close();
  });

  const open = (apiKey: string | undefined, timeoutMs = 20_000): Inquirer =>
    createInquirer({ baseUrl: `${backend.baseUrl}/`, apiKey, timeoutMs });

  async function failureOf(asking: Promise<unknown>): Promise<string> {
    const error: unknown = await asking.then(
      () => undefined,
      (error: unknown) => error,
    );
    return error instanceof ApiError ? error.code : String(error);
  }

  it('asks by GET without a body, and by POST with one', async () => {
    backend.always({ json: {} });
    await inquirer.ask('/models', { signal });
    await inquirer.ask('/chat/completions', { body: { model: 'm' }, signal });
    expect(backend.requests.map(({ method, path, body }) => ({ method, path, body }))).to.deep.equal([
      { method: 'GET', path: '/v1/models', body: '' },
      { method: 'POST', path: '/v1/chat/completions', body: { model: 'm' } },
    ]);
  });

  it('shows the key, where there is one', async () => {
    backend.always({ json: {} });
    await inquirer.ask('/models', { signal });
    const other = open(undefined);
    await other.ask('/models', { signal });
    await other.close();
    expect(backend.requests.map(({ headers }) => headers.authorization)).to.deep.equal(['Bearer sk-1', undefined]);
  });

  it('gives status, headers and text as they came', async () => {
    backend.reply({ text: 'ä{', status: 418, headers: { 'x-groq-region': 'fra' } });
    const reply = await inquirer.ask('/models', { signal });
    expect(reply).to.deep.include({ status: 418, text: 'ä{' });
    expect(reply.headers['x-groq-region']).to.equal('fra');
  });

  it('puts together a character that came in two pieces', async () => {
    backend.reply(async ({ start, write, end }) => {
      start(200, { 'content-type': 'text/plain' });
      await write(Buffer.from('ä').subarray(0, 1));
      await allArrived();
      await write(Buffer.from('ä').subarray(1));
      end();
    });
    expect((await inquirer.ask('/models', { signal })).text).to.equal('ä');
  });

  it('ends with the [DONE] of a stream that is kept open', async () => {
    backend.reply(async ({ sse, hang }) => {
      await sse({ choices: [] });
      await sse('[DONE]');
      await hang();
    });
    expect((await inquirer.ask('/chat/completions', { body: {}, signal })).text).to.equal(
      'data: {"choices":[]}\n\ndata: [DONE]\n\n',
    );
  });

  it('does not take a [DONE] that is said for the end', async () => {
    backend.reply({ sse: [{ content: 'data: [DONE]' }, { content: 'more' }] });
    expect((await inquirer.ask('/chat/completions', { body: {}, signal })).text).to.contain('more');
  });

  describe('gives up on an answer', () => {
    const passTime = useHeldTime();

    for (const { what, script } of [
      { what: 'does not come', script: ({ hang }: Stage) => hang() },
      {
        what: 'does not end',
        script: async ({ drip }: Stage) => void (await drip('x'.repeat(1000), { pieceBytes: 1, everyMs: 50 })),
      },
    ]) {
      it(`that ${what} in time`, async () => {
        await inquirer.close();
        inquirer = open('sk-1', 500);
        backend.reply(script);
        const failure = failureOf(inquirer.ask('/models', { signal }));
        await backend.request(1);
        await passTime(500);
        expect(await failure).to.equal('upstream_timeout');
      });
    }
  });

  it('reads no more than 4 MiB', async () => {
    await inquirer.close();
    inquirer = open('sk-1', 600_000);
    let isGone = false;
    backend.reply(async ({ write }) => {
      const megabyte = 'x'.repeat(1024 * 1024);
      for (let sent = 0; sent < 64 && !isGone; sent++) isGone = !(await write(megabyte));
    });
    // A kernel that takes little at a time needs long for it.
    const { text } = await inquirer.ask('/models', { signal });
    expect(text.length).to.be.within(4 * 1024 * 1024, 5 * 1024 * 1024);
  });

  it('leaves out what came compressed', async () => {
    backend.reply({ text: 'xyz', headers: { 'content-encoding': 'gzip' } });
    expect(await inquirer.ask('/models', { signal })).to.deep.include({ status: 200, text: '' });
  });

  it('closes the socket when it is aborted, with the reason of that', async () => {
    const controller = new AbortController();
    backend.reply(({ hang }) => hang());
    const asking = failureOf(inquirer.ask('/models', { signal: controller.signal }));
    const { closed } = await backend.request(1);
    controller.abort(new Error('enough'));
    expect(await asking).to.equal('Error: enough');
    expect((await closed).aborted).to.equal(true);
  });
});
