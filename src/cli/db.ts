import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { nameDatabase } from '../store/database-url.ts';
import { checkDatabase } from '../store/maintenance.ts';
import { backupDatabase } from '../store/sqlite/backup.ts';
import { CliError, type CliContext } from './context.ts';
import { findOwnDatabase } from './database.ts';
import { addAcceptSecret } from './db-accept-secret.ts';
import { addMigrate } from './db-migrate.ts';
import { formatNumberOf } from './format.ts';
import { addExamples } from './help.ts';
import { createPrinter } from './printer.ts';
import { createProgress } from './progress.ts';
import { toVisible } from '../core/visible.ts';

/** Adds `db`, whose checks, upgrades and backups run while gateways do. */
export function addDatabase(program: Command, context: CliContext): void {
  const db = program
    .command('db')
    .description('check, upgrade and back up the database, even while gateways run, or move it to PostgreSQL');
  addCheck(db, context);
  addMigrate(db, context);
  addBackup(db, context);
  addAcceptSecret(db, context);
}

function addCheck(db: Command, context: CliContext): void {
  const check = db
    .command('check')
    .description('check that the database is intact and that every ledger adds up to its balance')
    .action(async (_options: unknown, command: Command) => {
      const database = await findOwnDatabase(readConfig(context.env));
      const file = nameDatabase(database);
      const progress = createProgress(context);
      progress.begin(`checking ${toVisible(file)}`);
      const { problems, records, keys } = await checkDatabase(database).finally(() => progress.stop());
      const value = { object: 'database_check', file, ok: problems.length === 0, records, keys, problems };
      createPrinter(context, command).show(value, (paint) => [
        `${file}: ${formatNumberOf('record', records)}, ${formatNumberOf('key', keys)}`,
        ...(problems.length === 0
          ? [paint('green', 'The database is intact, and every ledger adds up.')]
          : problems.map((problem) => paint('red', problem))),
      ]);
      if (problems.length > 0) throw new CliError('The database is damaged; restore a backup.');
    });
  addExamples(check, [['db check', 'reads everything; exit status 1 if something is wrong']]);
}

function addBackup(db: Command, context: CliContext): void {
  const backup = db
    .command('backup')
    .description('copy the database to a new file, and verify the copy')
    .argument('<file>', 'path of the copy; it must not exist yet')
    .action(async (destination: string, _options: unknown, command: Command) => {
      const database = await findOwnDatabase(readConfig(context.env));
      if (database.kind !== 'file') {
        throw new CliError('To back up a database on a server, use pg_dump or what the server itself offers.');
      }
      const file = database.path;
      const path = resolve(destination);
      const progress = createProgress(context);
      progress.begin(`copying ${toVisible(file)}`);
      await backupDatabase(file, path, (part) => {
        progress.begin(part < 1 ? `copying ${toVisible(file)}: ${Math.floor(part * 100)} %` : 'checking the copy');
      }).finally(() => progress.stop());
      const printer = createPrinter(context, command);
      printer.show({ object: 'database_backup', file, backup: path }, () => [`${path} is a verified copy of ${file}.`]);
      printer.note(
        'Keep the secret with it (GATEWAY_SECRET, or gateway.secret beside the database): without it no key works.',
      );
    });
  addExamples(backup, [
    ['db backup backups/today.db', 'as of the start of the command; gateways may keep running'],
    ['db backup /mnt/backup/gateway.db --json', 'from a timer'],
  ]);
}
