import type { GroupId } from '../contract/ids.ts';
import { createAdministration, type Administration } from '../accounts/administration.ts';
import { toGroupId, toKeyId } from '../core/ids.ts';
import { toRefusal } from '../config/gateway-secret.ts';
import { createIdentities, type Identities } from '../identity/identities.ts';
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
        toHash: toHash(opened),
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
function toHash({ config, secret }: OpenedStore): Identities['keySecret'] {
  if (secret !== undefined) return createIdentities(secret, config.gatewaySecretPrevious).keySecret;
  return () => {
    throw toRefusal(config, findDatabase(config));
  };
}

const PAGE = 100;

/** Returns every key, or every key of a group, newest first. */
export async function listAllKeys(administration: Administration, groupId?: GroupId): Promise<readonly AdminKey[]> {
  const keys: AdminKey[] = [];
  for (;;) {
    const after = keys.at(-1)?.id;
    const page = await administration.listKeys({
      limit: PAGE,
      ...(after !== undefined && { after }),
      ...(groupId !== undefined && { groupId }),
    });
    keys.push(...page.data);
    if (!page.has_more) return keys;
  }
}

/** Returns every group, newest first. */
export async function listAllGroups(administration: Administration): Promise<readonly AdminGroup[]> {
  const groups: AdminGroup[] = [];
  for (;;) {
    const after = groups.at(-1)?.id;
    const page = await administration.listGroups({ limit: PAGE, ...(after !== undefined && { after }) });
    groups.push(...page.data);
    if (!page.has_more) return groups;
  }
}
