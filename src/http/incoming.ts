import type { Request, Response } from 'express';
import type { DuplicateReply } from '../contract/record-types.ts';
import { parseIdempotencyKey } from '../requests/idempotency-key.ts';
import type { ReplyHead } from '../telemetry/facts.ts';
import type { Incoming } from '../requests/incoming.ts';
import { factsOf } from '../telemetry/reply-facts.ts';
import { callerOf } from '../access/authenticate.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { readJsonBody } from '../access/body.ts';
import { onceServed } from '../wire/until-served.ts';

export interface ReadIncomingOptions {
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
}

/** Reads a request up to the end of its body. Throws ApiError if that fails. */
export async function readIncoming(
  req: Request,
  res: Response,
  { publicBaseUrl, maxBodyBytes: maxBytes }: ReadIncomingOptions,
): Promise<Incoming> {
  const idempotencyKey = parseIdempotencyKey(req.headers['idempotency-key']);
  const bytes = await readJsonBody(req, { maxBytes });
  // Methods instead of getters: V8 makes a type for each literal with getters (core/writable.ts).
  return {
    ...replyHeadOf(res),
    caller: callerOf(res),
    idempotencyKey,
    body: { bytes },
    baseUrl: () => baseUrlOf(req, publicBaseUrl),
    isServed: () => res.closed,
    onceServed: (listener) => onceServed(res, () => listener(res.writableFinished)),
    sendDuplicate(status, record, error) {
      // `status_url` shows the record's own error, which would be read as one of this reply.
      const { error: _own, ...rest } = record;
      res.status(status).json(error === undefined ? rest : ({ ...record, error } satisfies DuplicateReply));
    },
  };
}

export function replyHeadOf(res: Response): ReplyHead {
  return {
    facts: factsOf(res),
    hasReplyBegun: () => res.headersSent,
    setHeader: (name, value) => void res.setHeader(name, value),
  };
}
