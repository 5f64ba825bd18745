/** `MODEL_ALIASES` on the paths that are passed through: in chat requests, and in what `/models` says. */

import { isList, isObject } from '../../core/json.ts';
import { fieldsOf, readString, splice, type Edit } from '../body/json-bytes.ts';

export type ModelAliases = ReadonlyMap<string, string>;

/**
 * Puts the backend's name in the place of an alias in the top-level `model` of a chat request. Every other byte stays as it
 * is, and so does what is not JSON: that is for the backend to judge.
 */
export function replaceModel(body: Buffer, aliases: ModelAliases): Buffer {
  const edits: Edit[] = [];
  for (const { name, start, end } of fieldsOf(body, 0)) {
    const model = name === 'model' ? aliases.get(readString(body.subarray(start, end)) ?? '') : undefined;
    if (model !== undefined) edits.push({ start, end, text: JSON.stringify(model) });
  }
  return splice(body, edits);
}

/** Whether a caller is to know of a model, by the name that it is listed under and the one that the backend knows. */
export type Offers = (name: string, backendModel: string) => boolean;

/** The backend's list with the aliases beside its own models, as far as they are offered; undefined when it is no list. */
export function listWithAliases(list: unknown, aliases: ModelAliases, offers: Offers): object | undefined {
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
  return { ...list, data: [...data, ...added].filter((model) => isOffered(model, aliases, offers)) };
}

/** What has no name is nothing that anybody could ask for. */
function isOffered(model: unknown, aliases: ModelAliases, offers: Offers): boolean {
  const id: unknown = isObject(model) ? model['id'] : undefined;
  const name = typeof id === 'string' ? id : '';
  return offers(name, aliases.get(name) ?? name);
}

/** What the backend says of a model, under the name of its alias; a model it says nothing of has no more than a name. */
export function namedModel(alias: string, model: unknown): object {
  const known = isObject(model) ? model : { object: 'model', created: 0, owned_by: 'unknown' };
  return { ...known, id: alias };
}
