/** How much the gateway takes on at once. What is beyond that is refused at its door, as long as there is strength to say so. */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ApiError } from '../../core/errors.ts';

export interface LoadLimits {
  readonly maxConcurrentRequests: number;
  /** Of the bodies of all requests that are not over, decompressed. */
  readonly maxBodyBytesInFlight: number;
}

interface Share {
  /** Of the body of this request. */
  bytes: number;
  readonly hold: (bytes: number) => void;
}

const shares = new WeakMap<IncomingMessage, Share>();

/** Lets a request in while there are fewer than the limit, and throws ApiError `server_overloaded` otherwise. */
export function limitLoad({ maxConcurrentRequests, maxBodyBytesInFlight }: LoadLimits): RequestHandler {
  let requests = 0;
  let bodyBytes = 0;

  return (req, res, next) => {
    if (requests >= maxConcurrentRequests) throw overloaded();
    requests++;
    const share: Share = {
      bytes: 0,
      hold(bytes) {
        if (bodyBytes + bytes > maxBodyBytesInFlight) throw overloaded();
        bodyBytes += bytes;
        share.bytes += bytes;
      },
    };
    shares.set(req, share);
    res.once('close', () => {
      requests--;
      bodyBytes -= share.bytes;
      // What is still on its way is for nobody.
      shares.delete(req);
    });
    next();
  };
}

/**
 * Takes so many bytes of memory for the body of this request, until its reply is over. Throws ApiError `server_overloaded`
 * when there is no room for them. Does nothing for a request that no limit was put on.
 */
export function holdBytes(req: IncomingMessage, bytes: number): void {
  shares.get(req)?.hold(bytes);
}

function overloaded(): ApiError {
  return new ApiError('server_overloaded', { headers: { 'retry-after': '1' } });
}
