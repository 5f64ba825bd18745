import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Holder } from '../accounts/caller.ts';
import { callerOf } from './authenticate.ts';
import { createShares, type Share, type Shares } from './shares.ts';
import { onceServed } from '../wire/until-served.ts';

export interface LoadLimits {
  readonly maxConcurrentRequests: number;
  /** Limits one decompressed body. */
  readonly maxBodyBytes: number;
  /** Limits the decompressed bodies of all requests together. */
  readonly maxBodyBytesInFlight: number;
  readonly maxWebSockets: number;
  readonly callerSharePercent: number;
}

/** Limits what all callers do at once, over all transports together. */
export interface Load {
  /** Takes a request. Its share takes bytes. Throws what `Share.take` throws. */
  enter(holderNow: () => Holder): Share;
  readonly requests: Shares;
  readonly bodyBytes: Shares;
  readonly webSockets: Shares;
  readonly historyBytes: Shares;
}

const MAX_HISTORY_BYTES = 256 * 1024 * 1024;

/** Returns a load of which nothing is taken. */
export function createLoad(limits: LoadLimits): Load {
  const { maxConcurrentRequests, maxBodyBytes, maxBodyBytesInFlight, maxWebSockets } = limits;
  const callerShare = limits.callerSharePercent / 100;
  const requests = createShares({ capacity: maxConcurrentRequests, largest: 1, callerShare });
  const bodyBytes = createShares({ capacity: maxBodyBytesInFlight, largest: maxBodyBytes, callerShare });
  return {
    enter(holderNow) {
      const running = requests.open(holderNow);
      running.take(1);
      const body = bodyBytes.open(holderNow);
      return {
        take: (bytes) => body.take(bytes),
        giveBack: (bytes) => body.giveBack(bytes),
        release() {
          body.release();
          running.release();
        },
      };
    },
    requests,
    bodyBytes,
    webSockets: createShares({ capacity: maxWebSockets, largest: 1, callerShare }),
    historyBytes: createShares({ capacity: MAX_HISTORY_BYTES, largest: maxBodyBytes, callerShare }),
  };
}

const ALLOCATED = Symbol('allocated');
type Request = IncomingMessage & {
  [ALLOCATED]?: { readonly share: Share; readonly holderNow: () => Holder } | undefined;
};

/** Counts each HTTP request until its reply is over. OPTIONS has no caller, and is only refused. */
export function limitLoad(load: Load): RequestHandler {
  return (req: Request, res, next) => {
    if (req.method === 'OPTIONS') return next();
    const holderNow = callerOf(res).holder;
    const share = load.enter(holderNow);
    req[ALLOCATED] = { share, holderNow };
    onceServed(res, () => {
      share.release();
      req[ALLOCATED] = undefined;
    });
    next();
  };
}

/** As `Share.take`, for the body of this request. Does nothing for a request without a share. */
export function takeBytes(req: Request, bytes: number): void {
  req[ALLOCATED]?.share.take(bytes);
}

/** As `Share.giveBack`, of what `takeBytes` took. */
export function giveBackBytes(req: Request, bytes: number): void {
  req[ALLOCATED]?.share.giveBack(bytes);
}

/** Returns the name of who holds the share of this request; that of all without a share is empty. */
export function holderNameOf(req: Request): string {
  return req[ALLOCATED]?.holderNow().name ?? '';
}
