/**
 * A PostgreSQL of the test alone, to be stopped, killed and made a replica: started from the programs that are installed,
 * with a folder of its own.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';

const run = promisify(execFile);

export interface OwnPostgres {
  /** Of a database `gateway` and an ordinary role, which has to show its password. */
  readonly url: string;
  /** As the operator, in the database `postgres`, whoever else is kept out. */
  sql(text: string): Promise<readonly unknown[]>;
  /** `fast` ends all sessions; `immediate` is a crash, after which the server recovers from its log. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
  /** From the next start on it is a standby, which only answers lookups. */
  becomeStandby(): Promise<void>;
  becomePrimary(): Promise<void>;
  close(): Promise<void>;
}

const PROGRAMS = '/usr/lib/postgresql';

/** The folder of the programs of the newest version; undefined, after a line which says so, where none are installed. */
export function findPostgresPrograms(): string | undefined {
  const versions = existsSync(PROGRAMS) ? readdirSync(PROGRAMS) : [];
  const newest = versions.toSorted((one, other) => Number(other) - Number(one))[0];
  const folder = join(PROGRAMS, newest ?? '', 'bin');
  if (newest !== undefined && existsSync(join(folder, 'initdb'))) return folder;
  console.log(`  not run, since there is no initdb below ${PROGRAMS}: restarts, crashes and replicas of PostgreSQL`);
  return undefined;
}

/** Makes a server with these programs. It refuses to run as root, so that as root it becomes the user that its package made. */
export async function startOwnPostgres(programs: string): Promise<OwnPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
  await chmod(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder, ...(await findUser()));
  const data = join(folder, 'data');
  const port = await findPort();

  const as = (program: string, ...parameters: readonly string[]) => {
    const command = [join(programs, program), ...parameters];
    const [first = '', ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command;
    return run(first, rest, { cwd: folder });
  };
  const start = async () => {
    await as('pg_ctl', '--pgdata', data, '--wait', '--log', join(folder, 'log'), 'start');
  };

  // Nothing in it has to survive the machine, and a crash of the server alone loses nothing all the same.
  await as(
    'initdb',
    '--pgdata',
    data,
    '--username',
    'postgres',
    '--auth-local=trust',
    '--auth-host=scram-sha-256',
    '--no-sync',
  );
  await appendFile(
    join(data, 'postgresql.conf'),
    `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${folder}'\nfsync = off\nmax_connections = 20\n`,
  );
  await start();
  const sql = async (text: string) => {
    const client = new Client({ host: folder, port, user: 'postgres', database: 'postgres' });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows as readonly unknown[];
    } finally {
      await client.end();
    }
  };
  await sql(`CREATE ROLE gateway LOGIN PASSWORD 'canary'`);
  await sql('CREATE DATABASE gateway OWNER gateway');

  return {
    url: `postgres://gateway:canary@127.0.0.1:${port}/gateway`,
    sql,
    start,
    async stop(mode) {
      await as('pg_ctl', '--pgdata', data, '--wait', '--mode', mode, 'stop');
    },
    async becomeStandby() {
      await writeFile(join(data, 'standby.signal'), '');
    },
    async becomePrimary() {
      await rm(join(data, 'standby.signal'));
    },
    async close() {
      // It may be stopped already.
      await as('pg_ctl', '--pgdata', data, '--wait', '--mode', 'immediate', 'stop').catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function findUser(): Promise<[uid: number, gid: number]> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => (await run('id', [flag, 'postgres'])).stdout));
  return [Number(uid), Number(gid)];
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
