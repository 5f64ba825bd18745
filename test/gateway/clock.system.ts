/** A gateway whose clock is set forward and back by hours while it works. */
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts';
import { answer } from '../records/chunks.ts';
import { MANAGED, openWorkers, type Workers } from '../process/workers/open-workers.ts';
import { expectBooksToAddUp } from '../support/books.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';
import { speakTo } from '../support/web-socket.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
if (library === undefined) {
  if (process.env['CI'] !== undefined) throw new Error('faketime is not installed');
  console.log('  not run, since faketime is not installed: clocks that are set');
}

const BODY = { model: 'm', input: 'Hello' };

if (library !== undefined) {
  describe('a gateway whose clock is set', () => {
    useRealSockets();
    let folder: string;
    let workers: Workers;
    /** It begins at noon, so that no jump comes to another day. */
    const noonMs = DAY_MS / 2 - (Date.now() % DAY_MS);

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'clock-'));
      setClock(noonMs);
      workers = await openWorkers({
        ...MANAGED,
        WORKERS: '1',
        LOG_LEVEL: 'info',
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: join(folder, 'clock'),
        FAKETIME_CACHE_DURATION: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      });
    });
    afterEach(async () => {
      await workers.close();
      rmSync(folder, { recursive: true });
    });

    function setClock(aheadMs: number): void {
      const seconds = Math.round(aheadMs / 1000);
      writeFileSync(join(folder, 'clock'), `${seconds < 0 ? '' : '+'}${seconds}s\n`);
    }

    async function jump(hours: number): Promise<void> {
      setClock(noonMs + hours * HOUR_MS);
      await until(async () => {
        const { headers } = await fetch(`${workers.url}/healthz`);
        const aheadMs = Date.parse(headers.get('date') ?? '') - Date.now();
        return Math.abs(aheadMs - noonMs - hours * HOUR_MS) < HOUR_MS / 2;
      });
    }

    for (const hours of [5, -5]) {
      it(`by ${hours} hours ends what runs, holds nothing, locks nobody out, and loses no record and no WebSocket`, async () => {
        const key = await workers.issueKey({ credits: '1.00', limits: { requests_per_minute: 3 } });
        const socket = await speakTo(workers.url, { apiKey: key.secret });
        const letGo = Promise.withResolvers<void>();
        workers.backend.always(async (stage) => {
          await letGo.promise;
          await answer()(stage);
        });
        const running = workers.newConnection(key.secret).create(BODY);
        await workers.backend.request(1);
        const connection = workers.newConnection(key.secret);
        workers.backend.always(answer());
        while ((await connection.create(BODY)).status !== 429);

        await jump(hours);
        expect(await socket.ask({ type: 'response.create', ...BODY })).to.be.an('array');
        expect(await connection.create(BODY)).to.include({ status: 200 });
        letGo.resolve();
        expect(await running).to.include({ status: 200 });
        const { text } = await connection.ask('GET', '/api/v1/requests');
        const { data } = JSON.parse(text) as { data: readonly { status: string }[] };
        expect(data.map(({ status }) => status)).to.deep.equal(data.map(() => 'succeeded'));
        const { requests } = expectBooksToAddUp(workers.file, key.id);
        expect(data).to.have.lengthOf(requests);
        expect((await fetch(`${workers.url}/readyz`)).status).to.equal(200);
        socket.close();
      });
    }
  });
}
