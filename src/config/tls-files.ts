import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ListedBackend } from '../contract/settings-types.ts';
import { readSmallFile } from './value-file.ts';

/** Returns what is wrong with the certificates of a backend, in words that follow its name. */
export function findTlsProblems({ base_url, tls = {} }: Pick<ListedBackend, 'base_url' | 'tls'>): readonly string[] {
  const names = Object.keys(tls);
  if (names.length > 0 && !base_url.startsWith('https:')) return ['tls needs a base_url with https://'];
  const texts = Object.entries<string>({ ...tls }).map(([name, path]) => ({
    name,
    path,
    text: readSmallFile(path).text,
  }));
  const unread = texts.filter(({ name, text }) => text === undefined || !isPem(name, text));
  if (unread.length > 0)
    return unread.map(({ name, path }) => `tls.${name} names ${path}, which cannot be read or holds no PEM`);
  const [cert, key] = ['cert_file', 'key_file'].map((name) => texts.find((one) => one.name === name)?.text);
  try {
    createSecureContext({ cert, key });
    return [];
  } catch {
    return ['tls.key_file does not fit tls.cert_file'];
  }
}

function isPem(name: string, text: string): boolean {
  if (name === 'key_file') return text.includes('PRIVATE KEY-----');
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
