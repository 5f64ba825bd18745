/** What keys with funds or limits may send: a reservation bounds a cost only if the backend is asked for nothing else. */

import type { Dialect, DialectParameters } from '../dialects.ts';
import { ApiError } from '../errors.ts';
import { isPassed } from './parameters.ts';

/**
 * By the object that has them, OpenAI's fields of a chat completion and what Gemini has in
 * `extra_body`. OpenAI's reference also has `audio`, `modalities`, `prediction` and
 * `web_search_options`, which cost more than is reserved.
 */
const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  '': new Set([
    'extra_body',
    'frequency_penalty',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'max_tokens',
    'messages',
    'metadata',
    'model',
    'n',
    'parallel_tool_calls',
    'presence_penalty',
    'prompt_cache_key',
    'prompt_cache_retention',
    'reasoning_effort',
    'response_format',
    'safety_identifier',
    'seed',
    'service_tier',
    'stop',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'user',
    'verbosity',
  ]),
  // vLLM has the last one.
  'stream_options.': new Set(['include_obfuscation', 'include_usage', 'continuous_usage_stats']),
  // ai.google.dev/gemini-api/docs/openai. Other settings there read a cache or run tools of Google.
  'extra_body.': new Set(['google']),
  'extra_body.google.': new Set(['thinking_config']),
  'extra_body.google.thinking_config.': new Set(['include_thoughts', 'thinking_budget', 'thinking_level']),
};

const UNBOUNDED =
  "only fields of OpenAI's format and of the dialect of the backend are taken, if they cost no more than is reserved";

/** Returns whether the fields of the object at this path, such as `stream_options.`, are looked at. */
export function hasOwnFields(path: string): boolean {
  return Object.hasOwn(FIELDS, path);
}

/**
 * Throws ApiError for a field that is not known, also if it is known in other letters. `path` is
 * empty for the request, and otherwise ends with a dot.
 */
export function checkField(path: string, name: string, dialect: Dialect): void {
  if (isBounded(path, name, dialect)) return;
  if (path === 'extra_body.' && isBounded('', foldCase(name), dialect)) {
    throw refusedField(path + name, 'it must be given beside extra_body and not in it');
  }
  const folded = foldCase(name);
  const isKnown = isBounded(path, folded, dialect);
  throw refusedField(path + name, isKnown ? `it must be written ${folded}` : UNBOUNDED);
}

/** The fields of a dialect may also be in `extra_body`, which LiteLLM merges into the request. */
function isBounded(path: string, name: string, dialect: Dialect): boolean {
  if (FIELDS[path]?.has(name) === true) return true;
  return (path === '' || path === 'extra_body.') && isOfDialect(name, dialect);
}

function isOfDialect(name: string, dialect: Dialect): boolean {
  const { effortFields, forcedCallFields = {}, unboundedParameters } = dialect;
  if (isPassed(name, dialect)) return !unboundedParameters.includes(name);
  return [...Object.values(effortFields), forcedCallFields].some((fields) => Object.hasOwn(fields, name));
}

/** Go's JSON package ignores case, and reads the Kelvin sign as a k and the long s as an s. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Throws ApiError for the first parameter of a dialect that may cost more than is reserved. */
export function checkParameters(names: readonly string[], dialect: DialectParameters): void {
  for (const name of names) if (dialect.unboundedParameters.includes(name)) throw refusedField(name, UNBOUNDED);
}

/** Throws ApiError for a service tier without a name. What a name costs, the prices of the model say. */
export function checkServiceTier(tier: unknown): void {
  if (tier !== undefined && tier !== null && typeof tier !== 'string') {
    throw refusedField('service_tier', 'only the name of a tier is taken');
  }
}

/**
 * OpenRouter: `:online` is its web plugin, `:nitro` takes the fastest provider, whatever it costs, and
 * a preset may name any model.
 */
const COSTLY_NAME = /:\s*(?:online|nitro)\s*(?=:|$)|@preset\//i;

/** Throws ApiError for the name of a model with a suffix that changes what it costs. */
export function checkModelSuffix(model: string): void {
  const [suffix] = COSTLY_NAME.exec(model) ?? [];
  if (suffix !== undefined) throw refusedField('model', `${suffix} in it may cost more than is reserved`);
}

/** The caller runs these tools. A backend may run others, and charge for it. */
export const TOOLS_OF_CALLER: ReadonlySet<unknown> = new Set(['function', 'custom']);

/** With any other field a tool may be one that the backend runs: LiteLLM knows Google's by their names alone. */
export const FIELDS_OF_TOOL: ReadonlySet<string> = new Set([
  'type',
  'function',
  'custom',
  'name',
  'description',
  'parameters',
  'strict',
  'cache_control',
]);
export const FIELDS_OF_FUNCTION: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict']);

/** Returns the error for a tool that the backend runs. */
export function refusedTool(param: string): ApiError {
  return refusedField(
    param,
    'only tools of the types function and custom are taken, with the fields of these, because others may cost extra',
  );
}

/** Returns the error for a medium of which nobody can say what it costs. */
export function unpricedMedium(param: string): ApiError {
  return refusedField(param, 'nobody can say how many tokens it has. MODELS_FILE can say so for each model (media)');
}

/** Returns the error for a refused field. `reason` ends its sentence. */
export function refusedField(param: string, reason: string): ApiError {
  const message = `${param} is not supported for an API key with funds or limits: ${reason}.`;
  return new ApiError('unsupported_parameter', { param, message });
}
