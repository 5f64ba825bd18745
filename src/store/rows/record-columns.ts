/** The columns of the table of records by the fields of their rows, from which both engines make their statements. */

import { columnOf, selected } from './columns.ts';
import type { BegunRow, DraftRow, RecordRow } from './records.ts';

/** PostgreSQL gets rows as JSON, and casts their fields to these types. */
type ColumnType = 'text' | 'bigint' | 'smallint';
type Columns<Field extends string> = Readonly<Record<Field, ColumnType>>;

/** What a record is begun with, and what never changes. */
export const DRAFT_COLUMNS = {
  requestId: 'text',
  caller: 'text',
  endpoint: 'text',
  model: 'text',
  stream: 'smallint',
  createdAtMs: 'bigint',
  estimatedInputTokens: 'bigint',
  idempotencyKey: 'text',
  body: 'text',
} satisfies Columns<Exclude<keyof DraftRow, 'deadlineMs'>>;

/** Who pays, and how much at most. */
export const HOLD_COLUMNS = {
  key: 'bigint',
  groupId: 'text',
  heldMicro: 'bigint',
  interruptedCostMicro: 'bigint',
} satisfies Columns<'key' | 'groupId' | 'heldMicro' | 'interruptedCostMicro'>;

/** What a change writes. */
export const STATE_COLUMNS = {
  status: 'text',
  completedAtMs: 'bigint',
  cancelRequestedAtMs: 'bigint',
  inputTokens: 'bigint',
  cachedTokens: 'bigint',
  cacheWriteTokens: 'bigint',
  outputTokens: 'bigint',
  reasoningTokens: 'bigint',
  totalTokens: 'bigint',
  usageEstimated: 'smallint',
  costMicro: 'bigint',
  incompleteReason: 'text',
  errorCode: 'text',
  upstream: 'text',
  cacheTurn: 'text',
  cacheBrokenAt: 'text',
  savedMicro: 'bigint',
} satisfies Partial<Columns<keyof RecordRow>>;

const { estimatedInputTokens, idempotencyKey: _key, body: _body, ...SHOWN } = DRAFT_COLUMNS;
const { interruptedCostMicro, ...PAYING } = HOLD_COLUMNS;
const { status, cancelRequestedAtMs } = STATE_COLUMNS;
const BEGUN: Columns<keyof BegunRow> = {
  ...SHOWN,
  ...PAYING,
  status,
  cancelRequestedAtMs,
  seq: 'bigint',
  confirmed: 'smallint',
};
/** A column takes as long to read when it is empty, and of a record that has not ended half of them are. */
export const BEGUN_COLUMNS = toSelected(BEGUN);

export const RECORD_COLUMNS = toSelected({ ...BEGUN, ...STATE_COLUMNS } satisfies Columns<keyof RecordRow>);

export const UNFINISHED_COLUMNS = toSelected({ ...BEGUN, estimatedInputTokens, interruptedCostMicro });

function toSelected(columns: Columns<string>): string {
  return selected(Object.keys(columns));
}

export function fieldsOf<Field extends string>(columns: Columns<Field>): readonly Field[] {
  return Object.keys(columns).filter((name): name is Field => name in columns);
}

export function namesOf(columns: Columns<string>): string {
  return listOf(columns, columnOf);
}

/** Lists what `toSql` returns for the field and the type of its column. */
export function listOf(columns: Columns<string>, toSql: (field: string, type: ColumnType) => string): string {
  return Object.entries(columns)
    .map(([field, type]) => toSql(field, type))
    .join(', ');
}
