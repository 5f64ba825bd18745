import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { nameDatabase } from '../store/database-url.ts';
import { checkDatabase } from '../store/maintenance.ts';
import { backupDatabase } from '../store/sqlite/backup.ts';
import { CliError } from './context.ts';
import { findOwnDatabase } from './database.ts';
import { addAcceptSecret } from './db-accept-secret.ts';
import { addMigrate } from './db-migrate.ts';
import { formatNumberOf } from './format.ts';
import { addCommand } from './command.ts';
import type { Cli } from './printer.ts';
import { createProgress } from './progress.ts';
import { toVisible } from '../core/visible.ts';

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
