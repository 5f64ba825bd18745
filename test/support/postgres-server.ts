/** A PostgreSQL of its own, in a folder of its own: for what a server that others use would not stand, such as its end. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

export interface PostgresServer {
  /** Of the process that all others of it descend from, until its next start. */
  readonly pid: number;
  /** Of a database that is always there; the role may make others. The same after each start. */
  readonly url: string;
  /** Resolves when it takes connections. */
  start(): Promise<void>;
  /** `fast` ends all sessions and writes everything; `immediate` is a crash, after which it recovers at its start. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** Stops it and removes its folder. */
  close(): Promise<void>;
  readonly port: number;
  /** Of its socket, over which nobody has to show a password. */
  readonly socketFolder: string;
  readonly dataFolder: string;
}

interface ServerOptions {
  /** What whoever comes over TCP has to show; nothing by default. */
  readonly hostAuth?: 'trust' | 'scram-sha-256';
  /** Lines of its configuration. */
  readonly settings?: string;
  /** It begins as a replica of this one, with the settings of that. */
  readonly standbyOf?: Pick<PostgresServer, 'port' | 'socketFolder'>;
}

/** Makes one and starts it. Throws where PostgreSQL is not installed. */
export async function startPostgresServer({
  hostAuth = 'trust',
  settings = '',
  standbyOf,
}: ServerOptions = {}): Promise<PostgresServer> {
  const programs = findPrograms();
  if (programs === undefined) throw new Error('PostgreSQL is not installed');
  // Made where the user whom PostgreSQL runs as may enter.
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
  const asPostgres = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--'] : [];
  if (asPostgres.length > 0) await run(['chown', 'postgres', folder]);
  const data = join(folder, 'data');
  const port = await freePort();
  const control = [...asPostgres, join(programs, 'pg_ctl'), '--pgdata', data, '--wait'];
  const auth = ['--auth-local=trust', `--auth-host=${hostAuth}`];
  const toMake =
    standbyOf === undefined
      ? [join(programs, 'initdb'), ...auth]
      : [join(programs, 'pg_basebackup'), ...REPLICA, `--host=${standbyOf.socketFolder}`, `--port=${standbyOf.port}`];
  await run([...asPostgres, ...toMake, '--pgdata', data, '--username', 'postgres', '--no-sync']);
  appendFileSync(
    join(data, 'postgresql.conf'),
    `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${folder}'\n${settings}`,
  );

  const server: PostgresServer = {
    get pid() {
      return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
    },
    port,
    socketFolder: folder,
    dataFolder: data,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async start() {
      // Not with a pipe of ours, which the server would keep open.
      const child = spawn(control[0] ?? '', [...control.slice(1), '--log', join(folder, 'server.log'), 'start'], {
        cwd: '/',
        stdio: 'ignore',
      });
      const [exitCode] = (await once(child, 'exit')) as [number | null];
      if (exitCode !== 0) throw new Error('PostgreSQL did not start');
    },
    stop: (how) => run([...control, '--mode', how, 'stop']),
    async close() {
      await server.stop('immediate').catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  process.once('exit', () => endAtOnce(server, folder));
  return server;
}

const REPLICA = ['--write-recovery-conf', '--checkpoint=fast'];

/** Of a process that does not come to close it. */
function endAtOnce(server: PostgresServer, folder: string): void {
  try {
    process.kill(server.pid, 'SIGQUIT');
  } catch {
    // It has ended already.
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Whether one can be started here. */
export function isPostgresInstalled(): boolean {
  return findPrograms() !== undefined;
}

/** The folder of the newest version, as Debian installs them, or else of the one in the path. */
function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')));
}

const execute = promisify(execFile);

async function run([command = '', ...parameters]: readonly string[]): Promise<void> {
  await execute(command, parameters, { cwd: '/' });
}
