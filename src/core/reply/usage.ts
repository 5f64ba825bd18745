import type { Usage } from '../../contract/types.ts';
import type { ChatChunk } from '../chat.ts';
import { isObject } from '../json.ts';

/** Reads the usage in the chunk, the choice (Moonshot) or `x_groq`; undefined without usage. */
export function readUsage(chunk: ChatChunk, choice: ChatChunk | undefined): Usage | undefined {
  const usage = [chunk['usage'], choice?.['usage'], field(chunk['x_groq'], 'usage')].find(isUsage);
  if (usage === undefined) return undefined;
  const input = count(usage['prompt_tokens']) ?? 0;
  const written = count(usage['completion_tokens']) ?? 0;
  const reasoning =
    count(field(usage['completion_tokens_details'], 'reasoning_tokens')) ?? count(usage['reasoning_tokens']) ?? 0;
  const total = count(usage['total_tokens']);
  // xAI counts and charges reasoning in addition to the completion, which its total shows.
  const output = total === input + written + reasoning ? written + reasoning : written;
  return {
    input_tokens: input,
    input_tokens_details: {
      // DeepSeek and Moonshot have other names for cached tokens.
      cached_tokens:
        count(field(usage['prompt_tokens_details'], 'cached_tokens')) ??
        count(usage['prompt_cache_hit_tokens']) ??
        count(usage['cached_tokens']) ??
        0,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total ?? input + output,
  };
}

/** Returns the usage of two requests together; null when one of them is unknown. */
export function sumOfUsage(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return null;
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    input_tokens_details: {
      cached_tokens: one.input_tokens_details.cached_tokens + other.input_tokens_details.cached_tokens,
    },
    output_tokens: one.output_tokens + other.output_tokens,
    output_tokens_details: {
      reasoning_tokens: one.output_tokens_details.reasoning_tokens + other.output_tokens_details.reasoning_tokens,
    },
    total_tokens: one.total_tokens + other.total_tokens,
  };
}

function isUsage(value: unknown): value is ChatChunk {
  return (
    isObject(value) && (count(value['prompt_tokens']) !== undefined || count(value['completion_tokens']) !== undefined)
  );
}

function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(Math.round(value)) && value >= 0
    ? Math.round(value)
    : undefined;
}
