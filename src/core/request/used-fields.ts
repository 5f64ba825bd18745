import type { StateOrigin, ThoughtsForm } from '../reply/reply-state.ts';
import { setLast } from '../set-last.ts';

/** The fields in which models have sent their thoughts. */
export interface UsedFields {
  of(origin: StateOrigin): ThoughtsForm | undefined;
  /** Another field later changes nothing, so that the messages of a conversation stay the same. */
  note(origin: StateOrigin, form: ThoughtsForm): void;
  /** For another thread. */
  readonly table: ReadonlyMap<string, ThoughtsForm>;
}

/** Callers choose the names of models. */
const MAX_REMEMBERED = 1000;

/** Returns a memory that begins with this table. */
export function rememberUsedFields(known: UsedFields['table'] = new Map()): UsedFields {
  const table = new Map(known);
  return {
    of: (origin) => table.get(keyOf(origin)),
    note(origin, form) {
      if (table.has(keyOf(origin))) return;
      setLast(table, keyOf(origin), form, MAX_REMEMBERED);
    },
    table,
  };
}

function keyOf({ dialect, model }: StateOrigin): string {
  return JSON.stringify([dialect, model]);
}
