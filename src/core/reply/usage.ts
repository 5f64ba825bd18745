import type { Usage } from '../../contract/types.ts';
import type { ChatChunk } from '../chat.ts';
import { isObject } from '../json.ts';

/** What the backend has said of its work so far. */
export interface Reported {
  /** A part that the backend did not count is 0 here, and named in `gaps`. */
  readonly usage: Usage | null;
  readonly gaps: readonly UsageGap[];
  /** The model that the answer names, which may be another one than was asked for. */
  readonly model: string | null;
  readonly pricedBy?: PricedBy;
}

/** What the price depends on beside model and usage. */
interface PricedBy {
  /** The one that the answer names. */
  readonly serviceTier?: string;
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
  /** That of the longer of two requests that were counted together. */
  readonly longestInputTokens?: number;
}

export type UsageGap = 'input' | 'output';

export const NOTHING_REPORTED: Reported = { usage: null, gaps: [], model: null };

/**
 * Returns what is known after this chunk and its choice. The latest usage counts, unless it counts
 * less: some backends send zeros after it.
 */
export function readReported(before: Reported, chunk: ChatChunk, choice: ChatChunk | undefined): Reported {
  const reported = findUsage(chunk, choice);
  const named = withNames(before, chunk);
  if (reported === undefined) return named;
  const latest = toUsage(reported);
  if (latest.gaps.length > 0 && isWhole(before)) return named;
  const audioInputTokens = count(field(reported['prompt_tokens_details'], 'audio_tokens'));
  const audioOutputTokens = count(field(reported['completion_tokens_details'], 'audio_tokens'));
  if (!audioInputTokens && !audioOutputTokens) return { ...named, ...latest };
  const audio = { audioInputTokens: audioInputTokens ?? 0, audioOutputTokens: audioOutputTokens ?? 0 };
  return { ...named, ...latest, pricedBy: { ...named.pricedBy, ...audio } };
}

function withNames(before: Reported, { model, service_tier: serviceTier }: ChatChunk): Reported {
  const isModel = typeof model === 'string' && model !== '' && model !== before.model;
  const named = isModel ? { ...before, model } : before;
  if (typeof serviceTier !== 'string' || serviceTier === '' || serviceTier === before.pricedBy?.serviceTier)
    return named;
  return { ...named, pricedBy: { ...named.pricedBy, serviceTier } };
}

/** Returns what two requests have reported together. */
export function sumOfReported(one: Reported, other: Reported): Reported {
  return {
    usage: one.usage && other.usage && sumOf(one.usage, other.usage),
    gaps: [...new Set([...one.gaps, ...other.gaps])],
    model: other.model ?? one.model,
    pricedBy: {
      ...one.pricedBy,
      ...other.pricedBy,
      audioInputTokens: (one.pricedBy?.audioInputTokens ?? 0) + (other.pricedBy?.audioInputTokens ?? 0),
      audioOutputTokens: (one.pricedBy?.audioOutputTokens ?? 0) + (other.pricedBy?.audioOutputTokens ?? 0),
      ...(one.usage && other.usage && { longestInputTokens: longerOf(one.usage, other.usage) }),
    },
  };
}

function longerOf(one: Usage, other: Usage): number {
  return Math.max(one.input_tokens, other.input_tokens);
}

/** Returns what the choices of one answer have used together. They have read the same input. */
export function reportedOfChoices(choices: readonly Reported[]): Pick<Reported, 'usage' | 'gaps'> {
  const counted = choices.flatMap(({ usage }) => (usage === null ? [] : [usage]));
  const usage = counted.reduce((one, other) => {
    const { input_tokens, input_tokens_details } = one.input_tokens < other.input_tokens ? other : one;
    const { output_tokens, output_tokens_details } = sumOf(one, other);
    const total_tokens = input_tokens + output_tokens;
    return { input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens };
  });
  const hasGap = choices.some(({ usage: one, gaps }) => one === null || gaps.includes('output'));
  return {
    usage,
    gaps: [...(usage.input_tokens === 0 ? ['input' as const] : []), ...(hasGap ? ['output' as const] : [])],
  };
}

/** Returns the same, where the output that was counted is none or not all of what came. */
export function withOutputGap(reported: Reported): Reported {
  return { ...reported, gaps: [...new Set([...reported.gaps, 'output' as const])] };
}

/** Whether the backend has counted both input and output. */
export function isWhole(reported: Reported): reported is Reported & { readonly usage: Usage } {
  return reported.usage !== null && reported.gaps.length === 0;
}

/** Reads the usage in the chunk, the choice (Moonshot) or `x_groq`; undefined without usage. */
export function readUsage(chunk: ChatChunk, choice: ChatChunk | undefined): Usage | undefined {
  const reported = findUsage(chunk, choice);
  return reported === undefined ? undefined : toUsage(reported).usage;
}

function findUsage(chunk: ChatChunk, choice: ChatChunk | undefined): ChatChunk | undefined {
  const { usage: ofChunk } = chunk;
  if (isUsage(ofChunk)) return ofChunk;
  const ofChoice = choice?.['usage'];
  if (isUsage(ofChoice)) return ofChoice;
  const ofGroq = field(chunk['x_groq'], 'usage');
  return isUsage(ofGroq) ? ofGroq : undefined;
}

function toUsage(usage: ChatChunk): { readonly usage: Usage; readonly gaps: readonly UsageGap[] } {
  const total = count(usage['total_tokens']);
  const [prompt, completion] = [promptOf(usage), completionOf(usage)];
  const read = prompt ?? difference(total, completion);
  const written = completion ?? difference(total, prompt);
  const input = read ?? 0;
  // xAI and Gemini charge reasoning in addition to the completion. Gemini shows it in the total only.
  const beyond = difference(total, input + (written ?? 0)) ?? 0;
  const output = (written ?? 0) + beyond;
  const reasoning =
    count(field(usage['completion_tokens_details'], 'reasoning_tokens')) ?? count(usage['reasoning_tokens']) ?? 0;
  const cached =
    // DeepSeek and Moonshot have other names for cached tokens.
    count(field(usage['prompt_tokens_details'], 'cached_tokens')) ??
    count(usage['prompt_cache_hit_tokens']) ??
    count(usage['cached_tokens']) ??
    0;
  const cacheWrite =
    // LiteLLM has other names for tokens written to the cache (langchain-ai/langchainjs PR#11194).
    count(field(usage['prompt_tokens_details'], 'cache_write_tokens')) ??
    count(field(usage['prompt_tokens_details'], 'cache_creation_tokens')) ??
    count(usage['cache_creation_input_tokens']) ??
    0;
  const cachedInput = Math.min(cached, input);
  return {
    usage: {
      input_tokens: input,
      input_tokens_details: {
        cached_tokens: cachedInput,
        cache_write_tokens: Math.min(cacheWrite, input - cachedInput),
      },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: Math.min(Math.max(reasoning, beyond), output) },
      total_tokens: input + output,
    },
    // Every request has some input, and some backends send zeros until they have counted.
    gaps: [...(input === 0 ? ['input' as const] : []), ...(written === undefined ? ['output' as const] : [])],
  };
}

/** Returns the usage of the same request at a backend without a prefix cache. */
export function readWithoutCache(usage: Usage): Usage {
  const { cache_write_tokens } = usage.input_tokens_details;
  return { ...usage, input_tokens_details: { cached_tokens: 0, cache_write_tokens } };
}

/** Returns the part of the input that came from the backend's cache, from 0 to 1 with four decimals. */
export function cachedShareOf(cachedTokens: number, inputTokens: number): number {
  return inputTokens === 0 ? 0 : Math.round((cachedTokens / inputTokens) * 10_000) / 10_000;
}

/** Returns undefined where the total is unknown, or less than its part. */
function difference(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined || total < part ? undefined : total - part;
}

function sumOf(one: Usage, other: Usage): Usage {
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    input_tokens_details: {
      cached_tokens: one.input_tokens_details.cached_tokens + other.input_tokens_details.cached_tokens,
      cache_write_tokens: one.input_tokens_details.cache_write_tokens + other.input_tokens_details.cache_write_tokens,
    },
    output_tokens: one.output_tokens + other.output_tokens,
    output_tokens_details: {
      reasoning_tokens: one.output_tokens_details.reasoning_tokens + other.output_tokens_details.reasoning_tokens,
    },
    total_tokens: one.total_tokens + other.total_tokens,
  };
}

function isUsage(value: unknown): value is ChatChunk {
  return isObject(value) && (promptOf(value) !== undefined || completionOf(value) !== undefined);
}

/** mlx-vlm has the names of the Responses format (earendil-works/pi#2326). */
function promptOf(usage: ChatChunk): number | undefined {
  return count(usage['prompt_tokens']) ?? count(usage['input_tokens']);
}

function completionOf(usage: ChatChunk): number | undefined {
  return count(usage['completion_tokens']) ?? count(usage['output_tokens']);
}

function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** No model reads or writes as much in one request, so a larger number is a fault of the backend. */
const MAX_TOKENS = 1_000_000_000;

/** Some backends send numbers as strings. */
function count(given: unknown): number | undefined {
  const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
  return typeof value === 'number' && value >= 0 && value <= MAX_TOKENS ? Math.round(value) : undefined;
}
