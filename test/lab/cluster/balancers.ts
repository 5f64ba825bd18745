/** Load balancers with the configurations of the guide, in front of gateways on this machine. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { blocksRunAs } from '../../docs/blocks.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/time.ts';

export interface Balancer {
  readonly name: string;
  readonly url: string;
  /** As the guide says for one that asks nobody for his health: new requests go to the others. */
  takeOut(place: number): void;
  putBack(): void;
  /** A reload closes the idle connections of its clients. */
  readonly keepsClients: boolean;
  /** What it has written to its log. */
  said(): string;
  close(): Promise<void>;
}

interface Kind {
  readonly name: 'nginx' | 'HAProxy' | 'Caddy';
  readonly language: string;
  readonly program: string;
  readonly args: (file: string) => readonly string[];
  /** The block of the guide as a whole configuration that listens on this port of 127.0.0.1. */
  readonly configure: (block: string, place: { readonly port: number; readonly folder: string }) => string;
  readonly asksForHealth: boolean;
}

const KINDS: readonly Kind[] = [
  {
    name: 'nginx',
    language: 'nginx',
    program: 'nginx',
    args: (file) => ['-c', file, '-e', 'stderr'],
    configure: (block, { port, folder }) => `
      ${process.getuid?.() === 0 ? 'user root;' : ''}
      daemon off;
      pid ${folder}/nginx.pid;
      error_log stderr error;
      events {}
      http {
        access_log off;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
        ${block.replace('listen 80;', `listen 127.0.0.1:${port};`)}
      }`,
    asksForHealth: false,
  },
  {
    name: 'HAProxy',
    language: 'haproxy',
    program: 'haproxy',
    args: (file) => ['-db', '-f', file],
    configure: (block, { port }) => block.replace('bind :80', `bind 127.0.0.1:${port}`),
    asksForHealth: true,
  },
  {
    name: 'Caddy',
    language: 'caddyfile',
    program: 'caddy',
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    configure: (block, { port }) => `
      {
        admin off
        default_bind 127.0.0.1
      }
      ${block.replace('gateway.example.com', `http://127.0.0.1:${port}`)}`,
    asksForHealth: true,
  },
];

/** Starts those that are installed, and says which are not. */
export async function openBalancers(gatewayPorts: readonly number[]): Promise<readonly Balancer[]> {
  const balancers: Balancer[] = [];
  for (const kind of KINDS) {
    const program = findProgram(kind.program);
    if (program === undefined) console.log(`\n  not run, since ${kind.program} is not installed: ${kind.name}`);
    else balancers.push(await openBalancer(kind, program, gatewayPorts));
  }
  return balancers;
}

async function openBalancer(kind: Kind, program: string, gatewayPorts: readonly number[]): Promise<Balancer> {
  const { code } = blocksRunAs('balancer').find(({ language }) => language === kind.language) ?? { code: '' };
  const block = gatewayPorts.reduce(
    (text, gatewayPort, place) => text.replaceAll(GUIDE_ADDRESSES[place] ?? '', `127.0.0.1:${gatewayPort}`),
    code,
  );
  const { url, configuration, said, reload, close } = await start(kind, { program, block, isUp: ({ ok }) => ok });
  return {
    name: kind.name,
    url,
    takeOut(place) {
      const address = `127.0.0.1:${gatewayPorts[place]}`;
      if (!kind.asksForHealth) reload(configuration.replace(`server ${address};`, `server ${address} down;`));
    },
    putBack() {
      if (!kind.asksForHealth) reload(configuration);
    },
    keepsClients: kind.asksForHealth,
    said,
    close,
  };
}

export interface Proxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a proxy with this block of configuration; undefined if it is not installed. */
export async function openProxy(name: Kind['name'], block: string): Promise<Proxy | undefined> {
  const kind = KINDS.find((one) => one.name === name);
  const program = kind && findProgram(kind.program);
  if (kind !== undefined && program !== undefined) return start(kind, { program, block, isUp: () => true });
  console.log(`\n  not run, since ${name} is not installed`);
  return undefined;
}

interface Start {
  readonly program: string;
  readonly block: string;
  /** Whether this reply to `/healthz` says that it serves. */
  readonly isUp: (reply: Response) => boolean;
}

async function start(kind: Kind, { program, block, isUp }: Start) {
  const folder = mkdtempSync(join(tmpdir(), 'balancer-'));
  const file = join(folder, 'config');
  const port = await freePort();
  const configuration = kind.configure(block, { port, folder });
  writeFileSync(file, configuration);
  const env = { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, kind.args(file), { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const url = `http://127.0.0.1:${port}`;
  const isServing = (): Promise<boolean> =>
    fetch(`${url}/healthz`)
      .then(isUp)
      .catch(() => false);
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${kind.name} ended: ${stderr}`);
    return isServing();
  });

  return {
    url,
    configuration,
    said: () => stderr,
    reload: (text: string): void => {
      writeFileSync(file, text);
      child.kill('SIGHUP');
    },
    close: async (): Promise<void> => {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const GUIDE_ADDRESSES = ['10.0.0.11:8080', '10.0.0.12:8080'];

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

/** Debian puts servers where not every user looks for programs. */
function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
