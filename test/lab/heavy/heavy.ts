/**
 * `npm run lab heavy`: clients of hundreds of megabytes, in front of a strict backend. They are installed in the user's cache
 * folder, each version once. With `--allow-missing`, a client that does not run here is no failure.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { KEY_VARIABLE } from '../../../src/cli/run/agents.ts';
import { after, SPECIAL } from '../../clients/model-words.ts';
import { API_KEY, startStrictBackend, type Line } from '../../clients/strict-backend.ts';
import { toTable } from '../../support/generate-matrix.ts';
import { openGateway } from '../../support/gateway.ts';
import { HEAVY_CLIENTS, type HeavyClient } from './clients.ts';
import { runOffline } from './offline.ts';

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'responses-gateway/clients');

/** The output stands nowhere in the command, so the tool alone can have made it. */
const COMMAND = 'printf %s-%s made here';
const SCENARIOS: Readonly<Record<string, (client: HeavyClient) => readonly Line[]>> = {
  text: () => [{ text: SPECIAL }],
  'tool loop': ({ shell }) => [{ text: 'I look.', calls: [shell(COMMAND)] }, after('made-here', { text: SPECIAL })],
};

const rows: string[][] = [];
for (const client of HEAVY_CLIENTS) {
  const title = `${client.name} ${client.version}`;
  const missing = await install(client);
  if (missing !== undefined) {
    console.log(`${title} does not run here: ${missing}`);
    if (!process.argv.includes('--allow-missing')) process.exitCode = 1;
    continue;
  }
  const marks: string[] = [];
  const hosts = new Set<string>();
  for (const [scenario, toLines] of Object.entries(SCENARIOS)) {
    const { problem, run } = await play(client, toLines(client));
    for (const host of run.hosts) hosts.add(host);
    marks.push(problem === undefined ? '✓' : '✗');
    if (problem === undefined) continue;
    console.log(`${title}, ${scenario}: ${problem}\nIt printed: ${run.printed}`);
    process.exitCode = 1;
  }
  rows.push([client.name, client.version, ...marks, [...hosts].join(', ') || '–']);
}
console.log(toTable(['client', 'version', ...Object.keys(SCENARIOS), 'would also ask'], rows));
console.log(`\n${new Date().toISOString().slice(0, 10)}`);

/** Installs the client unless it is there. Returns why it does not run, in one line. */
async function install(client: HeavyClient): Promise<string | undefined> {
  const folder = folderOf(client);
  try {
    // npm writes this file last.
    if (!existsSync(join(folder, 'node_modules/.package-lock.json'))) {
      mkdirSync(folder, { recursive: true });
      // The scripts only make a start quicker, and some of them write into the home folder.
      const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
      const args = ['install', '--prefix', folder, ...flags, `${client.package}@${client.version}`];
      execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    }
    const { printed } = await runOffline(programOf(client), ['--version'], () => ({ files: {}, env: {} }));
    return printed.includes(client.version) ? undefined : toOneLine(printed);
  } catch (error) {
    const { stderr } = error as { readonly stderr?: Buffer };
    return toOneLine(String(stderr ?? error));
  }
}

/** Plays the lines to the client, which is to print the last one. */
async function play(client: HeavyClient, lines: readonly Line[]) {
  const backend = await startStrictBackend();
  const gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  backend.plays(...lines);
  const run = await runOffline(programOf(client), client.args('Join the words.'), (folder) => {
    const asked = { baseUrl: `${gateway.url}/api/v1`, model: 'test-model', key: API_KEY };
    const { files, env } = client.configure(asked, folder);
    return { files, env: { ...env, [KEY_VARIABLE]: API_KEY } };
  });
  await gateway.close();
  const complaint = await backend.close().then(() => undefined, String);
  return { problem: complaint ?? (run.printed.includes(SPECIAL) ? undefined : 'the answer is missing'), run };
}

function folderOf({ package: name, version }: HeavyClient): string {
  return join(CACHE, `${name}@${version}`);
}

function programOf(client: HeavyClient): string {
  return join(folderOf(client), 'node_modules/.bin', client.program);
}

function toOneLine(text: string): string {
  const words = text.replaceAll('npm error', '').match(/\S+/g) ?? ['no reason is told'];
  return words.join(' ').slice(0, 200);
}
