import type { Command } from 'commander';
import { given } from '../core/given.ts';
import { readConfig } from '../config/config.ts';
import { loadSecret } from '../config/gateway-secret.ts';
import { createMark } from '../identity/identities.ts';
import { nameDatabase } from '../store/database-url.ts';
import { changeMark, readMarking } from '../store/secret-mark.ts';
import type { AdminKey } from '../contract/operator-types.ts';
import { collect, PAGE, pagesOf, withAdministration } from './administration.ts';
import { CliError } from './context.ts';
import { findExistingDatabase } from './database.ts';
import { formatNumberOf } from './format.ts';
import { addCommand } from './command.ts';
import type { Cli } from './printer.ts';

export function addAcceptSecret(db: Command, cli: Cli): void {
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
