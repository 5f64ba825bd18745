import { MOST_CALLERS, type Store, type OwnedRecord } from '../core/books/store.ts';
import type { Request, RequestHandler } from 'express';
import type { Administration } from './administration.ts';
import { labelCaller } from '../accounts/usage.ts';
import type { AdminRequest, AdminRequestList } from '../contract/record-types.ts';
import type { AuthMode } from '../contract/settings-types.ts';
import { ApiError } from '../core/errors.ts';
import { cancelAsked, type CancellableRequests } from '../requests/running.ts';
import { toRecord } from '../requests/show-record.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { invalidQuery, readRecordQuery, readRequestId, readText } from '../wire/query.ts';

export interface AdminRequestsOptions {
  readonly store: Store;
  readonly running: CancellableRequests;
  readonly publicBaseUrl: string | null;
  readonly authMode: AuthMode;
}

type AdminRequests = Record<'list', RequestHandler> & Record<'show' | 'cancel', RequestHandler<{ id: string }>>;

export function createAdminRequests(options: AdminRequestsOptions, administration: Administration): AdminRequests {
  const { store, running, publicBaseUrl, authMode } = options;
  const toShown = (req: Request): ((record: OwnedRecord) => AdminRequest) => {
    const baseUrl = baseUrlOf(req, publicBaseUrl);
    return (record) => toAdminRequest(record, baseUrl);
  };

  async function findCaller(key: string): Promise<string> {
    return authMode === 'managed' ? administration.keys.find(key) : key;
  }

  return {
    async list(req, res) {
      const [key, group] = [readText('key', req.query), readText('group', req.query)];
      const page = await store.listAll({
        ...readRecordQuery(req.query),
        ...(key !== undefined && { callerPrefix: await findCaller(key) }),
        ...(group !== undefined && { groupId: await administration.groups.find(group) }),
      });
      if (page === undefined) throw invalidQuery('key', `More than ${MOST_CALLERS} callers begin with key; send more.`);
      res.json({
        object: 'list',
        data: page.records.map(toShown(req)),
        last_id: page.lastId,
        has_more: page.hasMore,
      } satisfies AdminRequestList);
    },
    async show(req, res) {
      const record = await store.findAny(readRequestId(req.params.id));
      if (record === undefined) throw new ApiError('request_not_found');
      res.json(toShown(req)(record));
    },
    async cancel(req, res) {
      const requestId = readRequestId(req.params.id);
      const asked = await cancelAsked(running, requestId, store.requestCancelOfAny(requestId));
      const record = await store.findAny(requestId);
      if (asked === undefined || record === undefined) throw new ApiError('request_not_found');
      res.status(asked.kind === 'asked' ? 202 : 200).json(toShown(req)(record));
    },
  };
}

export function toAdminRequest(record: OwnedRecord, baseUrl: string): AdminRequest {
  const shown = toRecord(record, { baseUrl, exposesUpstream: true });
  return { ...shown, key: labelCaller(record.caller), group: record.groupId };
}
