import { NAMES_OF_PREVIOUS } from '../rows/keys.ts';
import type { MarkChange, Marking } from '../marking.ts';
import { named, type Dialect } from './dialect.ts';
import { first, rows, send, type Steps } from './steps.ts';

const { find, set, giveUpKeys, markKeys, listOfPrevious, findKey, findRequest } = named('mark', {
  find: 'SELECT mark FROM secret_mark',
  set: `
    INSERT INTO secret_mark (id, mark) VALUES (1, :to)
    ON CONFLICT (id) DO UPDATE SET mark = excluded.mark WHERE secret_mark.mark = :from`,
  giveUpKeys: 'UPDATE keys SET mark = NULL',
  markKeys: 'UPDATE keys SET mark = :from WHERE mark IS NULL',
  listOfPrevious: NAMES_OF_PREVIOUS,
  findKey: 'SELECT 1 AS found FROM keys LIMIT 1',
  findRequest: 'SELECT 1 AS found FROM requests LIMIT 1',
});

export function* findMark(): Steps<string | undefined> {
  return (yield* first<{ readonly mark: string }>(find))?.mark;
}

/** Reads what a database of any version says of its secret. */
export function* readMarking({ hasTable, hasKeyMark }: Dialect): Steps<Marking> {
  function* has(name: string): Steps<boolean> {
    return (yield* first({ name: 'has_table', text: hasTable }, { name })) !== undefined;
  }

  const isMarked = yield* has('secret_mark');
  const knowsMarks = isMarked && (yield* first({ name: 'has_key_mark', text: hasKeyMark })) !== undefined;
  const keysOfPrevious = knowsMarks ? yield* rows<{ readonly name: string }>(listOfPrevious, {}) : [];
  const hasRows =
    ((yield* has('keys')) && (yield* first(findKey)) !== undefined) ||
    ((yield* has('requests')) && (yield* first(findRequest)) !== undefined);
  return {
    mark: isMarked ? yield* findMark() : undefined,
    isEmpty: !hasRows,
    keysOfPrevious: keysOfPrevious.map(({ name }) => name),
  };
}

/** Replaces the mark, unless another process has changed it, and returns the mark afterwards. */
export function* changeMark({ from, to, givesUp = false }: MarkChange): Steps<string | undefined> {
  yield* send(set, { to, from: from ?? null });
  const mark = yield* findMark();
  // Until now all keys whose mark is not known were known by the former secret.
  if (mark === to && givesUp) yield* send(giveUpKeys, {});
  else if (mark === to && from !== undefined) yield* send(markKeys, { from });
  return mark;
}
