import Sqlite from 'better-sqlite3';
import { describePromises } from '../../lab/cluster/promises.ts';
import { openCluster, type Gateways } from '../../lab/cluster/open-cluster.ts';
import { callerOf } from '../../records/caller.ts';
import { expectBooksToAddUp } from '../../support/books.ts';
import { findPostgres } from '../../support/postgres.ts';
import { MANAGED, openWorkers } from './open-workers.ts';

const SETTINGS = { ...MANAGED, WORKERS: '3', LOG_LEVEL: 'silent', PUBLIC_BASE_URL: 'http://gateway.example.com' };

/** Whoever asks is handed to one of them in turn. */
async function openOnSqlite(): Promise<Gateways> {
  const workers = await openWorkers(SETTINGS);
  return {
    backend: workers.backend,
    at: (_place, secret) => callerOf(workers.url, secret),
    issueKey: (credits) => workers.issueKey({ credits }),
    books: async (keyId) => expectBooksToAddUp(workers.file, keyId),
    async findHold(keyId) {
      const database = new Sqlite(workers.file, { readonly: true });
      const sql = 'SELECT requests.held_micro FROM requests JOIN keys ON keys.seq = requests.key WHERE key_id = ?';
      const held = database.prepare<[string], number>(sql).pluck().get(keyId);
      database.close();
      return held ?? 0;
    },
    close: () => workers.close(),
  };
}

describePromises('three workers that share a port and a SQLite database', openOnSqlite);

const server = await findPostgres();

if (server !== undefined) {
  describePromises('three workers that share a port and a PostgreSQL database', () =>
    openCluster(server, [{ settings: { WORKERS: '3' } }]),
  );
}
