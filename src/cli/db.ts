import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { loadSecret } from '../config/gateway-secret.ts';
import type { AdminKey } from '../contract/operator-types.ts';
import { given } from '../core/given.ts';
import { toVisible } from '../core/visible.ts';
import { createMark } from '../identity/identities.ts';
import { nameDatabase } from '../store/database-url.ts';
import { checkDatabase } from '../store/maintenance.ts';
import { changeMark, readMarking } from '../store/secret-mark.ts';
import { backupDatabase } from '../store/sqlite/backup.ts';
import { collect, PAGE, pagesOf, withAdministration } from './administration.ts';
import { addCommand } from './command.ts';
import { CliError } from './context.ts';
import { findExistingDatabase, findOwnDatabase } from './database.ts';
import { addMigrate } from './db-migrate.ts';
import { formatNumberOf } from './format.ts';
import type { Cli } from './printer.ts';
import { createProgress } from './progress.ts';

export function addDatabase(program: Command, cli: Cli): void {
  const db = program
    .command('db')
    .description('check, upgrade and back up the database, even while gateways run, or move it to PostgreSQL');
  addCheck(db, cli);
  addMigrate(db, cli);
  addBackup(db, cli);
  addAcceptSecret(db, cli);
}

function addCheck(db: Command, cli: Cli): void {
  addCommand(db, 'check', {
    what: 'check that the database is intact and that every ledger adds up to its balance',
    examples: [['db check', 'reads everything; exit status 1 if something is wrong']],
  }).action(async () => {
    const database = await findOwnDatabase(readConfig(cli.env));
    const file = nameDatabase(database);
    const progress = createProgress(cli);
    progress.begin(`checking ${toVisible(file)}`);
    const { problems, records, keys } = await checkDatabase(database).finally(() => progress.stop());
    const value = { object: 'database_check', file, ok: problems.length === 0, records, keys, problems };
    cli.printer.show(value, (paint) => [
      `${file}: ${formatNumberOf('record', records)}, ${formatNumberOf('key', keys)}`,
      ...(problems.length === 0
        ? [paint('green', 'The database is intact, and every ledger adds up.')]
        : problems.map((problem) => paint('red', problem))),
    ]);
    if (problems.length > 0) throw new CliError('The database is damaged; restore a backup.');
  });
}

function addBackup(db: Command, cli: Cli): void {
  addCommand(db, 'backup', {
    what: 'copy the database to a new file, and verify the copy',
    examples: [
      ['db backup backups/today.db', 'as of the start of the command; gateways may keep running'],
      ['db backup /mnt/backup/gateway.db --json', 'from a timer'],
    ],
  })
    .argument('<file>', 'path of the copy; it must not exist yet')
    .action(async (destination: string) => {
      const database = await findOwnDatabase(readConfig(cli.env));
      if (database.kind !== 'file') {
        throw new CliError('To back up a database on a server, use pg_dump or what the server itself offers.');
      }
      const file = database.path;
      const path = resolve(destination);
      const progress = createProgress(cli);
      progress.begin(`copying ${toVisible(file)}`);
      await backupDatabase(file, path, (part) => {
        progress.begin(part < 1 ? `copying ${toVisible(file)}: ${Math.floor(part * 100)} %` : 'checking the copy');
      }).finally(() => progress.stop());
      cli.printer.show({ object: 'database_backup', file, backup: path }, () => [
        `${path} is a verified copy of ${file}.`,
      ]);
      cli.printer.note(
        'Keep the secret with it (GATEWAY_SECRET, or gateway.secret beside the database): without it no key works.',
      );
    });
}

function addAcceptSecret(db: Command, cli: Cli): void {
  addCommand(db, 'accept-secret', {
    what: 'go on with the current GATEWAY_SECRET although the database belongs to another one; lists what is lost',
    note: `What is lost:\n${LOST.join('\n')}\n\n${KEPT}`,
    examples: [['db accept-secret', 'when the former secret of the gateway is gone for good']],
  }).action(() => acceptSecret(cli));
}

async function acceptSecret(cli: Cli): Promise<void> {
  const config = readConfig(cli.env);
  const database = findExistingDatabase(config);
  const { mark: former, keysOfPrevious } = await readMarking(database);
  const marks = createMark(loadSecret(config), config.gatewaySecretPrevious);
  const isOther = former === undefined || !marks.includes(former);
  const accepted = isOther || (config.gatewaySecretPrevious === null && keysOfPrevious.length > 0);
  if (accepted && (await changeMark(database, { from: former, to: marks[0], givesUp: true })) !== marks[0]) {
    throw new CliError('Another process has just changed the secret of the database; try again.');
  }
  const keys = await withAdministration(cli, async ({ administration }) =>
    collect(pagesOf<AdminKey>((last) => administration.keys.list({ limit: PAGE, ...given({ after: last?.id }) }))),
  );
  const file = nameDatabase(database);
  const lost = isOther ? keys.length : keysOfPrevious.length;
  const value = { object: 'secret_acceptance', file, accepted, lost_keys: accepted ? lost : 0 };
  cli.printer.show(value, (paint) =>
    accepted
      ? [
          paint('green', `${file} now belongs to this GATEWAY_SECRET.`),
          `What was made with the former secret is lost, including that of ${formatNumberOf('key', lost)}:`,
          ...LOST,
        ]
      : [`${file} already belongs to this GATEWAY_SECRET. Nothing was changed, and nothing is lost.`],
  );
  if (accepted) cli.printer.note(KEPT);
}

const LOST = [
  '- Keys: keys issued before are rejected until keys rotate gives them new secrets. Their credits, limits and records stay.',
  '- Idempotency keys: a request that is sent again runs again.',
  '- Records of callers whose keys the gateway did not issue: those callers can no longer find them.',
  '- Reasoning and compactions that clients have kept: they can no longer be opened.',
];

const KEPT =
  'Nothing was deleted: running this command with the former secret undoes all of this. Gateways that run with another ' +
  'secret are not ready (/readyz) until they are restarted with this one.';
