import type { ErrorCode } from '../../core/errors.ts';
import type { RequestId } from '../../contract/ids.ts';
import type { IncompleteReason, Outcome, RecordDraft, RecordStatus, StoredRecord } from '../store.ts';

/**
 * Records on their way between the threads, as flat lists in the order of the statements: copying them costs half of what
 * objects cost, and SQLite takes and gives them as they are.
 */
export type DraftRow = readonly [
  requestId: RequestId,
  caller: string,
  endpoint: StoredRecord['endpoint'],
  model: string,
  stream: 0 | 1,
  createdAtMs: number,
  estimatedInputTokens: number,
  idempotencyKey: string | null,
  body: string | null,
];

export type OutcomeRow = readonly [
  status: RecordStatus,
  completedAtMs: number,
  inputTokens: number | null,
  cachedTokens: number | null,
  outputTokens: number | null,
  reasoningTokens: number | null,
  totalTokens: number | null,
  usageEstimated: 0 | 1,
  costMicro: number | null,
  incompleteReason: IncompleteReason | null,
  errorCode: ErrorCode | null,
  freesIdempotencyKey: 0 | 1,
  requestId: RequestId,
];

/** Caller, idempotency key and body, all as HMACs of one secret. */
export type IdempotencyRow = readonly [caller: string, idempotencyKey: string, body: string];

export type CancelRow = readonly [kind: 'asked' | 'final', record: RecordRow];

export type ListRow = readonly [
  caller: string,
  /** Only records which were accepted before this one. */
  beforeSeq: number,
  status: RecordStatus | null,
  model: string | null,
  limit: number,
];

/** What was found in one window, and where the next one begins; null when there is none. */
export type ListStep = readonly [rows: readonly RecordRow[], nextBeforeSeq: number | null];

/**
 * How many records one step of a list looks at. A filter that few records pass would otherwise search all of them at
 * once, and everything else would wait. Unfinished records have an index of their own and are never many: one step finds
 * them all.
 */
export const LIST_WINDOW = 2000;

export type RecordRow = readonly [
  requestId: RequestId,
  endpoint: StoredRecord['endpoint'],
  model: string,
  stream: 0 | 1,
  status: RecordStatus,
  createdAtMs: number,
  completedAtMs: number | null,
  cancelRequestedAtMs: number | null,
  inputTokens: number | null,
  cachedTokens: number | null,
  outputTokens: number | null,
  reasoningTokens: number | null,
  totalTokens: number | null,
  usageEstimated: 0 | 1,
  costMicro: number | null,
  incompleteReason: IncompleteReason | null,
  errorCode: ErrorCode | null,
  seq: number,
  caller: string,
  /** The place of the key which pays; null where the gateway issues none. */
  key: number | null,
  heldMicro: number | null,
];

/** Where a RecordRow holds what is asked for by itself. `SEQ` is its place in the order of acceptance. */
export const SEQ = 17;
export const CALLER = 18;
export const KEY = 19;

/** The columns of a RecordRow, in its order. */
export const RECORD_COLUMNS = `request_id, endpoint, model, stream, status, created_at_ms, completed_at_ms,
  cancel_requested_at_ms, input_tokens, cached_tokens, output_tokens, reasoning_tokens, total_tokens, usage_estimated,
  cost_micro, incomplete_reason, error_code, seq, caller, key, held_micro`;

export function isFinal(record: RecordRow): boolean {
  return record[4] !== 'processing';
}

/** An unfinished record as it ends. The promise of a 202 is kept here: whoever asked for a cancel before this transaction gets `cancelled`. */
export function closeRecord(record: RecordRow, outcome: OutcomeRow): RecordRow {
  const [requestId, endpoint, model, stream, , createdAtMs, , cancelRequestedAtMs] = record;
  const [, , , , , , , , , , , , , , , , , seq, caller, key, heldMicro] = record;
  const [status, completedAtMs, input, cached, output, reasoning, total, estimated, cost, incomplete, error] = outcome;
  const isCancelled = cancelRequestedAtMs !== null;
  return [
    requestId,
    endpoint,
    model,
    stream,
    isCancelled ? 'cancelled' : status,
    createdAtMs,
    completedAtMs,
    cancelRequestedAtMs,
    input,
    cached,
    output,
    reasoning,
    total,
    estimated,
    cost,
    isCancelled ? null : incomplete,
    isCancelled ? 'request_cancelled' : error,
    seq,
    caller,
    key,
    heldMicro,
  ];
}

/** How a record ends that was to be taken back, and of which a cancel was asked for. */
export function toDiscardedRow(requestId: RequestId, nowMs: number): OutcomeRow {
  return ['cancelled', nowMs, null, null, null, null, null, 0, null, null, 'request_cancelled', 0, requestId];
}

/** A record that has just become final, as far as the books take note of it. */
export interface ClosedRecord {
  readonly requestId: RequestId;
  readonly caller: string;
  readonly model: string;
  readonly status: RecordStatus;
  readonly createdAtMs: number;
  readonly endedAtMs: number;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly costMicro: number | null;
  /** The place of the key which pays; null where the gateway issues none. */
  readonly key: number | null;
  readonly heldMicro: number | null;
}

/** What the books take note of, of a record that has ended. One that is taken back has not, and has cost nothing. */
export function toClosed(row: RecordRow): ClosedRecord {
  const [requestId, , model, , status, createdAtMs, completedAtMs, , inputTokens, cachedTokens, outputTokens] = row;
  const [, , , , , , , , , , , reasoningTokens, , , costMicro, , , , caller, key, heldMicro] = row;
  const endedAtMs = completedAtMs ?? createdAtMs;
  const tokens = { inputTokens, cachedTokens, outputTokens, reasoningTokens };
  return { requestId, caller, model, status, createdAtMs, endedAtMs, ...tokens, costMicro, key, heldMicro };
}

/** A draft as `accept` takes it, under the present secret alone. */
export function toDraftRow(draft: RecordDraft): DraftRow {
  return [
    draft.requestId,
    draft.caller[0],
    draft.endpoint,
    draft.model,
    draft.stream ? 1 : 0,
    draft.createdAtMs,
    draft.estimatedInputTokens,
    draft.idempotency?.key[0] ?? null,
    draft.idempotency?.body[0] ?? null,
  ];
}

/** How a draft is known under the present secret; nothing when it has no idempotency key. */
export function toPresent([, caller, , , , , , key, body]: DraftRow): readonly IdempotencyRow[] {
  return key === null || body === null ? [] : [[caller, key, body]];
}

/** An outcome as `finish` takes it. */
export function toOutcomeRow(requestId: RequestId, outcome: Outcome): OutcomeRow {
  const { usage } = outcome;
  return [
    outcome.status,
    outcome.completedAtMs,
    usage?.input_tokens ?? null,
    usage?.input_tokens_details.cached_tokens ?? null,
    usage?.output_tokens ?? null,
    usage?.output_tokens_details.reasoning_tokens ?? null,
    usage?.total_tokens ?? null,
    outcome.usageEstimated ? 1 : 0,
    outcome.costMicro,
    outcome.incompleteReason,
    outcome.errorCode,
    outcome.freesIdempotencyKey ? 1 : 0,
    requestId,
  ];
}

/** A row as the rest of the program knows it. */
export function toRecord(row: RecordRow): StoredRecord {
  const [
    requestId,
    endpoint,
    model,
    stream,
    status,
    createdAtMs,
    completedAtMs,
    cancelRequestedAtMs,
    inputTokens,
    cachedTokens,
    outputTokens,
    reasoningTokens,
    totalTokens,
    usageEstimated,
    costMicro,
    incompleteReason,
    errorCode,
  ] = row;
  return {
    requestId,
    endpoint,
    model,
    stream: stream === 1,
    status,
    createdAtMs,
    completedAtMs,
    cancelRequestedAtMs,
    // The five are written together or not at all.
    usage:
      inputTokens === null
        ? null
        : {
            input_tokens: inputTokens,
            input_tokens_details: { cached_tokens: cachedTokens ?? 0 },
            output_tokens: outputTokens ?? 0,
            output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
            total_tokens: totalTokens ?? 0,
          },
    usageEstimated: usageEstimated === 1,
    costMicro,
    incompleteReason,
    errorCode,
  };
}
