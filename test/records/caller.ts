/**
 * Somebody with an API key of their own, and what they can ask the gateway. Every record they are shown is checked
 * against schemas/request-record.json on its way.
 */

import { Ajv } from 'ajv';
import { expect } from 'chai';
import requestRecordSchema from '../../schemas/request-record.json' with { type: 'json' };
import responseSchema from '../../schemas/response.json' with { type: 'json' };
import type { ApiError, ErrorCode } from '../../src/core/errors.ts';
import type { CompactionResource, RequestRecord, ResponseResource } from '../../src/contract/types.ts';
import { TEST_KEY } from '../support/gateway.ts';
import { turn } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

export type ErrorBody = ReturnType<ApiError['toBody']>;
type Headers = Readonly<Record<string, string>>;

export interface Caller {
  /** `POST /api/v1/responses`. A text is sent as it is. */
  readonly create: (request: object | string, init?: { headers?: Headers; signal?: AbortSignal }) => Promise<Response>;
  /** The same for `POST /api/v1/responses/compact`. */
  readonly compact: Caller['create'];
  /** The same for `POST /v1/chat/completions`. */
  readonly complete: Caller['create'];
  readonly get: (path: string, headers?: Headers) => Promise<Response>;
  /** `POST /api/v1/requests/{id}/cancel` */
  readonly cancel: (id: string) => Promise<Response>;
  /** The record of this `req_…` or `resp_…` id, as it is now. */
  readonly record: (id: string) => Promise<RequestRecord>;
  /** The record of this id, as soon as it is in its final state. */
  readonly final: (id: string) => Promise<RequestRecord>;
}

/** `check` is for gateways of another version, whose records have other fields. */
export function callerOf(url: string, apiKey: string = TEST_KEY, check: typeof expectRecord = expectRecord): Caller {
  const authorization = { authorization: `Bearer ${apiKey}` };
  const postTo =
    (path: string): Caller['create'] =>
    (request, init) =>
      fetch(`${url}${path}`, {
        ...init,
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/json', ...init?.headers },
        body: typeof request === 'string' ? request : JSON.stringify(request),
      });
  const caller: Caller = {
    create: postTo('/api/v1/responses'),
    compact: postTo('/api/v1/responses/compact'),
    complete: postTo('/v1/chat/completions'),
    get: (path, headers) => fetch(`${url}${path}`, { headers: { ...authorization, ...headers } }),
    cancel: (id) => fetch(`${url}/api/v1/requests/${id}/cancel`, { method: 'POST', headers: authorization }),
    async record(id) {
      const reply = await caller.get(`/api/v1/requests/${id}`);
      expect(reply.status, `the status of the answer about ${id}`).to.equal(200);
      const body: unknown = await reply.json();
      check(body);
      return body;
    },
    async final(id) {
      let record = await caller.record(id);
      while (record.status === 'processing') {
        // A key may read 600 times a minute.
        await turn(100);
        record = await caller.record(id);
      }
      return record;
    },
  };
  return caller;
}

/** Every record of this caller, by its id. */
export async function allRecords(caller: Caller): Promise<Map<string, RequestRecord>> {
  const records = new Map<string, RequestRecord>();
  for (let after = ''; ;) {
    const reply = await caller.get(`/api/v1/requests?limit=100${after}`);
    expect(reply.status, 'the status of a list').to.equal(200);
    const page = (await reply.json()) as { data: readonly RequestRecord[]; last_id: string; has_more: boolean };
    for (const record of page.data) records.set(record.request_id, record);
    if (!page.has_more) return records;
    after = `&after=${page.last_id}`;
  }
}

/** The record that is the body of this reply. */
export async function readRecord(reply: Response): Promise<RequestRecord> {
  const body: unknown = await reply.json();
  expectRecord(body);
  return body;
}

const ajv = new Ajv({ strict: true, discriminator: true, allowUnionTypes: true, keywords: ['tsType'] });
const isRecord = ajv.addSchema(responseSchema).compile<RequestRecord>(requestRecordSchema);

/** Fails unless this is a whole record of the contract whose parts fit its status. */
export function expectRecord(body: unknown): asserts body is RequestRecord {
  expect(isRecord(body), JSON.stringify(isRecord.errors)).to.equal(true);
  const record = body as RequestRecord;
  expect(record.response_id).to.equal(record.request_id.replace('req_', 'resp_'));
  expect(record.status_url).to.match(new RegExp(`/api/v1/requests/${record.request_id}$`));
  expect(record.completed_at === null, 'only a final record has its time').to.equal(record.status === 'processing');
  expect(record.error !== null, 'failed and cancelled records say why').to.equal(
    record.status === 'failed' || record.status === 'cancelled',
  );
}

/** The error of this reply, whose four fields are all texts. */
export async function readError(reply: Response): Promise<ErrorBody['error']> {
  const { error } = (await reply.json()) as ErrorBody;
  expect(Object.keys(error).toSorted()).to.deep.equal(['code', 'message', 'param', 'type']);
  for (const field of Object.values(error)) expect(field).to.be.a('string');
  return error;
}

/** What the caller of a create request gets: an HTTP error, or a response and how it ends. */
export type Told =
  | { readonly status: number; readonly code: ErrorCode }
  | { readonly ends: ResponseResource['status']; readonly code?: ErrorCode };

/** Reads the reply to a create request to its end, which for a stream is a well-formed one, or that to a compaction. */
export async function readTold(reply: Response): Promise<Told> {
  if (reply.status !== 200) {
    const { code } = await readError(reply);
    return { status: reply.status, code: code as ErrorCode };
  }
  if (reply.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const body = (await reply.json()) as ResponseResource | CompactionResource;
    return body.object === 'response.compaction' ? { ends: 'completed' } : toTold(body);
  }
  return toTold(expectWellFormed(parseEvents(await reply.text())));
}

function toTold({ status, error }: Pick<ResponseResource, 'status' | 'error'>): Told {
  return error === null ? { ends: status } : { ends: status, code: error.code as ErrorCode };
}
