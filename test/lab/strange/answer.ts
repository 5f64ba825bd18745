/** A recorded answer as oddities change it, and the parts of it that they look for. */

import type { MachineSettings } from '../../support/machine.ts';

export type Json = Record<string, unknown>;

/** A stream is its chunks, and a completion is one chunk whose choice has a `message`. */
export type Chunks = readonly Json[];

/** What tells the pieces of calls apart. An oddity takes some of it, and a backend leaves at least one. */
export type Clue =
  | 'id'
  | 'name'
  | 'index'
  | 'order'
  | 'usage'
  | 'end'
  | 'text form'
  | 'thoughts form'
  | 'arguments form';

export interface AnswerOddity {
  readonly name: string;
  /** Where somebody met it. */
  readonly source: string;
  /** `broken` answers have not come to their end, and are never told as completed. */
  readonly means: 'same' | 'broken';
  /** What it changes for good. Two oddities that change one thing are never tried together. */
  readonly takes: readonly Clue[];
  /** What only the settings of a backend allow. */
  readonly settings?: MachineSettings;
  /** Returns undefined where the answer has nothing to change. It may change the chunks that it gets. */
  readonly apply: (chunks: Json[]) => Json[] | undefined;
}

/** One whose meaning the table says that it is in. */
export type SameOddity = Omit<AnswerOddity, 'means'>;

export function choicesIn({ choices }: Json): Json[] {
  return Array.isArray(choices) ? (choices as Json[]) : [];
}

/** Returns the delta of each choice, or the message in its place. */
export function deltasIn(chunk: Json): Json[] {
  const says = (delta: unknown): boolean => isObject(delta) && Object.values(delta).some(Boolean);
  return choicesIn(chunk).flatMap(({ delta, message }) =>
    [isObject(message) && !says(delta) ? message : delta].filter(isObject),
  );
}

export function callsIn(delta: Json): Json[] {
  return Array.isArray(delta['tool_calls']) ? (delta['tool_calls'] as Json[]) : [];
}

export function functionOf(call: Json): Json {
  return (call['function'] ??= {}) as Json;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns what `change` does to every delta; undefined where it says of none that it did something. */
export function eachDelta(chunks: Json[], change: (delta: Json, chunk: Json) => boolean): Json[] | undefined {
  const changes = chunks.flatMap((chunk) => deltasIn(chunk).map((delta) => change(delta, chunk)));
  return changes.includes(true) ? chunks : undefined;
}

export function eachCall(chunks: Json[], change: (call: Json) => boolean): Json[] | undefined {
  return eachDelta(chunks, (delta) => callsIn(delta).map(change).includes(true));
}

/** A chunk like this one, whose choice has another delta. */
export function chunkLike(chunk: Json, delta: Json): Json {
  const { choices: _choices, usage: _usage, ...rest } = chunk;
  const { index = 0 } = choicesIn(chunk)[0] ?? {};
  return { ...rest, choices: [{ index, delta, finish_reason: null }] };
}

/** Whether it is a stream of one choice, all of whose chunks are deltas. */
export function isStream(chunks: Chunks): boolean {
  return (
    chunks.length > 1 &&
    chunks.every((chunk) => choicesIn(chunk).length <= 1 && choicesIn(chunk).every(({ delta }) => isObject(delta)))
  );
}

/** Whether the model was asked for one answer, as the gateway always asks. */
export function isOneAnswer(chunks: Chunks): boolean {
  return chunks.every((chunk) => choicesIn(chunk).every(({ index = 0 }) => index === 0));
}

/** The chunk with the finish reason; -1 where there is none. */
export function endIn(chunks: Chunks): number {
  return chunks.findIndex((chunk) =>
    choicesIn(chunk).some(({ finish_reason: reason }) => Boolean(reason) && reason !== 'null'),
  );
}

export function finishReasonIn(chunks: Chunks): string {
  return textOf(choicesIn(chunks[endIn(chunks)] ?? {})[0]?.['finish_reason']);
}

/** Returns the numbers of different calls that the chunks have. */
export function callCountOf(chunks: Chunks): number {
  const calls = chunks.flatMap((chunk) => deltasIn(chunk)).flatMap(callsIn);
  return calls.filter((call) => Boolean(functionOf(call)['name'])).length;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function saysMoreThan(delta: Json, field: string): boolean {
  return Object.entries(delta).some(
    ([name, value]) =>
      name !== field &&
      name !== 'role' &&
      value !== null &&
      value !== '' &&
      !(Array.isArray(value) && value.length === 0),
  );
}

/** The chunk without what it says of the answer, so that it can come more than once. */
export function withoutSaying({ usage: _usage, x_groq: _groq, citations: _citations, ...rest }: Json): Json {
  return rest;
}

/** Returns true, as what an `eachDelta` has to say. */
export function set(object: Json, name: string, value: unknown): boolean {
  object[name] = value;
  return true;
}

/** Says whether it was there. */
export function remove(object: Json, name: string): boolean {
  const isThere = Object.hasOwn(object, name);
  delete object[name];
  return isThere;
}

export function hasOwnIds(chunks: Json[]): boolean {
  const begun = chunks
    .flatMap(deltasIn)
    .flatMap(callsIn)
    .filter((call) => Boolean(functionOf(call)['name']));
  return begun.every(({ id }) => Boolean(id)) && new Set(begun.map(({ id }) => id)).size === begun.length;
}

/** Whether the index alone tells the pieces of each call from those of others. */
export function hasOwnIndexes(chunks: Json[]): boolean {
  const pieces = chunks.flatMap(deltasIn).flatMap(callsIn);
  const indexes = new Set(pieces.map(({ index }) => index));
  const [ids, names] = [pieces.map(({ id }) => id), pieces.map((call) => functionOf(call)['name'])];
  return [ids, names].every((some) => new Set(some.filter(Boolean)).size <= indexes.size);
}

export function hasEmptyCall(chunks: Json[]): boolean {
  const calls = Map.groupBy(chunks.flatMap(deltasIn).flatMap(callsIn), ({ index }) => index);
  return [...calls.values()].some((pieces) => pieces.every((call) => !functionOf(call)['arguments']));
}

/** Returns the message that all deltas make together, without state. Its calls have their indexes. */
export function messageOf(chunks: Chunks): Json {
  const message: Json = { role: 'assistant', content: '' };
  const calls = new Map<unknown, Json>();
  for (const delta of chunks.flatMap(deltasIn)) {
    for (const name of ['content', 'reasoning_content', 'reasoning'])
      if (textOf(delta[name]) !== '') message[name] = textOf(message[name]) + textOf(delta[name]);
    for (const { extra_content: _extra, ...call } of callsIn(delta)) {
      const known = calls.get(call['index']);
      if (known === undefined) calls.set(call['index'], structuredClone(call));
      else
        functionOf(known)['arguments'] = textOf(functionOf(known)['arguments']) + textOf(functionOf(call)['arguments']);
    }
  }
  return calls.size > 0 ? { ...message, tool_calls: [...calls.values()] } : message;
}

/** Returns the completion that says what the chunks of a stream do. */
export function completionOf(chunks: Chunks): Json {
  const choices = [{ index: 0, message: messageOf(chunks), finish_reason: finishReasonIn(chunks) }];
  const usage = chunks.map((chunk) => chunk['usage']).findLast(isObject);
  return { ...chunks[0], object: 'chat.completion', choices, ...(usage !== undefined && { usage }) };
}
