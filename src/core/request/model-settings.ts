import { isKnownParameter } from '../../contract/known-parameters.ts';
import type { CreateResponse } from '../../contract/types.ts';
import type { ModelSettings } from '../../contract/settings-types.ts';
import { isObject } from '../json.ts';
import { roundEffort } from './efforts.ts';

export interface SettledRequest {
  readonly request: CreateResponse;
  /** What the caller asked for and does not get, such as `temperature` or `reasoning.effort`. */
  readonly overridden: readonly string[];
}

/** Returns the request with what the operator says of its model. */
export function settle(request: CreateResponse, settings: ModelSettings | undefined): SettledRequest {
  if (settings === undefined) return { request, overridden: [] };
  const defaults: Fields = { ...settings.defaults };
  const overrides: Fields = { ...settings.overrides };
  const given: Fields = { ...request };
  const extra: Fields = isObject(given['extra_body']) ? given['extra_body'] : {};
  const settled: Record<string, unknown> = {};
  const overridden: string[] = [];
  for (const name of new Set([...Object.keys(defaults), ...Object.keys(overrides)])) {
    const requested = given[name] ?? (isKnownParameter(name) ? undefined : extra[name]);
    settled[name] = PARTED.has(name)
      ? { ...toParts(defaults[name]), ...toParts(requested), ...toParts(overrides[name]) }
      : (overrides[name] ?? requested ?? defaults[name]);
    overridden.push(...findOverridden(name, requested, overrides[name]));
  }
  return { request: withKnownEffort({ ...request, ...settled }, settings.efforts), overridden };
}

type Fields = Readonly<Record<string, unknown>>;

/** Their parts are parameters of their own. */
const PARTED: ReadonlySet<string> = new Set(['reasoning', 'text', 'chat_template_kwargs']);

function toParts(value: unknown): object {
  return isObject(value) ? value : {};
}

function findOverridden(name: string, requested: unknown, always: unknown): readonly string[] {
  if (
    requested === undefined ||
    requested === null ||
    always === undefined ||
    JSON.stringify(requested) === JSON.stringify(always)
  )
    return [];
  if (!PARTED.has(name) || !isObject(requested) || !isObject(always)) return [name];
  return Object.keys(always).flatMap((part) => findOverridden(`${name}.${part}`, requested[part], always[part]));
}

function withKnownEffort(request: CreateResponse, efforts: ModelSettings['efforts']): CreateResponse {
  const effort = request.reasoning?.effort;
  if (effort === undefined || efforts === undefined) return request;
  return { ...request, reasoning: { ...request.reasoning, effort: roundEffort(effort, efforts) } };
}
