import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ApiError } from '../../core/errors.ts';

export interface LoadLimits {
  readonly maxConcurrentRequests: number;
  /** Limits the decompressed bodies of all requests together. */
  readonly maxBodyBytesInFlight: number;
}

export interface Share {
  /** Throws ApiError `server_overloaded` if the limit is reached. */
  hold(bytes: number): void;
  release(): void;
}

export interface Load {
  /** Throws ApiError `server_overloaded` if the limit is reached. */
  enter(): Share;
  /** Opens a share for bytes that are no request yet. */
  openShare(): Share;
}

/** Returns a load of which these limits hold for all transports together. */
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

const SHARE = Symbol('share');
type Request = IncomingMessage & { [SHARE]?: Share | undefined };

/** Counts each HTTP request until its reply is over. */
export function limitLoad(load: Load): RequestHandler {
  return (req: Request, res, next) => {
    const share = load.enter();
    req[SHARE] = share;
    res.once('close', () => {
      share.release();
      req[SHARE] = undefined;
    });
    next();
  };
}

/** As `Share.hold`, for the body of this request. Does nothing for a request without a share. */
export function holdBytes(req: Request, bytes: number): void {
  req[SHARE]?.hold(bytes);
}

function overloaded(): ApiError {
  return new ApiError('server_overloaded', { headers: { 'retry-after': '1' } });
}
