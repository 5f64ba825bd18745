import { createAdministration, type Administration } from '../accounts/administration.ts';
import type { Config } from '../config.ts';
import { parseKeyId, toKeyId, type KeyId } from '../core/ids.ts';
import { createIdentities, loadSecret } from '../identity.ts';
import type { AdminKey } from '../types/contract.ts';
import { newUniquePartAt } from '../unique-part.ts';
import { CliError, type CliContext } from './context.ts';
import { withStore, type OpenStore } from './database.ts';

export interface OpenAdministration {
  readonly administration: Administration;
  readonly store: OpenStore;
  readonly config: Config;
}

/** What the admin API does, on the database of the gateway and with its secret. */
export function withAdministration<Result>(
  context: CliContext,
  use: (opened: OpenAdministration) => Promise<Result>,
  options?: { readonly mayCreate?: boolean },
): Promise<Result> {
  const { nowMs } = context;
  return withStore(
    context,
    ({ store, config }) => {
      const secret = loadSecret({ databaseUrl: config.databaseUrl, secret: config.gatewaySecret });
      const administration = createAdministration({
        accounts: store,
        toHash: createIdentities(secret, config.gatewaySecretPrevious).keySecret,
        newKeyId: () => toKeyId(newUniquePartAt(nowMs())),
        nowMs,
      });
      return use({ administration, store, config });
    },
    options,
  );
}

/**
 * The key that a person means by its id, its prefix or its name. Throws CliError when there is none, or more than one. What
 * was typed is not repeated, since it may be a secret.
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

/** Every key, newest first. */
export async function listAllKeys(administration: Administration): Promise<readonly AdminKey[]> {
  const keys: AdminKey[] = [];
  for (;;) {
    const after = keys.at(-1)?.id;
    const page = await administration.listKeys({ limit: PAGE, ...(after !== undefined && { after }) });
    keys.push(...page.data);
    if (!page.has_more) return keys;
  }
}
