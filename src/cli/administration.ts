import type { GroupId } from '../contract/ids.ts';
import { createAdministration, type Administration, type AdministrationOptions } from '../accounts/administration.ts';
import { toGroupId, toKeyId } from '../core/ids.ts';
import { toRefusal } from '../config/gateway-secret.ts';
import { createIdentities } from '../identity/identities.ts';
import type { AdminGroup, AdminKey } from '../contract/types.ts';
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
        defaultGroup: opened.config.defaultGroup,
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

const PAGE = 100;

interface KeysQuery {
  readonly groupId?: GroupId | undefined;
  readonly isOfPreviousSecret?: boolean;
}

/** Returns every key, or those that the query selects, newest first. */
export function pagesOfKeys(
  administration: Administration,
  { groupId, isOfPreviousSecret = false }: KeysQuery = {},
): AsyncGenerator<readonly AdminKey[]> {
  return pagesOf((query) =>
    administration.listKeys({ ...query, isOfPreviousSecret, ...(groupId !== undefined && { groupId }) }),
  );
}

/** Returns every group, newest first. */
export function pagesOfGroups(administration: Administration): AsyncGenerator<readonly AdminGroup[]> {
  return pagesOf((query) => administration.listGroups(query));
}

interface PageQuery<Id> {
  readonly limit: number;
  readonly after?: Id;
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
}

async function* pagesOf<Row extends { readonly id: unknown }>(
  list: (query: PageQuery<Row['id']>) => Promise<Page<Row>>,
): AsyncGenerator<readonly Row[]> {
  let page = await list({ limit: PAGE });
  yield page.data;
  while (page.has_more) {
    page = await list({ limit: PAGE, after: page.data.at(-1)?.id });
    yield page.data;
  }
}

/** Returns the rows of all pages. */
export async function collect<Row>(pages: AsyncIterable<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}
