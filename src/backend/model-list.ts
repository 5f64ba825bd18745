import { ApiError, toApiError } from '../core/errors.ts';
import { excessOf } from '../core/json-size.ts';
import { isList, isObject, readJson } from '../core/json.ts';
import { toModelMatcher } from '../core/model-patterns.ts';
import type { BackendSpec } from '../core/routes.ts';
import { failureOf } from './failures.ts';
import { askForModels } from './ask-models.ts';
import { readWhole } from './connection.ts';
import { withKey, type KeyOwner } from './request-headers.ts';

export interface ModelListOptions {
  /** With the caller's key, where the backend gets that. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keyOwner: KeyOwner;
  readonly signal: AbortSignal;
}

export type ListedModel = Readonly<Record<string, unknown>> & { readonly id: string };

const TIMEOUT_MS = 5000;
const MAX_BYTES = 8 * 1024 * 1024;
/** For each of them is looked up what is known of it, and Codex gets two kilobytes. */
const MAX_MODELS = 2000;

/** Returns the models that a backend lists, by its own names. Throws ApiError. */
export async function listModels(spec: BackendSpec, options: ModelListOptions): Promise<readonly ListedModel[]> {
  const { keyOwner, signal } = options;
  const headers = { ...withKey(options.headers, spec), accept: 'application/json', 'user-agent': 'responses-gateway' };
  const text = await askForModels(spec, { headers, timeoutMs: TIMEOUT_MS, signal }, (answer) => {
    const { status } = answer;
    if (status !== 200) throw failureOf({ status, headers: answer.headers, body: '', keyOwner, secrets: [] }).error;
    return readWhole(answer, MAX_BYTES);
  });
  const list = text !== undefined && excessOf(text) === undefined ? readJson(text.toString()) : undefined;
  const data = isObject(list) ? list['data'] : undefined;
  if (!isList(data)) throw new ApiError('upstream_invalid_response');
  return firstModels(data).filter(isModel);
}

/** Returns the beginning of a backend's list, with each model once. */
export function firstModels(data: readonly unknown[]): unknown[] {
  const models: unknown[] = [];
  const ids = new Set<unknown>();
  for (const model of data) {
    if (models.length === MAX_MODELS) break;
    const id = isObject(model) ? model['id'] : undefined;
    if (id === undefined || !ids.has(id)) models.push(model);
    ids.add(id);
  }
  return models;
}

export interface RoutedModel {
  readonly model: ListedModel;
  /** The names of the backends that have it. */
  readonly backends: readonly string[];
}

export interface MergedModels {
  readonly models: readonly RoutedModel[];
  /** What the first backend threw, if none has a list. */
  readonly failure: ApiError | null;
}

/**
 * Returns the models of all backends, each once, with the names in the file of one that does not
 * answer. Does not throw.
 */
export async function mergeModelLists(specs: readonly BackendSpec[], options: ModelListOptions): Promise<MergedModels> {
  const lists = await Promise.allSettled(specs.map((spec) => listModels(spec, options)));
  const [first] = lists;
  const lacksAll = lists.every(({ status }) => status === 'rejected');
  const merged = new Map<string, RoutedModel>();
  for (const [index, spec] of specs.entries()) {
    const list = lists[index];
    const models = list?.status === 'fulfilled' ? list.value.filter(({ id }) => serves(spec, id)) : namedModels(spec);
    for (const model of models) {
      const known = merged.get(model.id);
      merged.set(model.id, { model: known?.model ?? model, backends: [...(known?.backends ?? []), spec.name] });
    }
  }
  const failure = lacksAll && first?.status === 'rejected' ? toApiError(first.reason) : null;
  return { models: [...merged.values()], failure };
}

function serves({ models }: BackendSpec, name: string): boolean {
  return models === null || models.some((pattern) => toModelMatcher(pattern)(name));
}

/** What is known of a backend that does not answer. */
function namedModels({ models }: BackendSpec): readonly ListedModel[] {
  const names = models?.filter((name) => !name.includes('*')) ?? [];
  return names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'unknown' }));
}

function isModel(value: unknown): value is ListedModel {
  return isObject(value) && typeof value['id'] === 'string';
}
