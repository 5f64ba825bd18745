import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { blocksRunAs } from './blocks.ts';
import { ROOT } from './documents.ts';
import { readCommands } from './shell.ts';

const run = promisify(execFile);
const server = await findPostgres();
const CLI = `'${process.execPath}' '${join(ROOT, 'src/cli/main.ts')}'`;
/** The database of the guide, which has another address here. */
const EXAMPLE = 'postgres://gateway@db.example.com/gateway';

if (server !== undefined) {
  describe('the commands of a guide that need a PostgreSQL', () => {
    let folder: string;
    let database: TestDatabase;
    let restored: TestDatabase;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'guide-'));
      database = await createTestDatabase(server);
      restored = await createTestDatabase(server);
    });

    after(async () => {
      await Promise.all([database.drop(), restored.drop()]);
      rmSync(folder, { recursive: true, force: true });
    });

    it('bring a SQLite database into it, dump it, and restore it', async () => {
      await type(`${CLI} db migrate`, 'file:./data/gateway.db');
      await type(`${CLI} keys create --name alice --credits 1`, 'file:./data/gateway.db');
      // First those that move the database to PostgreSQL, then those that need it there.
      const commands = blocksRunAs('postgres').flatMap(({ code }) => readCommands(code));
      const moves = commands.filter((command) => command.includes(EXAMPLE));
      const dumps = commands.filter((command) => !command.includes(EXAMPLE));
      expect([moves.length, dumps.length]).to.deep.equal([2, 1]);
      for (const command of moves) await type(command, 'file:./data/gateway.db');
      for (const command of dumps) await type(command, database.url);
      await type('pg_restore --no-owner -d $DATABASE_URL gateway.dump', restored.url);
      expect(await type(`${CLI} db check`, restored.url)).to.match(/add/);
      expect(await type(`${CLI} keys show alice`, restored.url)).to.match(/alice/);
    });

    async function type(command: string, databaseUrl: string): Promise<string> {
      const typed = command
        .replaceAll(EXAMPLE, database.url)
        .replaceAll('./gateway', CLI)
        .replaceAll('PGPASSWORD=… ', '');
      const { stdout } = await run('bash', ['--norc', '-euc', typed], {
        cwd: folder,
        env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, GATEWAY_SECRET: 'a secret that is long enough' },
      });
      return stdout;
    }
  });
}
