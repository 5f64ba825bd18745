/** Nothing of a prompt, a completion or a key stays anywhere: a marked text is put into all of them and looked for everywhere. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import { openStore } from '../../src/store/open.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { callerOf } from './caller.ts';
import { expectUnmarked, MARK, readFiles, REQUEST, tellEverything } from './canary.ts';
import { answer } from './chunks.ts';
import type { SentPrompt } from './prompt-worker.ts';

describe('what is told to the gateway', () => {
  useRealSockets();

  let folder: string;
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'records-'));
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await backend.close();
    rmSync(folder, { recursive: true });
  });

  const databaseUrl = (): string => `file:${join(folder, 'data', 'gateway.db')}`;

  it('stays neither in a file nor in the log nor in the metrics, and reaches no other reply', async () => {
    const lines: string[] = [];
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl, DATABASE_URL: databaseUrl(), METRICS_PORT: '0' },
      { log: createLogger('trace', { write: (line) => void lines.push(line) }) },
    );
    const replies = await tellEverything(gateway.url, backend);

    const files = readFiles(folder);
    expect([...files.keys()].filter((name) => /gateway\.db(?:-wal|-shm)?$/.test(name)).length).to.equal(3);
    for (const [name, content] of files) expectUnmarked(content, name);
    expectUnmarked(lines.join(''), 'the log');
    expectUnmarked(await (await fetch(`${gateway.metricsUrl}/metrics`)).text(), 'the metrics');
    for (const [index, reply] of replies.entries()) expectUnmarked(reply, `reply ${index} which is not an answer`);
    // The test would see nothing if nothing had happened.
    expect(JSON.stringify(backend.requests.map(({ body, headers }) => [body, headers]))).to.include(MARK);
    expect(lines.filter((line) => line.includes('the-model')).length).to.be.above(20);
    expect(replies.filter((reply) => reply.includes('rgwc1_'))).to.have.length(1);
    expect(replies.join('')).to.include('"broken_at":"instructions"');
    expect(lines.join('')).to.include('"brokenAt":"instructions"');

    await gateway.close();
    for (const [name, content] of readFiles(folder)) expectUnmarked(content, `${name} after the end`);
  });

  it('is not in what the memory keeps of prompts to know the next turn by', async () => {
    const { instructions, tools, input } = REQUEST;
    const toPrompt = (...messages: object[]): SentPrompt => ({
      client: Buffer.from(JSON.stringify({ ...REQUEST, input: [...input, ...messages] })),
      sent: Buffer.from(
        JSON.stringify({ messages: [{ role: 'system', content: instructions }, ...input, ...messages], tools }),
      ),
    });
    const more = { role: 'user', content: `${MARK} once more` };
    const prompts = [toPrompt(), toPrompt(more), toPrompt({ ...more, content: `${MARK} in other words` }, more)];
    // Without mocha's `--import`. The dump has the first 1024 characters of each string.
    const worker = new Worker(new URL('./prompt-worker.ts', import.meta.url), { execArgv: [] });
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
      worker.postMessage({ prompts, keeps: Buffer.from('a text that the memory keeps') });
      const [turns] = (await once(worker, 'message')) as unknown[];
      expect(turns).to.deep.equal([
        { turn: 'first' },
        { turn: 'extended' },
        { turn: 'broken', at: 'message 6 of 6', by: 'client' },
      ]);
      const dump = await text(await worker.getHeapSnapshot());
      expect(dump).to.include('a text that the memory keeps');
      expectUnmarked(dump, 'the memory');
    } finally {
      await worker.terminate();
    }
  });

  it('is not in what the gateway says of its own mistakes', async () => {
    const lines: string[] = [];
    const store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30 });
    const mistaken = new TypeError(`${MARK}\n    at ${MARK} (file:///${MARK}:1:1)\n${MARK}`, {
      cause: new Error(MARK),
    });
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl },
      {
        log: createLogger('trace', { write: (line) => void lines.push(line) }),
        store: {
          ...store,
          accept: () => Promise.reject(mistaken),
          record: () => Promise.reject(mistaken),
          find: () => Promise.reject(mistaken),
        },
      },
    );
    const caller = callerOf(gateway.url);
    const replies = [
      await caller.create({ model: 'm', input: 'Hello' }),
      await caller.get('/api/v1/requests/req_0123456789abcdef0123456789abcdef'),
    ];
    for (const reply of replies) {
      expect(reply.status).to.equal(502);
      expectUnmarked(await reply.text(), 'the reply');
    }
    expectUnmarked(lines.join(''), 'the log');
    expect(lines.join('')).to.include('TypeError');
  });

  it('is kept in files that only their owner can read', async () => {
    const mask = process.umask(0);
    try {
      gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, DATABASE_URL: databaseUrl() });
      backend.reply(answer());
      expect((await gateway.create({ model: 'm', input: 'Hello' })).status).to.equal(200);
    } finally {
      process.umask(mask);
    }
    const files = [...readFiles(folder).keys()];
    expect(files.length).to.be.within(4, 6);
    for (const file of files) expect(statSync(file).mode & 0o777, file).to.equal(0o600);
    expect(statSync(join(folder, 'data')).mode & 0o777).to.equal(0o700);
  });
});
