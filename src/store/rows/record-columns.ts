/** The columns of the table of records by the fields of their rows, from which both engines make their statements. */

import type { BegunRow, DraftRow, RecordRow } from './records.ts';

/** PostgreSQL gets rows as JSON, and casts their fields to these types. */
type Column = readonly [name: string, type: 'text' | 'bigint' | 'smallint'];
type Columns<Field extends string> = Readonly<Record<Field, Column>>;

/** What a record is begun with, and what never changes. */
export const DRAFT_COLUMNS = {
  requestId: ['request_id', 'text'],
  caller: ['caller', 'text'],
  endpoint: ['endpoint', 'text'],
  model: ['model', 'text'],
  stream: ['stream', 'smallint'],
  createdAtMs: ['created_at_ms', 'bigint'],
  estimatedInputTokens: ['estimated_input_tokens', 'bigint'],
  idempotencyKey: ['idempotency_key', 'text'],
  body: ['body', 'text'],
} satisfies Columns<Exclude<keyof DraftRow, 'deadlineMs'>>;

/** Who pays, and how much at most. */
export const HOLD_COLUMNS = {
  key: ['key', 'bigint'],
  groupId: ['group_id', 'text'],
  heldMicro: ['held_micro', 'bigint'],
  interruptedCostMicro: ['interrupted_cost_micro', 'bigint'],
} satisfies Columns<'key' | 'groupId' | 'heldMicro' | 'interruptedCostMicro'>;

/** What a change writes. */
export const STATE_COLUMNS = {
  status: ['status', 'text'],
  completedAtMs: ['completed_at_ms', 'bigint'],
  cancelRequestedAtMs: ['cancel_requested_at_ms', 'bigint'],
  inputTokens: ['input_tokens', 'bigint'],
  cachedTokens: ['cached_tokens', 'bigint'],
  cacheWriteTokens: ['cache_write_tokens', 'bigint'],
  outputTokens: ['output_tokens', 'bigint'],
  reasoningTokens: ['reasoning_tokens', 'bigint'],
  totalTokens: ['total_tokens', 'bigint'],
  usageEstimated: ['usage_estimated', 'smallint'],
  costMicro: ['cost_micro', 'bigint'],
  incompleteReason: ['incomplete_reason', 'text'],
  errorCode: ['error_code', 'text'],
  upstream: ['upstream', 'text'],
  cacheTurn: ['cache_turn', 'text'],
  cacheBrokenAt: ['cache_broken_at', 'text'],
  savedMicro: ['saved_micro', 'bigint'],
} satisfies Partial<Columns<keyof RecordRow>>;

const { estimatedInputTokens, idempotencyKey: _key, body: _body, ...SHOWN } = DRAFT_COLUMNS;
const { interruptedCostMicro, ...PAYING } = HOLD_COLUMNS;
const { status, cancelRequestedAtMs } = STATE_COLUMNS;
const BEGUN: Columns<keyof BegunRow> = {
  ...SHOWN,
  ...PAYING,
  status,
  cancelRequestedAtMs,
  seq: ['seq', 'bigint'],
  confirmed: ['confirmed', 'smallint'],
};
/** A column takes as long to read when it is empty, and of a record that has not ended half of them are. */
export const BEGUN_COLUMNS = toSelected(BEGUN);

export const RECORD_COLUMNS = toSelected({ ...BEGUN, ...STATE_COLUMNS } satisfies Columns<keyof RecordRow>);

export const UNFINISHED_COLUMNS = toSelected({ ...BEGUN, estimatedInputTokens, interruptedCostMicro });

function toSelected(columns: Columns<string>): string {
  return listOf(columns, (field, [name]) => (name === field ? name : `${name} AS "${field}"`));
}

export function fieldsOf<Field extends string>(columns: Columns<Field>): readonly Field[] {
  return Object.keys(columns).filter((name): name is Field => name in columns);
}

export function namesOf(columns: Columns<string>): string {
  return listOf(columns, (_field, [name]) => name);
}

/** Lists what `toSql` returns for the field and the column. */
export function listOf(columns: Columns<string>, toSql: (field: string, column: Column) => string): string {
  return Object.entries(columns)
    .map(([field, column]) => toSql(field, column))
    .join(', ');
}
