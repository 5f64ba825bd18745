import { isKnownParameter } from '../../contract/known-parameters.ts';
import type { CreateResponse } from '../../contract/types.ts';
import type { DialectParameters } from '../dialects.ts';
import { isObject } from '../json.ts';

export interface Parameters {
  /** They go into the chat request as the caller gave them. */
  readonly passed: Readonly<Record<string, unknown>>;
  /** Names that have no effect, with what to write instead where there is something. */
  readonly ignored: readonly string[];
}

/**
 * Sorts the parameters that the Responses format does not have. They are in the body itself, where
 * the SDK for Python puts them, or in its `extra_body`. None replaces a field that is `written`.
 */
export function toParameters(request: CreateResponse, dialect: DialectParameters, written: object): Parameters {
  const extra = 'extra_body' in request ? request.extra_body : undefined;
  const passed: Record<string, unknown> = {};
  const ignored: string[] = [];
  const sort = (name: string, value: unknown): void => {
    if (value === null || UNNAMED.has(name)) return;
    if (isPassed(name, dialect) && !Object.hasOwn(written, name)) passed[name] = value;
    else ignored.push(withInstead(name));
  };
  if (isObject(extra)) {
    for (const [name, value] of Object.entries(extra)) if (!Object.hasOwn(request, name)) sort(name, value);
  }
  for (const [name, value] of Object.entries(request)) {
    if (name !== 'extra_body' && !isKnownParameter(name)) sort(name, value);
  }
  return { passed, ignored };
}

/** Whether the backend gets such a parameter as it is. */
export function isPassed(name: string, { parameters, unboundedParameters }: DialectParameters): boolean {
  return (parameters.includes(name) || unboundedParameters.includes(name)) && !NEVER_PASSED.has(name);
}

function withInstead(name: string): string {
  const instead = INSTEAD.get(name);
  return instead === undefined ? name : `${name} (use ${instead})`;
}

/** They choose another model or several answers, or the translation writes them. */
const NEVER_PASSED = new Set([
  'model',
  'models',
  'route',
  'preset',
  'fallbacks',
  'n',
  'best_of',
  'messages',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'stream',
  'stream_options',
  'response_format',
  'max_tokens',
  'max_completion_tokens',
  'logprobs',
]);

/** They have no effect by design. Frames of a WebSocket have the last three. */
const UNNAMED = new Set([
  'client_metadata',
  'prompt_cache_options',
  'prompt_cache_retention',
  'type',
  'generate',
  'idempotency_key',
]);

const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
  ['enable_thinking', 'reasoning.effort'],
  ['thinking', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
  ['messages', 'input'],
  ['system', 'instructions'],
  ['functions', 'tools'],
  ['function_call', 'tool_choice'],
  ['logprobs', 'top_logprobs'],
]);
