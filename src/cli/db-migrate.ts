import type { Command } from 'commander';
import { readConfig, type Config } from '../config/config.ts';
import { formatAmount } from '../core/money/decimal.ts';
import { locateDatabase, nameDatabase } from '../store/database-url.ts';
import { upgradeDatabase } from '../store/maintenance.ts';
import { planTransfer, transferDatabase, type TransferPlan, type TransferReport } from '../store/transfer/transfer.ts';
import { CliError, type CliContext } from './context.ts';
import { findDatabase, findExistingDatabase, refuseOtherSecret } from './database.ts';
import { formatCount, formatNumberOf } from './format.ts';
import { addExamples } from './help.ts';
import { createPrinter, type Paint, type Printer } from './printer.ts';
import { createProgress } from './progress.ts';
import { formatTable, type Column } from './table.ts';
import { toVisible } from '../core/visible.ts';
import { createTransferProgress } from './transfer-progress.ts';
import { findSecret, type SecretAdvice } from './transfer-secret.ts';

interface MigrateOptions {
  readonly to?: string;
  readonly from?: string;
  readonly dryRun?: boolean;
  readonly restart?: boolean;
}

/** Adds `db migrate`: to this version of the program, or from SQLite to PostgreSQL. */
export function addMigrate(db: Command, context: CliContext): void {
  const migrate = db
    .command('migrate')
    .description(
      'make the database, or bring it up to this version, without starting a gateway; with --to or --from, bring all of it ' +
        'from SQLite to an empty PostgreSQL while no gateway runs',
    )
    .option('--to <url>', 'postgres://…; PGPASSWORD may hold its password (default: DATABASE_URL)')
    .option('--from <file>', 'the SQLite database, which stays as it is (default: DATABASE_URL)')
    .option('--dry-run', 'say what would be brought over, and what is in the way')
    .option('--restart', 'throw away what an interrupted run has brought to PostgreSQL, and begin anew')
    .action(async (options: MigrateOptions, command: Command) => {
      const printer = createPrinter(context, command);
      const { dryRun = false, restart = false } = options;
      if (options.to === undefined && options.from === undefined) {
        if (dryRun || restart) command.error('error: --dry-run and --restart go with --to or --from');
        return upgrade(context, printer);
      }
      const config = readConfig(context.env);
      const ends = findEnds(options, config);
      const secret = await findSecret(ends.file, config);
      return dryRun ? showPlan(ends, printer) : transfer({ ...ends, restart, secret }, context, printer);
    });
  addExamples(migrate, [
    ['db migrate', 'before the new version of the gateway starts'],
    ['db migrate --to postgres://gateway@db.example.com/gateway', 'the password in PGPASSWORD'],
    ['db migrate --from ./data/gateway.db', 'when DATABASE_URL is postgres://… already'],
  ]);
}

async function upgrade(context: CliContext, printer: Printer): Promise<void> {
  const config = readConfig(context.env);
  const database = findDatabase(config);
  await refuseOtherSecret(config, database);
  const file = nameDatabase(database);
  const progress = createProgress(context);
  progress.begin(`bringing ${toVisible(file)} up to this version`);
  const { migrations, applied } = await upgradeDatabase(database).finally(() => progress.stop());
  printer.show({ object: 'database_migration', file, migrations, applied }, () => [
    applied.length === 0
      ? `${file} is up to date (${migrations.at(-1)}).`
      : `${file}: ran ${applied.join(', ')}. It is up to date.`,
  ]);
}

interface Ends {
  readonly file: string;
  readonly url: string;
  readonly to: string;
}

async function showPlan({ file, url, to }: Ends, printer: Printer): Promise<void> {
  const { state, unfinished, tables } = await planTransfer({ file, url });
  printer.show({ object: 'database_transfer_plan', file, to, state, unfinished, tables }, (paint) => [
    ...formatTable(COLUMNS, tables, paint),
    `From ${file} to ${to}: ${PLANS[state]} Nothing was changed.`,
    ...(unfinished > 0 ? [`${formatNumberOf('unfinished request', unfinished)} would be closed before.`] : []),
  ]);
}

const PLANS: Readonly<Record<TransferPlan['state'], string>> = {
  new: 'these rows would be brought over, and nothing is in the way.',
  unfinished: 'the rows which an interrupted run has left would be brought over.',
  finished: 'an earlier run has brought all of this over.',
};

interface Wish extends Ends {
  readonly restart: boolean;
  readonly secret: SecretAdvice;
}

async function transfer(wish: Wish, context: CliContext, printer: Printer): Promise<void> {
  const { file, to, secret } = wish;
  const report = await transferWithProgress(wish, context);
  const { isNew, closed, resumedAtRows, tables, sums } = report;
  const balances = formatSum(sums.balances);
  const value = {
    object: 'database_transfer',
    file,
    to,
    is_new: isNew,
    closed,
    resumed_at_rows: resumedAtRows,
    tables,
    ledger: formatSum(sums.ledger),
    balances,
    gateway_secret: secret.json,
  };
  printer.show(value, (paint) => [
    ...formatTable(COLUMNS, tables, paint),
    ...describe({ ...report, balances }, wish, paint),
  ]);
  printer.note(`Now set DATABASE_URL to that database, and ${secret.advice}`);
}

const COLUMNS: readonly Column<TransferReport['tables'][number]>[] = [
  { title: 'TABLE', of: ({ name }) => name },
  { title: 'ROWS', of: ({ rows }) => formatCount(rows), align: 'right' },
];

function formatSum(micro: string): string {
  return formatAmount(Number(micro));
}

function describe(
  { isNew, closed, resumedAtRows, balances }: TransferReport & { readonly balances: string },
  { file, to }: Ends,
  paint: Paint,
): readonly string[] {
  if (!isNew) return [`An earlier run has brought all of this from ${file} to ${to}; nothing was left to do.`];
  const before = [
    ...(closed > 0 ? [`${formatNumberOf('request', closed)} of a gateway that died had to be closed before.`] : []),
    ...(resumedAtRows > 0 ? [`${formatNumberOf('row', resumedAtRows)} had come in an earlier run.`] : []),
  ];
  const found = `Every row was read back from ${to} and is as in ${file}.`;
  return [
    ...before,
    paint('green', found),
    paint('green', `Every ledger adds up; all balances together are ${balances}.`),
  ];
}

/** DATABASE_URL may name one of them, so that nobody types a password. */
function findEnds({ from, to }: MigrateOptions, config: Config): Ends {
  const { databaseUrl } = config;
  const source = locateDatabase(from === undefined ? databaseUrl : toFileUrl(from));
  if (source.kind !== 'file') throw new CliError('It goes from SQLite: --from, or DATABASE_URL, must name a file.');
  const url = to ?? databaseUrl;
  if (!url.startsWith('postgres') || !URL.canParse(url)) {
    throw new CliError('It goes to PostgreSQL: --to, or DATABASE_URL, must be postgres:// and a server.');
  }
  if (from === undefined) findExistingDatabase(config);
  return { file: source.path, url, to: nameDatabase({ kind: 'postgres', url }) };
}

function toFileUrl(text: string): string {
  return /^(?:file:|:memory:|\w+:\/\/)/.test(text) ? text : `file:${text}`;
}

async function transferWithProgress({ file, url, restart }: Wish, context: CliContext): Promise<TransferReport> {
  const progress = createTransferProgress(context);
  const signal = context.interruption();
  try {
    return await transferDatabase({
      file,
      url,
      restart,
      signal,
      onProgress: (done) => progress.show(done),
      clock: context.nowMs,
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CliError('Interrupted. The same command goes on where this one has ended.', { cause: error });
  } finally {
    progress.stop();
  }
}
