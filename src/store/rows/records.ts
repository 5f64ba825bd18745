import type { ErrorCode } from '../../core/errors.ts';
import type { GroupId, RequestId } from '../../contract/ids.ts';
import type {
  IncompleteReason,
  Outcome,
  PromptTurn,
  RecordDraft,
  RecordStatus,
  StoredRecord,
} from '../../core/books/store.ts';

export interface DraftRow {
  readonly requestId: RequestId;
  readonly caller: string;
  readonly endpoint: StoredRecord['endpoint'];
  readonly model: string;
  readonly stream: 0 | 1;
  readonly createdAtMs: number;
  readonly estimatedInputTokens: number;
  readonly idempotencyKey: string | null;
  readonly body: string | null;
  readonly deadlineMs: number;
}

export interface IdempotencyKeyRow {
  readonly caller: string;
  readonly idempotencyKey: string;
}

export interface IdempotencyRow extends IdempotencyKeyRow {
  readonly body: string;
}

type Broken = Extract<PromptTurn, { turn: 'broken' }>;

/** Who pays. */
export interface Paying {
  /** The `seq` of the key; null where the gateway issues no keys. */
  readonly key: number | null;
  readonly groupId: GroupId | null;
}

/** A record as it begins. Of one that has not ended, this is all there is. */
export interface BegunRow extends Paying {
  readonly requestId: RequestId;
  readonly endpoint: StoredRecord['endpoint'];
  readonly model: string;
  readonly stream: 0 | 1;
  readonly status: RecordStatus;
  readonly createdAtMs: number;
  readonly cancelRequestedAtMs: number | null;
  /** Records are numbered in the order of acceptance. */
  readonly seq: number;
  readonly caller: string;
  readonly heldMicro: number | null;
  /** 0 while others ask whether it was acknowledged, 1 when it was, or when they were told of its end. */
  readonly confirmed: 0 | 1 | null;
}

/** What its end adds. */
interface EndRow {
  readonly completedAtMs: number | null;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly outputTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly totalTokens: number | null;
  readonly usageEstimated: 0 | 1;
  readonly costMicro: number | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly errorCode: ErrorCode | null;
  readonly upstream: string | null;
  /** Who broke it, where it is broken. */
  readonly cacheTurn: 'first' | 'extended' | Broken['by'] | null;
  readonly cacheBrokenAt: string | null;
  readonly savedMicro: number | null;
}

export interface RecordRow extends BegunRow, EndRow {}

export interface OutcomeRow extends EndRow {
  readonly requestId: RequestId;
  readonly status: RecordStatus;
  readonly completedAtMs: number;
  readonly freesIdempotencyKey: boolean;
}

export interface CancelRow {
  readonly kind: 'asked' | 'final';
  readonly record: RecordRow;
}

export interface AskedRow {
  readonly requestId: RequestId;
  readonly isCancelRequested: 0 | 1;
  readonly isDoubted: 0 | 1;
}

/** A record that has ended was read as a whole. */
export function isFinal(record: BegunRow): record is RecordRow {
  return record.status !== 'processing';
}

/**
 * True for a record whose owner may still undo it: that it was acknowledged is known neither from
 * its owner nor from its end, which is that of a recovery.
 */
export function isUnconfirmed({ status, errorCode, confirmed }: RecordRow): boolean {
  return confirmed !== 1 && (status === 'processing' || (status === 'failed' && errorCode === 'gateway_interrupted'));
}

/**
 * Returns an unfinished record as it ends. It is `cancelled` when a cancel was requested before
 * this transaction, because the 202 promised that.
 */
export function closeRecord(record: BegunRow, outcome: OutcomeRow): RecordRow {
  const closed = { ...record, ...outcome };
  if (record.cancelRequestedAtMs === null) return closed;
  return { ...closed, status: 'cancelled', incompleteReason: null, errorCode: 'request_cancelled' };
}

/** Of a record that has not ended, and of a backend that has told nothing. */
const NO_END: EndRow = {
  completedAtMs: null,
  inputTokens: null,
  cachedTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null,
  usageEstimated: 0,
  costMicro: null,
  incompleteReason: null,
  errorCode: null,
  upstream: null,
  cacheTurn: null,
  cacheBrokenAt: null,
  savedMicro: null,
};

export function toWhole(record: BegunRow): RecordRow {
  return isFinal(record) ? record : { ...record, ...NO_END };
}

export interface UnfinishedRow extends BegunRow {
  readonly estimatedInputTokens: number;
  readonly interruptedCostMicro: number | null;
}

/** Returns how such a record ends: the backend may have read the prompt, and nobody knows of any output. */
export function toInterrupted(unfinished: UnfinishedRow, nowMs: number): RecordRow {
  const { estimatedInputTokens, interruptedCostMicro, ...begun } = unfinished;
  return closeRecord(begun, {
    ...NO_END,
    requestId: begun.requestId,
    status: 'failed',
    // The clock may have been set back.
    completedAtMs: Math.max(nowMs, begun.createdAtMs),
    inputTokens: estimatedInputTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    totalTokens: estimatedInputTokens,
    usageEstimated: 1,
    costMicro: interruptedCostMicro,
    errorCode: 'gateway_interrupted',
    freesIdempotencyKey: false,
  });
}

/** Returns the outcome of a discarded record whose cancel was requested. */
export function toDiscardedRow({ requestId, createdAtMs }: BegunRow, nowMs: number): OutcomeRow {
  return {
    ...NO_END,
    requestId,
    status: 'cancelled',
    // The clock may have been set back.
    completedAtMs: Math.max(nowMs, createdAtMs),
    errorCode: 'request_cancelled',
    freesIdempotencyKey: false,
  };
}

export function toDraftRow(draft: RecordDraft, deadlineMs: number): DraftRow {
  return {
    requestId: draft.requestId,
    caller: draft.caller[0],
    endpoint: draft.endpoint,
    model: draft.model,
    stream: draft.stream ? 1 : 0,
    createdAtMs: draft.createdAtMs,
    estimatedInputTokens: draft.estimatedInputTokens,
    idempotencyKey: draft.idempotency?.key[0] ?? null,
    body: draft.idempotency?.body[0] ?? null,
    deadlineMs,
  };
}

/** Returns what identifies duplicates; nothing without an idempotency key. */
export function toPresent({ caller, idempotencyKey, body }: DraftRow): readonly IdempotencyRow[] {
  return idempotencyKey === null || body === null ? [] : [{ caller, idempotencyKey, body }];
}

/** Returns the record of a draft as it begins. */
export function toNewRecord(
  { requestId, caller, endpoint, model, stream, createdAtMs, heldMicro }: DraftRow & { readonly heldMicro?: number },
  { seq, key, groupId }: Paying & { readonly seq: number },
): BegunRow {
  return {
    requestId,
    endpoint,
    model,
    stream,
    status: 'processing',
    createdAtMs,
    cancelRequestedAtMs: null,
    seq,
    caller,
    key,
    groupId,
    heldMicro: heldMicro ?? null,
    confirmed: null,
  };
}

export function toOutcomeRow(requestId: RequestId, outcome: Outcome): OutcomeRow {
  const { usage } = outcome;
  return {
    requestId,
    status: outcome.status,
    completedAtMs: outcome.completedAtMs,
    inputTokens: usage?.input_tokens ?? null,
    cachedTokens: usage?.input_tokens_details.cached_tokens ?? null,
    cacheWriteTokens: usage?.input_tokens_details.cache_write_tokens ?? null,
    outputTokens: usage?.output_tokens ?? null,
    reasoningTokens: usage?.output_tokens_details.reasoning_tokens ?? null,
    totalTokens: usage?.total_tokens ?? null,
    usageEstimated: outcome.usageEstimated ? 1 : 0,
    costMicro: outcome.costMicro,
    incompleteReason: outcome.incompleteReason,
    errorCode: outcome.errorCode,
    upstream: outcome.upstream,
    ...toTurnColumns(outcome.promptTurn),
    savedMicro: outcome.savedMicro,
    freesIdempotencyKey: outcome.freesIdempotencyKey,
  };
}

export function toRecord(row: RecordRow): StoredRecord {
  return {
    requestId: row.requestId,
    endpoint: row.endpoint,
    model: row.model,
    stream: row.stream === 1,
    status: row.status,
    createdAtMs: row.createdAtMs,
    completedAtMs: row.completedAtMs,
    cancelRequestedAtMs: row.cancelRequestedAtMs,
    // The counts are written together or not at all, but an older version writes no cache writes.
    usage:
      row.inputTokens === null
        ? null
        : {
            input_tokens: row.inputTokens,
            input_tokens_details: {
              cached_tokens: row.cachedTokens ?? 0,
              cache_write_tokens: row.cacheWriteTokens ?? 0,
            },
            output_tokens: row.outputTokens ?? 0,
            output_tokens_details: { reasoning_tokens: row.reasoningTokens ?? 0 },
            total_tokens: row.totalTokens ?? 0,
          },
    usageEstimated: row.usageEstimated === 1,
    costMicro: row.costMicro,
    incompleteReason: row.incompleteReason,
    errorCode: row.errorCode,
    upstream: row.upstream,
    promptTurn: toPromptTurn(row),
    savedMicro: row.savedMicro,
  };
}

function toTurnColumns(turn: PromptTurn | null) {
  return turn?.turn === 'broken'
    ? { cacheTurn: turn.by, cacheBrokenAt: turn.at }
    : { cacheTurn: turn?.turn ?? null, cacheBrokenAt: null };
}

function toPromptTurn({ cacheTurn: turn, cacheBrokenAt: at }: RecordRow): PromptTurn | null {
  if (turn === null || turn === 'first' || turn === 'extended') return turn && { turn };
  return { turn: 'broken', at: at ?? '', by: turn };
}
