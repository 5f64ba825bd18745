/** Who cancels, or goes away, while his request has moved to a second backend or waits for a place at one. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { RequestRecord } from '../../src/contract/types.ts';
import { callerOf, readError, readRecord, type Caller } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

const ADMIN_TOKEN = 'admin-token-canary-1';
const CREDITS_MICRO = 1_000_000;
const ENDINGS = ['cancels', 'goes away'] as const;

describe('a request for JSON among several backends', () => {
  useRealSockets();

  let folder: string;
  let file: string;
  let a: ScriptedBackend;
  let b: ScriptedBackend;
  let gateway: ManagedGateway;
  let issued: IssuedKey;
  let caller: Caller;
  let leaving: AbortController;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'backends-cancel-'));
    file = join(folder, 'backends.json');
    [a, b] = [await startScriptedBackend(), await startScriptedBackend()];
    leaving = new AbortController();
  });

  afterEach(async () => {
    await gateway.close();
    await Promise.all([a.close(), b.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(of: object = {}): Promise<void> {
    const backends = Object.entries({ a, b }).map(([name, { baseUrl }]) => ({ name, base_url: baseUrl, ...of }));
    writeFileSync(file, JSON.stringify({ backends, queue_timeout_ms: 600_000 }));
    // Nobody leaves the queue because of the time.
    gateway = await openManagedGateway({ BACKENDS_FILE: file, ADMIN_TOKEN });
    issued = await gateway.issue({ creditsMicro: CREDITS_MICRO });
    caller = callerOf(gateway.url, issued.secret);
  }

  function ask(name: string): Promise<Response> {
    const body = { model: 'm', input: 'Hello', prompt_cache_key: 'one', max_output_tokens: 100 };
    return caller.create(body, { headers: { 'idempotency-key': name }, signal: leaving.signal });
  }

  async function find(name: string): Promise<RequestRecord> {
    return readRecord(await caller.get('/api/v1/requests', { 'idempotency-key': name }));
  }

  /** Resolves with the final record. */
  async function end(how: (typeof ENDINGS)[number], name: string, asked: Promise<Response>): Promise<RequestRecord> {
    const { request_id: id } = await find(name);
    if (how === 'cancels') {
      expect((await caller.cancel(id)).status).to.equal(202);
      expect(await readError(await asked)).to.include({ code: 'request_cancelled' });
    } else {
      leaving.abort();
      await asked.catch(() => undefined);
    }
    const record = await caller.final(id);
    expect([record.status, record.error?.code]).to.deep.equal([
      'cancelled',
      how === 'cancels' ? 'request_cancelled' : 'client_disconnected',
    ]);
    return record;
  }

  async function balance(): Promise<{ readonly balanceMicro: number | null; readonly heldMicro: number }> {
    const key = await gateway.store.findKey(issued.key.keyId);
    if (key === undefined) throw new Error('the key is gone');
    return { balanceMicro: key.balanceMicro, heldMicro: key.heldMicro };
  }

  async function states(): Promise<readonly { readonly running: number; readonly waiting: number }[]> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const reply = await fetch(`${gateway.url}/admin/v1/backends`, { headers });
    return ((await reply.json()) as { data: { running: number; waiting: number }[] }).data;
  }

  for (const how of ENDINGS) {
    it(`stops the second backend of one who ${how}, and charges once`, async () => {
      await open();
      // The first that is asked refuses.
      const order: ScriptedBackend[] = [];
      for (const backend of [a, b])
        backend.always(({ start, end: finish, hang }) => {
          if (order.push(backend) > 1) return hang();
          start(503);
          return finish();
        });
      const asked = ask('moved');
      await until(() => order.length === 2);
      const record = await end(how, 'moved', asked);
      expect(await order[1]?.requests[0]?.closed).to.include({ aborted: true });
      expect(order.length).to.equal(2);
      expect(await balance()).to.deep.equal({ balanceMicro: CREDITS_MICRO - (record.cost ?? 0), heldMicro: 0 });
    });

    it(`takes one who ${how} out of the queue, asks nobody and charges nothing`, async () => {
      await open({ max_concurrent: 1 });
      const place = Promise.withResolvers<void>();
      for (const backend of [a, b])
        backend.always(async (stage) => {
          await place.promise;
          await answer()(stage);
        });
      const leaver = leaving;
      leaving = new AbortController();
      const running = [ask('first'), ask('second')];
      await until(() => a.requests.length + b.requests.length === 2);
      leaving = leaver;
      const waiting = ask('waiting');
      await until(async () => (await states()).every((state) => state.waiting === 1));
      const record = await end(how, 'waiting', waiting);
      expect([record.cost ?? 0, record.upstream]).to.deep.equal([0, null]);
      expect((await states()).map((state) => [state.running, state.waiting])).to.deep.equal([
        [1, 0],
        [1, 0],
      ]);
      place.resolve();
      for (const reply of await Promise.all(running)) expect(reply.status).to.equal(200);
      expect(a.requests.length + b.requests.length).to.equal(2);
      expect(await balance()).to.deep.equal({ balanceMicro: CREDITS_MICRO - 2 * 92, heldMicro: 0 });
    });
  }
});
