import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Identity } from '../core/ids.ts';

export type SealPurpose = 'reasoning' | 'compaction';

/**
 * The `encrypted_content` of reasoning and of compactions, which the client carries and cannot
 * read. AES-256-GCM binds it to its caller and its purpose.
 */
export interface Sealer {
  /** Undefined when the text is too long to carry. */
  seal(caller: Identity, text: string): string | undefined;
  /**
   * Returns undefined for what was not sealed for this caller with the current or previous secret.
   * Opens the last of several joined seals, as LangChain joins those of one reply.
   */
  open(caller: Identity, sealed: string): string | undefined;
}

const PREFIXES: { readonly [Purpose in SealPurpose]: string } = { reasoning: 'rgw1_', compaction: 'rgwc1_' };
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MAX_BYTES_LENGTH = Math.ceil(((MAX_TEXT_BYTES + IV_BYTES + TAG_BYTES) * 4) / 3) + 4;

/** Returns a sealer with the secrets of the identities of callers, in the same order. */
export function createSealer(purpose: SealPurpose, secret: string, previousSecret: string | null): Sealer {
  const prefix = PREFIXES[purpose];
  const keys = [secret, ...(previousSecret === null ? [] : [previousSecret])].map((each) => deriveKey(purpose, each));
  const boundTo = (caller: string) => Buffer.from(`${purpose}\0${caller}`);

  function openOne(caller: Identity, sealed: string): string | undefined {
    const bytes = decode(sealed.slice(prefix.length));
    if (bytes === undefined || bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    for (const [index, key] of keys.entries()) {
      const text = decrypt(key, boundTo(caller[index] ?? ''), bytes);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  return {
    seal(caller, text) {
      const [key] = keys;
      if (key === undefined || Buffer.byteLength(text) > MAX_TEXT_BYTES) return undefined;
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(boundTo(caller[0]));
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return prefix + sealed.toString('base64url');
    },
    open(caller, sealed) {
      if (!sealed.startsWith(prefix) || sealed.length > prefix.length + MAX_BYTES_LENGTH) return undefined;
      const last = sealed.lastIndexOf(prefix);
      return openOne(caller, sealed) ?? (last === 0 ? undefined : openOne(caller, sealed.slice(last)));
    },
  };
}

export function createSealers(
  secret: string,
  previousSecret: string | null,
): { readonly [Purpose in SealPurpose]: Sealer } {
  return {
    reasoning: createSealer('reasoning', secret, previousSecret),
    compaction: createSealer('compaction', secret, previousSecret),
  };
}

function deriveKey(purpose: SealPurpose, secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `responses-gateway ${purpose} seal v1`, 32));
}

/** Node ignores characters that are not base64url; a seal with any change must not open. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function decrypt(key: Buffer, binding: Buffer, bytes: Buffer): string | undefined {
  const end = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(binding).setAuthTag(bytes.subarray(end));
  try {
    return decipher.update(bytes.subarray(IV_BYTES, end), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
