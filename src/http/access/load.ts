/** How much the gateway takes on at once. What is beyond that is refused at its door, as long as there is strength to say so. */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ApiError } from '../../core/errors.ts';

export interface LoadLimits {
  readonly maxConcurrentRequests: number;
  /** Of the bodies of all requests that are not over, decompressed. */
  readonly maxBodyBytesInFlight: number;
}

/** What one request has of all that there is. */
export interface Share {
  /** Takes so many bytes more. Throws ApiError `server_overloaded` when there is no room for them. */
  hold(bytes: number): void;
  /** Gives everything back; may be called again. */
  release(): void;
}

/** What all requests share, whatever they come over. */
export interface Load {
  /** Lets a request in while there are fewer than the limit. Throws ApiError `server_overloaded` otherwise. */
  enter(): Share;
  /** Memory for what is not yet a request. */
  openShare(): Share;
}

/** Begins with nothing taken. */
export function createLoad({ maxConcurrentRequests, maxBodyBytesInFlight }: LoadLimits): Load {
  let requests = 0;
  let bodyBytes = 0;

  return {
    enter() {
      if (requests >= maxConcurrentRequests) throw overloaded();
      requests++;
      return open(() => void requests--);
    },
    openShare: () => open(() => undefined),
  };

  function open(leave: () => void): Share {
    let held = 0;
    let isOpen = true;
    return {
      hold(bytes) {
        if (bodyBytes + bytes > maxBodyBytesInFlight) throw overloaded();
        bodyBytes += bytes;
        held += bytes;
      },
      release() {
        bodyBytes -= held;
        held = 0;
        if (isOpen) leave();
        isOpen = false;
      },
    };
  }
}

/** On the request, for the reason that request-facts.ts gives. */
const SHARE = Symbol('share');
type Request = IncomingMessage & { [SHARE]?: Share | undefined };

/** Lets HTTP requests in, each until its reply is over. */
export function limitLoad(load: Load): RequestHandler {
  return (req: Request, res, next) => {
    const share = load.enter();
    req[SHARE] = share;
    res.once('close', () => {
      share.release();
      // What is still on its way is for nobody.
      req[SHARE] = undefined;
    });
    next();
  };
}

/** As `Share.hold`, for the body of this request. Does nothing for a request that no limit was put on. */
export function holdBytes(req: Request, bytes: number): void {
  req[SHARE]?.hold(bytes);
}

function overloaded(): ApiError {
  return new ApiError('server_overloaded', { headers: { 'retry-after': '1' } });
}
