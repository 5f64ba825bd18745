/** Three backends, of which one at a time fails in every way, under requests of many callers. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { callerOf } from '../records/caller.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const REFUSED = { error: { message: 'not now' } };
const FAULTS: Readonly<Record<string, Reply>> = {
  'is overloaded': { status: 503, json: REFUSED },
  'has reached a limit': { status: 429, json: REFUSED },
  'says when its limit is over': { status: 429, headers: { 'retry-after': '1' }, json: REFUSED },
  'has a fault': { status: 500, json: REFUSED },
  'is away behind a proxy': { status: 502, headers: { 'content-type': 'text/html' }, text: '<h1>Bad Gateway</h1>' },
  'breaks the connection': ({ cut }) => cut(),
  'resets the connection': ({ cut }) => cut('reset'),
};
const CALLERS = 128;

describe('three backends, one of which fails', () => {
  useRealSockets();

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`let no caller notice one that ${name}, and charge each request once`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'backends-chaos-'));
      const backends = await Promise.all(Array.from({ length: 3 }, () => startScriptedBackend()));
      const file = join(folder, 'backends.json');
      const listed = backends.map(({ baseUrl }, index) => ({ name: `b${index}`, base_url: baseUrl }));
      writeFileSync(file, JSON.stringify({ backends: listed }));
      let nowMs = Date.now();
      const gateway = await openManagedGateway({ BACKENDS_FILE: file, FAILOVER: 'any' }, { nowMs: () => nowMs });
      try {
        const funds = 1_000_000_000;
        const { secret, key } = await gateway.issue({ creditsMicro: funds });
        const caller = callerOf(gateway.url, secret);
        for (const failing of backends) {
          for (const backend of backends) backend.always(backend === failing ? fault : answer('Hello'));
          await Promise.all(Array.from({ length: CALLERS }, (_, index) => ask(caller, index)));
          // The one that has failed may come back.
          nowMs += 120_000;
        }
        expect(backends.every(({ requests }) => requests.length > 0)).to.equal(true);
        const requests = backends.length * CALLERS;
        // 11 tokens of input for 2 millionths each, and 7 of output for 10.
        expect((await gateway.store.findKey(key.keyId))?.balanceMicro).to.equal(funds - requests * (11 * 2 + 7 * 10));
      } finally {
        await gateway.close();
        await Promise.all(backends.map((backend: ScriptedBackend) => backend.close()));
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  async function ask(caller: ReturnType<typeof callerOf>, index: number): Promise<void> {
    const stream = index % 2 === 0;
    const reply = await caller.create({ model: 'm', input: `Hello ${index}`, stream });
    const text = await reply.text();
    expect(reply.status, text).to.equal(200);
    if (!stream) return;
    const events = parseEvents(text);
    expectWellFormed(events);
    expect(events.at(-1)?.type).to.equal('response.completed');
  }
});
