import { createAdministration, type Administration } from '../accounts/administration.ts';
import type { KeyId } from '../contract/ids.ts';
import { parseKeyId, toGroupId, toKeyId } from '../core/ids.ts';
import { toRefusal } from '../config/gateway-secret.ts';
import { createIdentities, type Identities } from '../identity/identities.ts';
import type { AdminKey } from '../contract/types.ts';
import { newUniquePartAt } from '../identity/unique-part.ts';
import { CliError, type CliContext } from './context.ts';
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

/**
 * Returns the key with this id, prefix or name. Throws CliError when there is none or more than
 * one; it does not repeat the text, since it may be a secret.
 */
export async function findKeyId(administration: Administration, text: string): Promise<KeyId> {
  const keyId = parseKeyId(text);
  if (keyId !== undefined) return keyId;
  const found = (await listAllKeys(administration)).filter(({ name, prefix }) => name === text || prefix === text);
  const [key, ...others] = found;
  if (key === undefined) throw new CliError('There is no key with this id, prefix or name; keys list shows them.');
  if (others.length > 0) throw new CliError(`There are ${found.length} such keys; name one by its id.`);
  return key.id;
}

const PAGE = 100;

/** Returns every key, newest first. */
export async function listAllKeys(administration: Administration): Promise<readonly AdminKey[]> {
  const keys: AdminKey[] = [];
  for (;;) {
    const after = keys.at(-1)?.id;
    const page = await administration.listKeys({ limit: PAGE, ...(after !== undefined && { after }) });
    keys.push(...page.data);
    if (!page.has_more) return keys;
  }
}
