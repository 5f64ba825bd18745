import type { StateOrigin, ThoughtsForm } from '../reply/reply-state.ts';

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
      table.set(keyOf(origin), form);
      const [oldest] = table.keys();
      if (table.size > MAX_REMEMBERED && oldest !== undefined) table.delete(oldest);
    },
    table,
  };
}

function keyOf({ dialect, model }: StateOrigin): string {
  return JSON.stringify([dialect, model]);
}
