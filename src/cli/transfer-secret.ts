import type { Config } from '../config.ts';
import { findSecretFile } from '../identity.ts';
import { CliError } from './context.ts';

export interface SecretAdvice {
  readonly json: 'keep' | 'unknown' | { readonly file: string };
  readonly advice: string;
}

/**
 * What must become of the secret, without which no key and no record is known again. Throws CliError when the one that is
 * set for the target is another than the one which the source has beside it.
 */
export function findSecret(file: string, { databaseUrl, gatewaySecret, gatewaySecretPrevious }: Config): SecretAdvice {
  const beside = findSecretFile(file);
  const keep: SecretAdvice = { json: 'keep', advice: 'keep GATEWAY_SECRET as it is.' };
  if (beside === undefined) {
    return gatewaySecret === null
      ? { json: 'unknown', advice: 'GATEWAY_SECRET to the one that the gateway had.' }
      : keep;
  }
  if (gatewaySecret === null) {
    const advice = `GATEWAY_SECRET to what is in ${beside.path}, the same for all gateways: "$(cat ${beside.path})".`;
    return { json: { file: beside.path }, advice };
  }
  // With DATABASE_URL for the target, the settings are those of the gateways to come, and not of the one that was.
  const isForTarget = databaseUrl.startsWith('postgres');
  if (isForTarget && ![gatewaySecret, gatewaySecretPrevious].includes(beside.secret)) {
    throw new CliError(
      `GATEWAY_SECRET is not the secret in ${beside.path}, by which the keys and records of this database are known. Set it to ` +
        'that, or move the file away if no gateway has used it.',
    );
  }
  return keep;
}
