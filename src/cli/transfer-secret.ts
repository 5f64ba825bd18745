import { ConfigError, type Config } from '../config/config.ts';
import { findFittingSecret, findSecretFile, toSecretFile } from '../config/gateway-secret.ts';
import { createMark } from '../identity/identities.ts';
import { readMarking } from '../store/secret-mark.ts';

export interface SecretAdvice {
  readonly json: 'keep' | 'unknown' | { readonly file: string };
  readonly advice: string;
}

/** Returns what to do with the secret. Throws ConfigError when it is not that of the source. */
export async function findSecret(file: string, config: Config): Promise<SecretAdvice> {
  const marking = await readMarking({ kind: 'file', path: file });
  const inFile = findSecretFile(file);
  const secretFile = toSecretFile(file);
  if (config.gatewaySecret !== null) {
    findFittingSecret(config, { kind: 'file', path: file }, marking);
    // With DATABASE_URL for the target, the settings belong to the new gateways.
    const isForTarget = config.databaseUrl.startsWith('postgres');
    const secrets = [config.gatewaySecret, config.gatewaySecretPrevious];
    if (isForTarget && marking.mark === undefined && inFile !== undefined && !secrets.includes(inFile)) {
      throw new ConfigError([
        `GATEWAY_SECRET: is not the secret in ${secretFile}, by which the keys and records of this database are known; set it ` +
          'to that, or move the file away if no gateway has used it',
      ]);
    }
    return { json: 'keep', advice: 'keep GATEWAY_SECRET as it is.' };
  }
  const isInFile = inFile !== undefined && [undefined, createMark(inFile, null)[0]].includes(marking.mark);
  if (!isInFile) return { json: 'unknown', advice: 'GATEWAY_SECRET to the one that the gateway had.' };
  const advice = `GATEWAY_SECRET to what is in ${secretFile}, the same for all gateways: "$(cat ${secretFile})".`;
  return { json: { file: secretFile }, advice };
}
