/** A PostgreSQL of the test alone, to be stopped, killed and made a replica. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgresServer, type PostgresServer } from './postgres-server.ts';
import { until } from './time.ts';

export interface OwnPostgres {
  /** Of a database `gateway` and an ordinary role, which has to show its password. */
  readonly url: string;
  /** As many as an ordinary role may have. */
  readonly connections: number;
  /** As the operator, in the database `postgres`, whoever else is kept out. */
  sql(text: string): Promise<readonly unknown[]>;
  /** `fast` ends all sessions; `immediate` is a crash, after which the server recovers from its log. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
  /** From the next start on it is a standby, which only answers lookups. */
  becomeStandby(): Promise<void>;
  becomePrimary(): Promise<void>;
  /** Starts a replica that has everything which this one has committed, until it is promoted. */
  startStandby(): Promise<Standby>;
  close(): Promise<void>;
}

export interface Standby {
  readonly port: number;
  /** Gets nothing more of what the primary commits, and has all that it has committed so far. */
  fallBehind(): Promise<void>;
  promote(): Promise<void>;
  close(): Promise<void>;
}

const CONNECTIONS = 17;

/** Makes one. Throws where PostgreSQL is not installed. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const server = await startPostgresServer({
    hostAuth: 'scram-sha-256',
    // Nothing in it has to survive the machine, and a crash of the server alone loses nothing all the same.
    settings: `fsync = off\nmax_connections = ${CONNECTIONS + 3}\nsuperuser_reserved_connections = 3\n`,
  });
  const { port, dataFolder } = server;
  const sql = (text: string) => askServer(server, text);
  await sql(`CREATE ROLE gateway LOGIN PASSWORD 'canary'`);
  await sql('CREATE DATABASE gateway OWNER gateway');

  return {
    url: `postgres://gateway:canary@127.0.0.1:${port}/gateway`,
    connections: CONNECTIONS,
    sql,
    start: () => server.start(),
    stop: (mode) => server.stop(mode),
    async startStandby() {
      const standby = await startPostgresServer({ standbyOf: server });
      return {
        port: standby.port,
        async fallBehind() {
          const [committed] = await sql('SELECT pg_current_wal_lsn()::text AS lsn');
          const { lsn } = committed as { lsn: string };
          await until(
            async () => (await askServer(standby, `SELECT 1 WHERE pg_last_wal_replay_lsn() >= '${lsn}'`)).length > 0,
          );
          await askServer(standby, `ALTER SYSTEM SET primary_conninfo = ''`);
          await askServer(standby, 'SELECT pg_reload_conf()');
          await until(async () => (await sql('SELECT 1 FROM pg_stat_replication')).length === 0);
        },
        promote: async () => void (await askServer(standby, 'SELECT pg_promote()')),
        close: () => standby.close(),
      };
    },
    close: () => server.close(),
    async becomeStandby() {
      await writeFile(join(dataFolder, 'standby.signal'), '');
    },
    async becomePrimary() {
      await rm(join(dataFolder, 'standby.signal'));
    },
  };
}

async function askServer({ socketFolder, port }: PostgresServer, text: string): Promise<readonly unknown[]> {
  const client = new Client({ host: socketFolder, port, user: 'postgres', database: 'postgres' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows as readonly unknown[];
  } finally {
    await client.end();
  }
}
