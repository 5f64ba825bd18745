/** PgBouncer in front of a server, in a folder of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './time.ts';

export interface Pooler {
  /** As `url` of what it stands in front of. */
  readonly url: string;
  close(): Promise<void>;
}

export interface PoolerOptions {
  readonly mode: 'session' | 'transaction';
  /** How many prepared statements it keeps for each connection; 0 for none. */
  readonly keeps: number;
}

/** The first version that keeps prepared statements in transaction mode. */
const KEEPS_FROM = [1, 21] as const;

/** Whether there is one that keeps prepared statements; else says why not, and fails where all parts must be there. */
export function isPgBouncerInstalled(): boolean {
  const found = versionOf();
  const [major = 0, minor = 0] = found?.split('.').map(Number) ?? [];
  if (major > KEEPS_FROM[0] || (major === KEEPS_FROM[0] && minor >= KEEPS_FROM[1])) return true;
  const why = `PgBouncer ${KEEPS_FROM.join('.')} or newer is not installed (pgbouncer; found: ${found ?? 'none'})`;
  if (process.env['CI'] !== undefined) throw new Error(why);
  console.log(`  not run, since ${why}: the tests of poolers`);
  return false;
}

function versionOf(): string | undefined {
  try {
    return /PgBouncer ([\d.]+)/.exec(execFileSync('pgbouncer', ['--version'], { encoding: 'utf8' }))?.[1];
  } catch {
    return undefined;
  }
}

/** Starts one in front of the database of this URL. Resolves when it takes connections. */
export async function startPgBouncer(url: string, { mode, keeps }: PoolerOptions): Promise<Pooler> {
  const target = new URL(url);
  const database = target.pathname.slice(1);
  const user = decodeURIComponent(target.username);
  const password = target.password === '' ? '' : ` password=${decodeURIComponent(target.password)}`;
  const port = await freePort();
  // Made where the user whom it runs as may enter.
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
${database} = host=${target.hostname} port=${target.port || '5432'} user=${user}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
max_prepared_statements = ${keeps}
ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout
`,
  );
  const run = ['pgbouncer', '--quiet', file] as const;
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync('chown', ['-R', 'postgres', folder]);
  const child = isRoot
    ? spawn('setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', ...run], {
        cwd: '/',
        stdio: 'ignore',
      })
    : spawn(run[0], run.slice(1), { cwd: '/', stdio: 'ignore' });
  const ended = once(child, 'exit');
  await until(async () => (await listens(port)) || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error('PgBouncer did not start');
  const own = new URL(url);
  own.host = `127.0.0.1:${port}`;
  return {
    url: own.href,
    async close() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => resolve(socket.destroy() !== undefined));
    socket.once('error', () => resolve(false));
  });
}
