import {
  createAdministration,
  type AccountPage,
  type AccountQuery,
  type Administration,
  type AdministrationOptions,
} from '../admin/administration.ts';
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

const PAGE = 100;

export async function* pagesOf<Account extends { readonly id: unknown }>(
  list: (query: AccountQuery<Account['id']>) => Promise<AccountPage<Account>>,
): AsyncGenerator<readonly Account[]> {
  let page = await list({ limit: PAGE });
  yield page.data;
  for (let last = page.data.at(-1); page.has_more && last !== undefined; last = page.data.at(-1)) {
    page = await list({ limit: PAGE, after: last.id });
    yield page.data;
  }
}

export async function collect<Row>(pages: AsyncIterable<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}
