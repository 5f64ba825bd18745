/** `MODEL_ALIASES` on the paths that are passed through: in chat requests, and in what `/models` says. */

import { isList, isObject, readJson } from '../core/json.ts';
import { endOfString } from './json-bytes.ts';

export type ModelAliases = ReadonlyMap<string, string>;

/**
 * Puts the backend's name in the place of an alias in the top-level `model` of a chat request. Every other byte stays as it
 * is, and so does what is not JSON: that is for the backend to judge.
 */
export function replaceModel(body: Buffer, aliases: ModelAliases): Buffer {
  const pieces: (Buffer | string)[] = [];
  let copied = 0;
  for (const { start, end } of findModels(body)) {
    const model = aliases.get(readString(body.subarray(start, end)) ?? '');
    if (model === undefined) continue;
    pieces.push(body.subarray(copied, start), JSON.stringify(model));
    copied = end;
  }
  if (copied === 0) return body;
  pieces.push(body.subarray(copied));
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

/** The backend's list with the aliases beside its own models; undefined when it is no list. */
export function listWithAliases(list: unknown, aliases: ModelAliases): object | undefined {
  const data: unknown = isObject(list) ? list['data'] : undefined;
  if (!isObject(list) || !isList(data)) return undefined;
  const models = data.filter(isObject);
  const known = new Set(models.map((model) => model['id']));
  const added = [...aliases]
    .filter(([alias]) => !known.has(alias))
    .map(([alias, model]) =>
      namedModel(
        alias,
        models.find(({ id }) => id === model),
      ),
    );
  return { ...list, data: [...data, ...added] };
}

/** What the backend says of a model, under the name of its alias; a model it says nothing of has no more than a name. */
export function namedModel(alias: string, model: unknown): object {
  const known = isObject(model) ? model : { object: 'model', created: 0, owned_by: 'unknown' };
  return { ...known, id: alias };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where the values of the top-level key `model` stand that are strings; more than one when the key is repeated. */
function* findModels(body: Buffer): Generator<Span> {
  let depth = 0;
  let expectsKey = false;
  let afterModel = false;
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case 0x22: {
        // "
        const start = at;
        at = endOfString(body, at + 1);
        if (depth !== 1) break;
        const span = { start, end: at + 1 };
        if (expectsKey) afterModel = readString(body.subarray(span.start, span.end)) === 'model';
        else if (afterModel) yield span;
        expectsKey = false;
        break;
      }
      case 0x7b: // {
        depth++;
        expectsKey = depth === 1;
        break;
      case 0x5b: // [
        depth++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        expectsKey = depth === 1;
        break;
      default:
    }
  }
}

/** Undefined when the bytes are no JSON string. Names of models and keys are short; what is long is none of them. */
function readString(literal: Buffer): string | undefined {
  if (literal.length > 2048) return undefined;
  const value = readJson(literal.toString());
  return typeof value === 'string' ? value : undefined;
}
