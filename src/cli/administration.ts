import { createAdministration, type Administration, type AdministrationOptions } from '../admin/administration.ts';
import { toGroupId, toKeyId } from '../core/ids.ts';
import { toRefusal } from '../config/gateway-secret.ts';
import { createIdentities } from '../identity/identities.ts';
import { newUniquePartAt } from '../identity/unique-part.ts';
import type { CliContext } from './context.ts';
import { findDatabase, withStore, type OpenedStore } from './database.ts';

export interface OpenAdministration extends OpenedStore {
  readonly administration: Administration;
}

/** Calls `use` with the functions of the admin API, on the database and with its secret. */
export function withAdministration<Result>(
  context: CliContext,
  use: (opened: OpenAdministration) => Promise<Result>,
  options?: Parameters<typeof withStore>[2],
): Promise<Result> {
  const { nowMs } = context;
  return withStore(
    context,
    (opened) => {
      const administration = createAdministration({
        accounts: opened.store,
        ...toHash(opened),
        newKeyId: () => toKeyId(newUniquePartAt(nowMs())),
        newGroupId: () => toGroupId(newUniquePartAt(nowMs())),
        nowMs,
      });
      return use({ ...opened, administration });
    },
    options,
  );
}

/** Most commands need no secret, so this throws only when one is used. */
function toHash({ config, secret }: OpenedStore): Pick<AdministrationOptions, 'toHash' | 'keyMark'> {
  if (secret !== undefined) {
    const { keySecret, keyMark } = createIdentities(secret, config.gatewaySecretPrevious);
    return { toHash: keySecret, keyMark };
  }
  const refuse = (): never => {
    throw toRefusal(config, findDatabase(config));
  };
  return { toHash: refuse };
}

export const PAGE = 100;

/** Returns the pages of a list, each of which continues after the last row of the one before. */
export async function* pagesOf<Row>(
  list: (last: Row | undefined) => Promise<Page<Row>>,
): AsyncGenerator<readonly Row[]> {
  let page = await list(undefined);
  yield page.data;
  while (page.has_more) {
    page = await list(page.data.at(-1));
    yield page.data;
  }
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
}

export async function collect<Row>(pages: AsyncIterable<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}
