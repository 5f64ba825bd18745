import type { Command } from 'commander';
import { readConfig, type Config } from '../config/config.ts';
import { formatAmount } from '../core/money/decimal.ts';
import { locateDatabase, nameDatabase } from '../store/database-url.ts';
import { upgradeDatabase } from '../store/maintenance.ts';
import { planTransfer, transferDatabase, type TransferReport } from '../store/transfer/transfer.ts';
import { UsageError, CliError, type CliContext } from './context.ts';
import { findDatabase, findExistingDatabase, refuseOtherSecret } from './database.ts';
import { formatCount, formatNumberOf } from './format.ts';
import { addCommand } from './command.ts';
import type { Cli, Paint, Printer } from './printer.ts';
import { createProgress } from './progress.ts';
import { formatTable, type Column } from './table.ts';
import { toVisible } from '../core/visible.ts';
import { createTransferProgress } from './transfer-progress.ts';
import { findSecret, type SecretAdvice } from './transfer-secret.ts';

interface MigrateOptions {
  readonly to?: string;
  readonly from?: string;
  readonly dryRun?: boolean;
}

export function addMigrate(db: Command, cli: Cli): void {
  addCommand(db, 'migrate', {
    what:
      'make the database, or bring it up to this version, without starting a gateway; with --to or --from, bring all of it ' +
      'from SQLite to an empty PostgreSQL while no gateway runs',
    examples: [
      ['db migrate', 'before the new version of the gateway starts'],
      ['db migrate --to postgres://gateway@db.example.com/gateway', 'the password in PGPASSWORD'],
      ['db migrate --from ./data/gateway.db', 'when DATABASE_URL is postgres://… already'],
    ],
  })
    .option('--to <url>', 'postgres://…; PGPASSWORD may hold its password (default: DATABASE_URL)')
    .option('--from <file>', 'the SQLite database, which stays as it is (default: DATABASE_URL)')
    .option('--dry-run', 'say what would be copied, and what is in the way')
    .action(async (options: MigrateOptions) => {
      const { dryRun = false } = options;
      if (options.to === undefined && options.from === undefined) {
        if (dryRun) throw new UsageError('error: --dry-run goes with --to or --from');
        return upgrade(cli);
      }
      const config = readConfig(cli.env);
      const ends = findEnds(options, config);
      const secret = await findSecret(ends.file, config);
      return dryRun ? showPlan(ends, cli.printer) : transfer({ ...ends, secret }, cli);
    });
}

async function upgrade(cli: Cli): Promise<void> {
  const config = readConfig(cli.env);
  const database = findDatabase(config);
  await refuseOtherSecret(config, database);
  const file = nameDatabase(database);
  const progress = createProgress(cli);
  progress.begin(`bringing ${toVisible(file)} up to this version`);
  const { migrations, applied } = await upgradeDatabase(database).finally(() => progress.stop());
  cli.printer.show({ object: 'database_migration', file, migrations, applied }, () => [
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
  const { unfinished, tables } = await planTransfer({ file, url });
  printer.show({ object: 'database_transfer_plan', file, to, unfinished, tables }, (paint) => [
    ...formatTable(COLUMNS, tables, paint),
    `From ${file} to ${to}: these rows would be copied, and nothing is in the way. Nothing was changed.`,
    ...(unfinished > 0 ? [`${formatNumberOf('unfinished request', unfinished)} would be closed before.`] : []),
  ]);
}

interface Wish extends Ends {
  readonly secret: SecretAdvice;
}

async function transfer(wish: Wish, cli: Cli): Promise<void> {
  const { file, to, secret } = wish;
  const report = await transferWithProgress(wish, cli);
  const { closed, tables, sums } = report;
  const [ledger, balances] = [sums.ledger, sums.balances].map((micro) => formatAmount(Number(micro)));
  const value = { object: 'database_transfer', file, to, closed, tables };
  cli.printer.show({ ...value, ledger, balances, gateway_secret: secret.json }, (paint) => [
    ...formatTable(COLUMNS, tables, paint),
    ...describe(report, wish, paint),
  ]);
  cli.printer.note(`Now set DATABASE_URL to that database, and ${secret.advice}`);
}

const COLUMNS: readonly Column<TransferReport['tables'][number]>[] = [
  { title: 'TABLE', of: ({ name }) => name },
  { title: 'ROWS', of: ({ rows }) => formatCount(rows), align: 'right' },
];

function describe({ closed, sums }: TransferReport, { file, to }: Ends, paint: Paint): readonly string[] {
  const balances = formatAmount(Number(sums.balances));
  const found = `Every row was read back from ${to} and is as in ${file}.`;
  return [
    ...(closed > 0 ? [`${formatNumberOf('request', closed)} of a gateway that died had to be closed before.`] : []),
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

async function transferWithProgress({ file, url }: Wish, cli: CliContext): Promise<TransferReport> {
  const progress = createTransferProgress(cli);
  const signal = cli.interruption();
  try {
    return await transferDatabase({
      file,
      url,
      signal,
      onProgress: (done) => progress.show(done),
      clock: cli.nowMs,
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CliError('Interrupted. Nothing was copied; run the same command again.', { cause: error });
  } finally {
    progress.stop();
  }
}
