import { createHash } from 'node:crypto';

/** Made of the content: the files of an npm package all have the same date. */
export function etagOf(body: string | Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}
