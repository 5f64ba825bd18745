import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Configuration } from '../../../src/cli/run/agents.ts';

interface Run {
  /** What its output is, and what went wrong where its exit status says so. */
  readonly printed: string;
  /** The hosts that it would have asked beside those of this machine. */
  readonly hosts: ReadonlySet<string>;
}

/** A program that asks for ever is ended. */
const TIME_LIMIT_MS = 200_000;

/** Runs a program with a home folder that is removed at its end, and with a proxy that lets nothing out. */
export async function runOffline(
  program: string,
  args: readonly string[],
  configure: (folder: string) => Configuration,
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'heavy-'));
  const { files, env } = configure(folder);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const proxy = await startProxy();
  const own = {
    PATH: process.env['PATH'],
    HOME: folder,
    TMPDIR: folder,
    XDG_CACHE_HOME: join(folder, '.cache'),
    XDG_CONFIG_HOME: join(folder, '.config'),
    XDG_DATA_HOME: join(folder, '.local/share'),
    XDG_STATE_HOME: join(folder, '.local/state'),
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    NO_PROXY: '127.0.0.1,localhost',
  };
  // In a group of its own, so that the programs that it starts can be ended with it.
  const options = { cwd: folder, env: { ...own, ...env }, detached: true } as const;
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), TIME_LIMIT_MS);
  try {
    const [printed, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { printed: child.exitCode === 0 ? printed : `${printed}\n${problems}`, hosts: proxy.hosts };
  } finally {
    clearTimeout(limit);
    proxy.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Notes which hosts are asked for, and refuses each. */
async function startProxy() {
  const hosts = new Set<string>();
  const server = createServer(({ headers }, res) => {
    hosts.add(headers.host ?? '');
    res.writeHead(403).end();
  });
  server.on('connect', ({ url = '' }, socket) => {
    hosts.add(url.replace(/:443$/, ''));
    // A client may hang up first.
    socket.on('error', () => undefined).end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, hosts, close };
}
