import { mapValues } from '../../core/map-values.ts';

/** What differs between the engines in statements that are the same otherwise. */
export interface Dialect {
  readonly contains: (text: string, part: string) => string;
  /** Compares texts by their bytes, as the indexes of lists do. */
  readonly byBytes: '' | ' COLLATE "C"';
  /** Of rows that several gateways may delete at the same time, each takes those that are free. */
  readonly skipLocked: string;
  /** The hour in which the month of `hour` begins. */
  readonly startOfMonth: string;
}

export const SQLITE: Dialect = {
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  byBytes: '',
  // The transaction of a batch is the only writer.
  skipLocked: '',
  startOfMonth: `unixepoch(hour * 3600, 'unixepoch', 'start of month') / 3600`,
};

export const POSTGRES: Dialect = {
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  byBytes: ' COLLATE "C"',
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  startOfMonth: `(extract(epoch FROM date_trunc('month', to_timestamp(hour * 3600), 'UTC')) / 3600)::bigint`,
};

/** A statement whose values are named in it, such as `:keyId`. PostgreSQL prepares it by its own name. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

export function named<Name extends string>(
  room: string,
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, NamedStatement>> {
  return mapValues(texts, (text, name) => ({ name: `${room}_${name}`, text }));
}

/** The name of a value in a text. A cast such as `::bigint` is none. */
export const NAME = /(?<!:):([a-zA-Z]\w*)/g;
