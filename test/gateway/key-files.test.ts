/** Keys in files that change while the gateway runs. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'key-of-a-caller-1';

describe('keys in files', () => {
  useRealSockets();

  let folder: string;
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;
  let nowMs: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'key-files-'));
    backend = await startScriptedBackend();
    nowMs = Date.now();
  });

  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await backend.close();
    rmSync(folder, { recursive: true });
  });

  const pathOf = (name: string): string => join(folder, name);
  const open = async (settings: Readonly<Record<string, string>>): Promise<TestGateway> => {
    gateway = await openGateway({ AUTH_MODE: 'static', ...settings }, { nowMs: () => nowMs });
    return gateway;
  };
  const ask = (path: string, body: object, key = KEY): Promise<Response> =>
    fetch(`${gateway?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    });
  const create = (key?: string): Promise<Response> => ask('/v1/responses', { input: 'Hello' }, key);

  for (const { name, settings } of [
    {
      name: 'UPSTREAM_API_KEY_FILE',
      settings: () => ({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_API_KEY_FILE: pathOf('token') }),
    },
    {
      name: 'api_key_file of BACKENDS_FILE',
      settings: () => {
        const backends = [{ name: 'a', base_url: backend.baseUrl, api_key_file: pathOf('token') }];
        writeFileSync(pathOf('backends.json'), JSON.stringify({ backends }));
        return { BACKENDS_FILE: pathOf('backends.json') };
      },
    },
  ]) {
    it(`answers every request of a quarter of an hour in which a token changes each minute: ${name}`, async () => {
      let valid: string[] = [];
      const rotate = (minute: number): void => {
        // The former token works for a moment more, as those of the clouds do.
        valid = [`token-${minute}`, `token-${minute - 1}`];
        writeFileSync(pathOf('token'), `token-${minute}\n`);
      };
      rotate(0);
      const answered = answer();
      backend.always((stage) => {
        const [, token = ''] = stage.request.headers.authorization?.split(' ') ?? [];
        if (valid.includes(token)) return answered(stage);
        stage.start(401, { 'content-type': 'application/json' });
        stage.end('{"error": {"message": "expired"}}');
      });
      await open({ API_KEYS: KEY, ...settings() });
      const statuses: number[] = [];
      for (let minute = 1; minute <= 15; minute += 1) {
        rotate(minute);
        statuses.push((await create()).status);
        nowMs += 1000;
        valid = [`token-${minute}`];
        statuses.push((await create()).status);
        const chat = { messages: [{ role: 'user', content: 'Hello' }] };
        statuses.push((await ask('/v1/chat/completions', chat)).status);
        nowMs += 59_000;
      }
      expect(statuses).to.deep.equal(Array.from({ length: 45 }, () => 200));
    });
  }

  it('lets in those that API_KEYS_FILE names after a reload, and no others', async () => {
    backend.always(answer());
    writeFileSync(pathOf('keys'), `# ours\n${KEY}\n`);
    const opened = await open({ UPSTREAM_BASE_URL: backend.baseUrl, API_KEYS_FILE: pathOf('keys') });
    const statuses = async () => [(await create()).status, (await create('key-of-a-caller-2')).status];
    expect(await statuses()).to.deep.equal([200, 401]);
    writeFileSync(pathOf('keys'), 'key-of-a-caller-2\n');
    expect(await statuses()).to.deep.equal([200, 401]);
    opened.reload();
    expect(await statuses()).to.deep.equal([401, 200]);
    writeFileSync(pathOf('keys'), '# none\n');
    opened.reload();
    expect(await statuses(), 'after a mistake').to.deep.equal([401, 200]);
  });
});
