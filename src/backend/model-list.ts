import { request } from 'undici';
import { ApiError } from '../core/errors.ts';
import { excessOf } from '../core/json-size.ts';
import { isList, isObject, readJson } from '../core/json.ts';
import type { BackendSpec } from '../core/routes.ts';
import { failureOf, type KeyOwner } from './failures.ts';
import { withKey } from './key-headers.ts';

export interface ModelListOptions {
  /** With the caller's key, where the backend gets that. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keyOwner: KeyOwner;
  readonly signal: AbortSignal;
}

export type ListedModel = Readonly<Record<string, unknown>> & { readonly id: string };

const TIMEOUT_MS = 5000;
const MAX_BYTES = 8 * 1024 * 1024;

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
  return data.filter(isModel);
}

async function ask(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
  try {
    const reply = await request(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
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
