/** What the log says of a backend that cannot be reached, or that refuses the gateway. Callers hear less. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { freePort } from '../support/free-port.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'static-key-1';
const UPSTREAM_KEY = 'sk-of-the-operator';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly backend?: string;
  readonly reason?: string;
  readonly problem?: string;
}

describe('the log of a backend', () => {
  useRealSockets();

  let scripted: ScriptedBackend;
  let folder: string;
  let gateway: TestGateway | undefined;
  let lines: Line[];

  beforeEach(async () => {
    scripted = await startScriptedBackend();
    folder = mkdtempSync(join(tmpdir(), 'unreachable-'));
    lines = [];
  });

  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await scripted.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(settings: Readonly<Record<string, string>>): Promise<void> {
    const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line) as Line) });
    gateway = await openGateway({ AUTH_MODE: 'static', API_KEYS: KEY, ...settings }, { log });
  }

  const openOnly = (baseUrl: string): Promise<void> =>
    open({ UPSTREAM_BASE_URL: baseUrl, UPSTREAM_API_KEY: UPSTREAM_KEY });

  function openListed(backends: readonly object[]): Promise<void> {
    const file = join(folder, 'backends.json');
    writeFileSync(file, JSON.stringify({ backends }));
    return open({ BACKENDS_FILE: file, GPU_A_KEY: UPSTREAM_KEY });
  }

  async function ask(path: string): Promise<string> {
    const reply = await fetch(`${gateway?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'Hello', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    return reply.text();
  }

  const told = (msg: string): readonly Line[] => lines.filter((line) => line.msg === msg);
  const unreachable = (): readonly Line[] => told('the backend cannot be reached');

  const PATHS = ['/v1/responses', '/v1/chat/completions'];

  for (const path of PATHS) {
    it(`says once to ${path} that nothing listens there`, async () => {
      await openOnly(`http://127.0.0.1:${await freePort()}/v1`);
      const replies = [await ask(path), await ask(path)];
      expect(unreachable()).to.have.lengthOf(1);
      expect(unreachable()[0]?.reason).to.equal('ECONNREFUSED');
      expect(unreachable()[0]?.problem).to.match(/refused the connection.*does it run/i);
      expect(replies.join()).to.include('upstream_unreachable').and.not.match(/ECONN/);
    });

    for (const status of [401, 403]) {
      it(`names the variable of the key that was refused with ${status} to ${path}, and not the key`, async () => {
        await openListed([
          { name: 'a', base_url: scripted.baseUrl, api_key_env: 'GPU_A_KEY', models: ['m'] },
          { name: 'b', base_url: scripted.baseUrl, models: ['n'] },
        ]);
        scripted.always({ json: { error: { message: `Bad key ${UPSTREAM_KEY}` } }, status });
        const reply = await ask(path);
        const [line] = told('the backend needs the operator');
        expect(line).to.include({ backend: 'a' });
        expect(line?.problem).to.include('GPU_A_KEY').and.not.include('UPSTREAM_API_KEY');
        expect(JSON.stringify(lines) + reply).to.not.include(UPSTREAM_KEY);
        expect(reply).to.not.include('GPU_A_KEY');
      });
    }

    it(`names UPSTREAM_API_KEY where ${path} has one backend`, async () => {
      await openOnly(scripted.baseUrl);
      scripted.always({ json: { error: { message: 'Bad key' } }, status: 401 });
      await ask(path);
      expect(told('the backend needs the operator')[0]?.problem).to.include('UPSTREAM_API_KEY');
    });
  }

  it('says it again after an answer', async () => {
    const port = await freePort();
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    await openOnly(baseUrl);
    await ask('/v1/responses');
    const back = await startScriptedBackend(port);
    back.always({
      json: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] },
    });
    await ask('/v1/chat/completions');
    await back.close();
    await ask('/v1/chat/completions');
    expect(unreachable()).to.have.lengthOf(2);
  });
});
