/** Every command with arguments with which it does something, in an order in which each works. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectStore } from '../../src/store/open.ts';
import type { Environment } from '../../src/config/settings.ts';
import { startScriptedBackend } from '../support/backend.ts';
import { run } from '../support/cli.ts';
import { BEHAVIOURS, play } from '../support/dialect-backends.ts';
import { newDraft, newRequestId } from '../support/records.ts';

const REQUEST_ID = newRequestId();
const LIST = { object: 'list' } as const;
const KEY = { object: 'key' } as const;
const GROUP = { object: 'group' } as const;

export interface CommandRow {
  /** What it is called in its help. */
  readonly name: string;
  readonly args: string;
  /** What its JSON has. A reason says why it prints none. */
  readonly prints: Readonly<Record<string, unknown>> | string;
}

export const COMMAND_ROWS: readonly CommandRow[] = [
  { name: 'start', args: '', prints: 'it serves until a signal: main.system.ts' },
  { name: 'demo', args: '', prints: 'it serves until a signal: main.system.ts' },
  { name: 'run', args: '', prints: 'the agent prints: run.system.ts' },
  { name: 'init', args: '--base-url BACKEND', prints: { object: 'init' } },
  { name: 'doctor', args: '--base-url BACKEND', prints: { object: 'examination' } },
  { name: 'db migrate', args: '', prints: { object: 'database_migration' } },
  { name: 'groups create', args: '--name research --credits 5', prints: GROUP },
  { name: 'groups list', args: '', prints: LIST },
  { name: 'groups show', args: 'research', prints: GROUP },
  { name: 'groups update', args: 'research --rpm 60', prints: GROUP },
  { name: 'groups disable', args: 'research', prints: GROUP },
  { name: 'groups enable', args: 'research', prints: GROUP },
  { name: 'keys create', args: '--name alice --group research', prints: KEY },
  { name: 'keys import', args: 'teams.csv', prints: LIST },
  { name: 'keys list', args: '', prints: LIST },
  { name: 'keys show', args: 'alice', prints: KEY },
  { name: 'keys update', args: 'alice --group none', prints: KEY },
  { name: 'keys rotate', args: 'alice', prints: KEY },
  { name: 'keys disable', args: 'alice', prints: KEY },
  { name: 'keys enable', args: 'alice', prints: KEY },
  { name: 'db accept-secret', args: '', prints: { object: 'secret_acceptance' } },
  { name: 'credits grant', args: '5 --key alice --yes', prints: KEY },
  { name: 'credits adjust', args: '-2 --group research --yes', prints: GROUP },
  { name: 'credits end', args: '--group research --yes', prints: GROUP },
  { name: 'credits list', args: '--group research', prints: LIST },
  { name: 'usage', args: '--key alice', prints: LIST },
  { name: 'requests list', args: '--group research', prints: LIST },
  { name: 'requests show', args: REQUEST_ID, prints: { request_id: REQUEST_ID } },
  { name: 'requests cancel', args: REQUEST_ID, prints: { request_id: REQUEST_ID } },
  { name: 'requests watch', args: '', prints: 'a line for each record, until Ctrl-C: requests.test.ts' },
  { name: 'prices show', args: '', prints: LIST },
  { name: 'prices check', args: 'prices.json', prints: { object: 'price_check' } },
  { name: 'backends', args: '', prints: 'a gateway has to run: backends.test.ts' },
  { name: 'db check', args: '', prints: { object: 'database_check' } },
  { name: 'db backup', args: 'copy.db', prints: { object: 'database_backup' } },
  { name: 'config', args: '', prints: { object: 'config' } },
  { name: 'config check', args: '', prints: { object: 'config_check' } },
  { name: 'keys delete', args: 'alice --yes', prints: { deleted: true } },
  { name: 'groups delete', args: 'research --yes', prints: { deleted: true } },
];

export interface CommandScene {
  readonly folder: string;
  readonly env: Environment;
  /** The words of a command line. */
  words(row: Pick<CommandRow, 'name' | 'args'>): readonly string[];
  close(): Promise<void>;
}

/** Opens a folder in which the rows of the table work one after another. */
export async function openCommandScene(): Promise<CommandScene> {
  const folder = mkdtempSync(join(tmpdir(), 'commands-'));
  const backend = await startScriptedBackend();
  backend.always(play(BEHAVIOURS.vllm));
  const env = {
    DATABASE_URL: `file:${folder}/gateway.db`,
    GATEWAY_SECRET: 'gateway-secret-canary',
    AUTH_MODE: 'managed',
    PRICES_FILE: join(folder, 'prices.json'),
  };
  writeFileSync(join(folder, 'teams.csv'), 'name\nbob\n');
  writeFileSync(env.PRICES_FILE, '{"currency": "USD", "models": {"m": {"input": "1", "output": "2"}}}');
  await run('db migrate', { env });
  const store = await connectStore({ databaseUrl: env.DATABASE_URL, isInline: true });
  await store.accept(newDraft({ requestId: REQUEST_ID }));
  await store.close();
  return {
    folder,
    env,
    words: ({ name, args }) => `${name} ${args}`.trim().replace('BACKEND', backend.baseUrl).split(' '),
    async close() {
      await backend.close();
      rmSync(folder, { recursive: true });
    },
  };
}
