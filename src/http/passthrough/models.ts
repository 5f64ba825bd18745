import { firstModels } from '../../backend/model-list.ts';
import type { KnownRefusals } from '../../backend/refused-fields.ts';
import { isList, isObject } from '../../core/json.ts';
import { roundEffort } from '../../core/request/efforts.ts';
import type { Models, ModelFinder } from '../../core/models.ts';
import { showPrice, type PriceFinder } from '../../core/money/pricing.ts';
import { given } from '../../core/given.ts';

export type ModelAliases = ReadonlyMap<string, string>;

export type Offers = (name: string, backendModel: string) => boolean;

/** Returns the first models of the list with the aliases, filtered by `offers`; undefined if it is no list. */
export function listWithAliases(list: unknown, aliases: ModelAliases, offers: Offers): object | undefined {
  const all = modelsOf(list);
  if (!isObject(list) || all === undefined) return undefined;
  const data = firstModels(all);
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

/** Returns what a list of models has in it; undefined if it is no list. */
export function modelsOf(list: unknown): readonly unknown[] | undefined {
  const data: unknown = isObject(list) ? list['data'] : undefined;
  return isList(data) ? data : undefined;
}

function isOffered(model: unknown, aliases: ModelAliases, offers: Offers): boolean {
  const id: unknown = isObject(model) ? model['id'] : undefined;
  const name = typeof id === 'string' ? id : '';
  return offers(name, aliases.get(name) ?? name);
}

/** Returns the backend's entry of a model under its alias, or a minimal entry. */
export function namedModel(alias: string, model: unknown): object {
  const known = isObject(model) ? model : { object: 'model', created: 0, owned_by: 'unknown' };
  return { ...known, id: alias };
}

export interface Known {
  /** What the operator says of the models. */
  readonly models: ModelFinder | null;
  readonly prices: PriceFinder | null;
  readonly refusals: KnownRefusals;
}

/** Returns the list with what is known of its models. */
export function describeModels(list: object, aliases: ModelAliases, known: Known): object {
  const data = modelsOf(list);
  return data === undefined ? list : { ...list, data: data.map((model) => describeModel(model, aliases, known)) };
}

/** The first names of the operator's settings are those of Groq and OpenRouter. */
export function describeModel(model: unknown, aliases: ModelAliases, known: Known): unknown {
  const { models, prices, refusals } = known;
  const id: unknown = isObject(model) ? model['id'] : undefined;
  if (!isObject(model) || typeof id !== 'string') return model;
  const backendModel = aliases.get(id) ?? id;
  const refused = refusals.forModel(backendModel);
  const price = prices?.find(id, backendModel);
  return {
    ...describeBySettings(model, models?.find(id, backendModel)),
    ...(prices !== null && { price: price === undefined ? null : { currency: prices.currency, ...showPrice(price) } }),
    ...(refused.length > 0 && { refused_fields: refused }),
  };
}

function describeBySettings(model: object, settings: ReturnType<Models['find']>): object {
  if (settings === undefined) return model;
  const { context_window, input, efforts, defaults, overrides } = settings;
  const effort = overrides?.reasoning?.effort ?? defaults?.reasoning?.effort;
  const known = effort && efforts ? roundEffort(effort, efforts) : effort;
  return {
    ...model,
    ...given({ context_window, input_modalities: input, reasoning_efforts: efforts, default_reasoning_effort: known }),
  };
}
