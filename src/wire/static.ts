import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** What everybody gets who asks for it, until the gateway starts again. */
export interface StaticBody {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Buffer;
  /** Made for the first client that takes it. */
  compressed?: Promise<Buffer>;
}

const compress = promisify(gzip);

/** `type` is the value of Content-Type. */
export function toStatic(type: string, content: string | Buffer): StaticBody {
  const bytes = Buffer.from(content);
  // The content makes the tag, since all files of an npm package have the same date.
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { type, etag, bytes };
}

/** Returns a function that keeps the body of the latest base URL, which is nearly always the only one. */
export function toStaticByBaseUrl(type: string, write: (baseUrl: string) => string): (baseUrl: string) => StaticBody {
  let latest: { readonly baseUrl: string; readonly body: StaticBody } | undefined;
  return (baseUrl) => {
    if (latest?.baseUrl !== baseUrl) latest = { baseUrl, body: toStatic(type, write(baseUrl)) };
    return latest.body;
  };
}

/**
 * Sends the body, compressed if the client takes that, or 304 for a matching ETag. Browsers ask
 * again each time, so that files of two versions are never mixed.
 */
export async function sendStatic(req: Request, res: Response, body: StaticBody): Promise<void> {
  res.set({ 'content-type': body.type, 'cache-control': 'no-cache' }).vary('Accept-Encoding');
  if (req.acceptsEncodings('gzip', 'identity') !== 'gzip') {
    res.set({ etag: body.etag }).send(body.bytes);
    return;
  }
  body.compressed ??= compress(body.bytes);
  // Two encodings of a body are not byte for byte the same, and so have two tags.
  res.set({ etag: body.etag.replace(/"$/, '-gzip"'), 'content-encoding': 'gzip' }).send(await body.compressed);
}
