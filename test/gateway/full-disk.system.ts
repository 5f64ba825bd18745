/** What clients are told while the disk of the records is full, and what holds once there is room again. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { allRecords, callerOf } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { startStaticGateway, type GatewayProcess } from '../support/gateway-process.ts';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts';
import { isPostgresInstalled } from '../support/postgres-server.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { until, untilRead } from '../support/time.ts';

const CLIENTS = 8;
const REFUSALS = 200;

const ENGINES = [
  { name: 'SQLite', megabytes: 6 },
  ...(isPostgresInstalled() ? [{ name: 'PostgreSQL', megabytes: 24 } as const] : []),
] as const;

for (const { name, megabytes } of ENGINES) {
  describe(`a gateway whose records are on a full disk, with ${name}`, () => {
    useRealSockets();
    let disk: SmallDisk | undefined;
    let server: OwnPostgres | undefined;
    let backend: ScriptedBackend;
    let gateway: GatewayProcess | undefined;
    let lines: string;

    beforeEach(async function () {
      disk = makeSmallDisk(megabytes);
      if (disk === undefined) return this.skip();
      lines = '';
      backend = await startScriptedBackend();
      backend.always(answer());
      gateway = await startStaticGateway(
        backend,
        {
          GATEWAY_SECRET: 'the secret of a gateway on a full disk',
          LOG_LEVEL: 'info',
          DATABASE_URL: name === 'SQLite' ? `file:${join(disk.folder, 'gateway.db')}` : await makeServer(disk.folder),
        },
        { isImpatient: true, onLog: (piece) => (lines += piece) },
      );
      return undefined;
    });
    afterEach(async () => {
      gateway?.kill();
      await gateway?.ended();
      await backend?.close();
      await server?.close();
      disk?.close();
      gateway = server = disk = undefined;
    });

    /** Its tables are on this disk, and nothing else of it is. */
    async function makeServer(folder: string): Promise<string> {
      const place = join(folder, 'tables');
      mkdirSync(place);
      if (process.getuid?.() === 0) execFileSync('chown', ['postgres', place]);
      server = await startOwnPostgres();
      await server.sql(`CREATE TABLESPACE small LOCATION '${place}'`);
      await server.sql('ALTER DATABASE gateway SET TABLESPACE small');
      return server.url;
    }

    it('is told the truth, has one line a second in the log, and goes on without a restart', async () => {
      const caller = callerOf(gateway?.url ?? '');
      const isReady = async () => (await fetch(`${gateway?.url}/readyz`)).status === 200;
      const whole: string[] = [];
      let refused = 0;
      const over = new AbortController();
      const work = Array.from({ length: CLIENTS }, async () => {
        while (!over.signal.aborted) {
          const reply = await caller.create({ model: 'm', input: 'Hi', stream: true });
          const text = await reply.text();
          if (reply.status === 200 && text.includes('data: [DONE]'))
            whole.push(reply.headers.get('x-request-id') ?? '');
          else {
            expect([reply.status, /"code":"(\w+)"/.exec(text)?.[1]]).to.deep.equal([503, 'store_unavailable']);
            refused += 1;
          }
        }
      });
      await until(() => whole.length > 20);
      const fullAtMs = performance.now();
      disk?.fill();
      await until(() => refused >= REFUSALS);
      expect(await isReady()).to.equal(false);
      disk?.free();
      await until(isReady);
      // A slow machine is refused for longer, and its small writes may succeed for a second in between.
      const mostLines = Math.ceil((performance.now() - fullAtMs) / 1000) + 3;
      const before = whole.length;
      await until(() => whole.length > before + 20);
      over.abort();
      await Promise.all(work);

      const count = (word: string): number => lines.split(word).length - 1;
      expect(count('"errorCode":"store_unavailable"'), 'lines of refusals').to.be.within(1, mostLines);
      expect(count('the store cannot be written'), 'lines of the store').to.be.within(1, mostLines);
      await untilRead(async () => {
        const running = await (await caller.get('/api/v1/requests?status=processing')).json();
        return (running as { data: unknown[] }).data.length === 0;
      });
      const records = await allRecords(caller);
      for (const id of whole) expect(records.get(id)?.status, id).to.equal('succeeded');
    });
  });
}
