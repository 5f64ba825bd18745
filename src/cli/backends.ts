import type { Command } from 'commander';
import { request } from 'undici';
import { ConfigError, readConfig } from '../config/config.ts';
import type { AdminBackend } from '../contract/operator-types.ts';
import { isList, isObject, readJson } from '../core/json.ts';
import { CliError } from './context.ts';
import { formatCount, formatSpan } from './format.ts';
import { addCommand } from './command.ts';
import { type Style, type Cli } from './printer.ts';
import { toGatewayUrl } from './snippets.ts';
import { formatTable, type Column } from './table.ts';

const TIMEOUT_MS = 10_000;

export function addBackends(program: Command, cli: Cli): void {
  addCommand(program, 'backends', {
    what: 'show the state of the backends, as the running gateway sees them (needs ADMIN_TOKEN)',
    examples: [
      ['backends', 'of the configured gateway'],
      ['backends --url https://gateway.example --json', 'of another gateway, as JSON'],
    ],
  })
    .option('--url <url>', 'base URL of the gateway (default: PUBLIC_BASE_URL, or HOST and PORT)')
    .action(async ({ url }: { readonly url?: string }) => {
      const config = readConfig(cli.env);
      if (config.adminToken === null)
        throw new ConfigError([
          'ADMIN_TOKEN: must be set, since only the gateway knows its backends, and tells no one else',
        ]);
      const data = await listBackends(url ?? toGatewayUrl(config), config.adminToken, cli.interruption());
      cli.printer.show({ object: 'list', data }, (paint) =>
        formatTable(columnsFor(cli.nowMs()), data.flatMap(withAddresses), paint),
      );
    });
}

async function listBackends(url: string, token: string, signal: AbortSignal): Promise<readonly AdminBackend[]> {
  const { statusCode, list } = await ask(`${url}/admin/v1/backends`, token, signal);
  if (statusCode === 401) throw new CliError(`The gateway at ${url} has a different ADMIN_TOKEN.`);
  const data = isObject(list) ? list['data'] : undefined;
  if (statusCode !== 200 || !isList(data)) throw new CliError(`No gateway with an admin API answers at ${url}.`);
  return data.filter(isBackend);
}

async function ask(url: string, token: string, signal: AbortSignal) {
  try {
    const { statusCode, body } = await request(url, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return { statusCode, list: readJson(await body.text()) };
  } catch (cause) {
    throw new CliError(`No gateway answers at ${url}.`, { cause });
  }
}

function isBackend(value: unknown): value is AdminBackend {
  return isObject(value) && value['object'] === 'backend';
}

/** An address that is not up has a row below its backend, without the counts, which are those of all addresses. */
function withAddresses(backend: AdminBackend): readonly Row[] {
  const resting = backend.addresses.filter(({ state }) => state !== 'up');
  return [backend, ...resting.map(({ address, ...rest }) => ({ name: `  ${address}`, ...rest, models: [] }))];
}

type Row = Pick<AdminBackend, 'name' | 'state' | 'resting_until' | 'reason' | 'models'> & Partial<AdminBackend>;

const STATE_STYLES: Readonly<Record<AdminBackend['state'], Style>> = {
  up: 'green',
  trial: 'yellow',
  resting: 'red',
  draining: 'yellow',
};

function columnsFor(nowMs: number): readonly Column<Row>[] {
  const count = (title: string, name: 'running' | 'waiting' | 'answered' | 'failed' | 'rests'): Column<Row> => ({
    title,
    of: ({ [name]: count }) => (count === undefined ? '' : formatCount(count)),
    align: 'right',
  });
  return [
    { title: 'NAME', of: ({ name }) => name },
    { title: 'STATE', of: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
    {
      title: 'RESTS FOR',
      of: ({ resting_until: until }) => (until === null ? '' : formatSpan(Math.max(0, until * 1000 - nowMs))),
      align: 'right',
    },
    { title: 'WHY', of: ({ reason }) => reason ?? '' },
    count('RUNNING', 'running'),
    count('WAITING', 'waiting'),
    count('ANSWERED', 'answered'),
    count('FAILED', 'failed'),
    count('RESTS', 'rests'),
    { title: 'MODELS', of: ({ models }) => models?.join(' ') ?? 'all' },
  ];
}
