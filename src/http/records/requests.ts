import type { ShownPolicy } from '../../core/routes.ts';
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../../core/errors.ts';
import type { Identities } from '../../identity/identities.ts';
import { toRecord, type ShownRecord } from '../../requests/show-record.ts';
import type { Store } from '../../core/books/store.ts';
import type { RequestList } from '../../contract/record-types.ts';
import { callerOf } from '../../access/authenticate.ts';
import { untilServed } from '../../wire/until-served.ts';
import { parseIdempotencyKey } from '../../requests/idempotency-key.ts';
import { baseUrlOf } from '../../wire/base-url.ts';
import { readRecordQuery, readRequestId } from '../../wire/query.ts';
import { cancelAsked, type RunningRequests } from '../../requests/running.ts';

export interface RequestRoutesOptions {
  readonly store: Store;
  readonly running: RunningRequests;
  readonly identities: Identities;
  readonly publicBaseUrl: string | null;
  readonly policy: () => ShownPolicy;
}

export interface RequestRoutes {
  readonly show: RequestHandler<{ id: string }>;
  /** With an Idempotency-Key header it shows the record of that key. */
  readonly list: RequestHandler;
  readonly cancel: RequestHandler<{ id: string }>;
}

/** Returns the routes of the caller's own records. A record of another caller is not found. */
export function createRequestRoutes({
  store,
  running,
  identities,
  publicBaseUrl,
  policy,
}: RequestRoutesOptions): RequestRoutes {
  const shown = (req: Request): ShownRecord => ({ baseUrl: baseUrlOf(req, publicBaseUrl), ...policy() });
  return {
    async show(req, res) {
      const record = await store.find(callerOf(res).identity, readRequestId(req.params.id));
      if (record === undefined) throw new ApiError('request_not_found');
      res.json(toRecord(record, shown(req)));
    },
    async list(req, res) {
      const { identity } = callerOf(res);
      const key = parseIdempotencyKey(req.headers['idempotency-key']);
      if (key !== undefined) {
        const record = await store.findByIdempotencyKey(identity, identities.idempotencyKey(identity, key));
        if (record === undefined) throw new ApiError('request_not_found');
        res.json(toRecord(record, shown(req)));
        return;
      }
      const query = readRecordQuery(req.query);
      const page = await store.list(identity, query, untilServed(res));
      const data = page.records.map((record) => toRecord(record, shown(req)));
      res.json({
        object: 'list',
        data,
        first_id: data.at(0)?.request_id ?? null,
        last_id: page.lastId,
        has_more: page.hasMore,
      } satisfies RequestList);
    },
    async cancel(req, res) {
      const requestId = readRequestId(req.params.id);
      const asking = store.requestCancel(callerOf(res).identity, requestId);
      const asked = await cancelAsked(running, requestId, asking);
      if (asked === undefined) throw new ApiError('request_not_found');
      res.status(asked.kind === 'asked' ? 202 : 200).json(toRecord(asked.record, shown(req)));
    },
  };
}
