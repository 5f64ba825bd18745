import { ApiError, toApiError } from '../core/errors.ts';
import { excessOf } from '../core/json-size.ts';
import { isList, isObject, readJson } from '../core/json.ts';
import { toModelMatcher } from '../core/model-patterns.ts';
import type { BackendSpec } from '../core/routes.ts';
import { failureOf } from './failures.ts';
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
  const url = new URL(spec.baseUrl);
  url.pathname = `${url.pathname}/models`;
  const headers = { ...withKey(options.headers, spec), accept: 'application/json', 'user-agent': 'responses-gateway' };
  const { statusCode: status, headers: replied, text } = await ask(url, headers, signal);
  if (status !== 200) throw failureOf({ status, headers: replied, body: '', keyOwner, secrets: [] }).error;
  const list = excessOf(text) === undefined ? readJson(text.toString()) : undefined;
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

async function ask(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
  // A start does without it.
  const { request } = await import('undici');
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    // Lists are rare, and a connection that is kept for the next one may be about to close.
    const reply = await request(url, { headers, signal: limit, reset: true });
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of reply.body) {
      if (!Buffer.isBuffer(chunk)) continue;
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BYTES) throw new Error('the list is too long');
    }
    return { statusCode: reply.statusCode, headers: reply.headers, text: Buffer.concat(chunks) };
  } catch (cause) {
    throw new ApiError('upstream_unreachable', { cause });
  }
}

function isModel(value: unknown): value is ListedModel {
  return isObject(value) && typeof value['id'] === 'string';
}
