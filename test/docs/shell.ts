/** What somebody types who follows a guide: its commands one after the other, in one folder, beside a gateway. */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';
import { ROOT } from './documents.ts';

const run = promisify(execFile);
const GATEWAY = 'http://127.0.0.1:8080';
const CLI = `'${process.execPath}' '${join(ROOT, 'src/cli/main.ts')}'`;
/** The default. */
const SETTINGS = { DATABASE_URL: 'file:./data/gateway.db' };
/** What curl says of each reply, on stderr. */
const STATUS = /^status (\d+)$/gm;

export interface Shell {
  /** Runs a command. Returns what it printed. Throws when it fails, or when a gateway answers with an error. */
  run(command: string): Promise<string>;
  close(): Promise<void>;
}

/** How a command is run that begins like this. */
const COMMANDS: readonly { readonly begins: RegExp; readonly how: 'shell' | 'start' | 'done' }[] = [
  // Without it there would be no test.
  { begins: /^npm ci$/, how: 'done' },
  { begins: /^npm start$/, how: 'start' },
  { begins: /^(?:\.\/gateway |curl |export |cat > |node -p )/, how: 'shell' },
];

export function openShell(): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'guide-'));
  copyFileSync(join(ROOT, '.env.example'), join(folder, '.env.example'));
  writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\nwrite-out = "%{stderr}status %{http_code}\\n"\n');
  writeFileSync(join(folder, '.session'), 'export GATEWAY_API_KEY=demo\n');
  const done: string[] = [];
  let printed = '';
  let gateway: GatewayProcess | undefined;

  return {
    async run(command) {
      const how = COMMANDS.find(({ begins }) => begins.test(command))?.how;
      if (how === undefined) throw new Error(`test/docs/shell.ts does not know how to run: ${command}`);
      if (how === 'start') await start();
      if (how !== 'shell') return '';
      const { url = '' } = gateway ?? (await start());
      const { stdout, stderr } = await inSession(fillIn(command, url));
      // Who asks for the same once more, under the same key, is told of the first time.
      const expected = command.includes('Idempotency-Key') && done.includes(command) ? /^409$/ : /^2\d\d$/;
      for (const [, status = ''] of stderr.matchAll(STATUS)) {
        if (!expected.test(status)) throw new Error(`it was answered with ${status}: ${command}\n${stdout}`);
      }
      done.push(command);
      printed += stdout;
      return (stdout + stderr.replaceAll(STATUS, '')).replaceAll(url, GATEWAY);
    },
    async close() {
      gateway?.kill();
      await gateway?.ended();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  /** In the place of the one that runs, as after Ctrl-C. */
  async function start(): Promise<GatewayProcess> {
    await gateway?.stop();
    gateway = await startGatewayProcess(SETTINGS, { folder });
    return gateway;
  }

  /** A gateway has any free port, and what `…` stands for is what was printed last. */
  function fillIn(command: string, url: string): string {
    return command
      .replaceAll(GATEWAY, url)
      .replaceAll(/^\.\/gateway\b/gm, CLI)
      .replaceAll(
        /\b(rgk_|req_)…/g,
        (_, kind: string) => printed.match(new RegExp(`${kind}\\w{32,}`, 'g'))?.at(-1) ?? '',
      );
  }

  /** What a command exports is there for the next one. */
  function inSession(command: string): Promise<{ stdout: string; stderr: string }> {
    const script = `. ./.session\n${command}\nexport -p > .session\n`;
    return run('bash', ['--norc', '-euc', script], {
      cwd: folder,
      env: { PATH: process.env['PATH'], CURL_HOME: folder },
    });
  }
}

/** The commands of a block: lines that go on in the next one, and texts for a command, belong together. */
export function readCommands(code: string): readonly string[] {
  const commands: string[] = [];
  let open: string[] = [];
  for (const line of code.split('\n')) {
    open.push(line);
    const whole = open.join('\n');
    const [, end] = /<<'(\w+)'/.exec(whole) ?? [];
    const isOver =
      end === undefined ? !whole.endsWith('\\') && whole.split("'").length % 2 === 1 : open.length > 1 && line === end;
    if (!isOver) continue;
    if (whole.trim() !== '' && !whole.startsWith('#')) commands.push(whole);
    open = [];
  }
  // One that does not end is for the shell to refuse.
  return open.length === 0 ? commands : [...commands, open.join('\n')];
}

/** The commands of an output that shows them as a terminal does, behind a `$`. */
export function readTranscript(code: string): readonly string[] {
  return [...code.matchAll(/^\$ (.+)$/gm)].map(([, command = '']) => command);
}
