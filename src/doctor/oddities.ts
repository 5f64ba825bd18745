/** What some backends do to an answer, and what becomes of it. The guide shows this table, and `doctor` looks for it. */

import type { ChatChunk } from '../core/chat.ts';
import type { DialectName } from '../core/dialects.ts';
import { isObject, listOf } from '../core/json.ts';
import { choicesOf, deltaOf, finishReasonOf } from '../core/reply/chunk.ts';
import type { BackendAnswer } from './answer.ts';

export interface Oddity {
  readonly name: string;
  /** The kinds of backends that do it, and where that is seen. */
  readonly dialects: Readonly<Partial<Record<DialectName, string>>>;
  /** Others that do it, or where somebody met it. */
  readonly others?: string;
  readonly reading: string;
}

interface Odd extends Omit<BackendAnswer, 'calls'> {
  readonly choices: readonly ChatChunk[];
  readonly deltas: readonly ChatChunk[];
  readonly calls: readonly Piece[];
}

/** A piece of a call, of which any field may be absent or of another type. */
interface Piece {
  readonly index: unknown;
  readonly id: unknown;
  readonly name: unknown;
  readonly arguments: unknown;
}

type Sign = (answer: Odd) => boolean;

const RECORDED = 'recorded';

const TABLE: readonly (Oddity & { readonly isIn: Sign })[] = [
  {
    name: 'no `[DONE]`',
    dialects: {},
    others: 'GPUStack and Writer, recorded',
    reading: 'The finish reason ends the answer. Without both of them it has failed.',
    isIn: ({ isStream, isDone }) => isStream && !isDone,
  },
  {
    name: 'no role in any delta',
    dialects: { llamacpp: RECORDED },
    others: 'GPUStack, recorded',
    reading: 'Everything is of the assistant.',
    isIn: ({ isStream, deltas }) => isStream && deltas.length > 0 && deltas.every(({ role }) => role === undefined),
  },
  {
    name: 'chunks without a choice',
    dialects: { azure: RECORDED, openai: RECORDED },
    others: 'for content filters and padding',
    reading: 'They are skipped.',
    isIn: ({ isStream, chunks }) =>
      isStream && chunks.some((chunk) => choicesOf(chunk).length === 0 && !isObject(chunk['usage'])),
  },
  {
    name: 'a choice with another index than 0',
    dialects: {},
    others: 'Copilot for calls, ericc-ch/copilot-api PR#81',
    reading: 'All choices are one answer.',
    isIn: ({ chunks }) => chunks.some((chunk) => choicesOf(chunk).some(({ choice }) => (choice['index'] ?? 0) !== 0)),
  },
  {
    name: 'a whole message in a stream',
    dialects: {},
    others: 'Writer, recorded',
    reading: 'It counts only where no deltas came.',
    isIn: ({ isStream, choices }) => isStream && choices.some(({ message }) => isObject(message)),
  },
  {
    name: 'text as a list of parts',
    dialects: { mistral: RECORDED },
    reading: 'Parts of text are text, and parts of thoughts are thoughts.',
    isIn: ({ deltas }) => deltas.some(({ content }) => Array.isArray(content)),
  },
  {
    name: 'all text so far in each chunk',
    dialects: {},
    others: 'QwenLM/qwen-code PR#3896',
    reading: 'Only what is new is sent, of thoughts too.',
    isIn: ({ deltas }) => growsEachTime(deltas.map(({ content }) => content)),
  },
  {
    name: 'whole calls in one chunk',
    dialects: { groq: RECORDED, mistral: RECORDED, google: 'THU-MAIC/OpenMAIC#1556', ollama: 'ollama/ollama#15457' },
    others: 'xAI, recorded',
    reading: 'The arguments are one delta.',
    isIn: ({ isStream, calls }) =>
      isStream && calls.some(({ name, arguments: given }) => hasText(name) && /^\{.+\}$/s.test(textOf(given))),
  },
  {
    name: 'calls without ids',
    dialects: { google: RECORDED },
    reading: 'Each gets an id that the gateway makes.',
    isIn: ({ calls }) => calls.length > 0 && calls.every(({ id }) => !hasText(id)),
  },
  {
    name: 'the name or the id of a call again where it goes on',
    dialects: {},
    others: 'NousResearch/hermes-agent#8259, THU-MAIC/OpenMAIC#1556; as `""` Alibaba, as null Writer, recorded',
    reading: 'The call is the one that has begun.',
    isIn: ({ isStream, calls }) =>
      isStream && calls.some((call, at) => calls.slice(0, at).some((begun) => isRepeated(call, begun))),
  },
  {
    name: 'calls without indexes',
    dialects: { google: 'THU-MAIC/OpenMAIC#1556', ollama: 'before 0.4.7, ollama/ollama#7881' },
    reading: 'Ids, names and the order of the pieces tell the calls apart.',
    isIn: ({ isStream, calls }) => isStream && calls.some(({ index }) => typeof index !== 'number'),
  },
  {
    name: 'one index for several calls',
    dialects: { ollama: 'ollama/ollama#15457', google: 'QuantumNous/new-api PR#2701' },
    reading: 'Another id, or another object of arguments, begins another call.',
    isIn: ({ isStream, calls }) =>
      isStream &&
      calls.some(({ index, id }) =>
        calls.some((other) => other.index === index && hasText(id) && hasText(other.id) && other.id !== id),
      ),
  },
  {
    name: 'arguments as an object',
    dialects: {},
    others: 'the own API of Ollama (ollama/ollama: api/types.go), behind proxies',
    reading: 'They are written as JSON.',
    isIn: ({ calls }) => calls.some(({ arguments: given }) => isObject(given)),
  },
  {
    name: 'all arguments so far in each chunk',
    dialects: {},
    others: 'NousResearch/hermes-agent#35592',
    reading: 'Only what is new is sent.',
    isIn: ({ isStream, calls }) =>
      isStream &&
      [...Map.groupBy(calls, ({ index }) => index).values()].some((pieces) =>
        growsEachTime(pieces.map((piece) => piece.arguments)),
      ),
  },
  {
    name: 'the finish reason `stop` after calls',
    dialects: { google: 'open-webui/computer#224' },
    others: 'mlx-vlm before 0.6.3, Blaizzy/mlx-vlm PR#1014',
    reading: 'The calls count.',
    isIn: ({ calls, finishReason }) => calls.length > 0 && finishReason === 'stop',
  },
  {
    name: 'a finish reason of its own',
    dialects: { together: RECORDED },
    others: 'proxies in front of Gemini and Anthropic, BerriAI/litellm#30835',
    reading: 'The words of other APIs are known. After an unknown one the answer counts as whole if its calls are.',
    isIn: ({ finishReason }) => finishReason !== undefined && !OF_OPENAI.has(finishReason),
  },
  {
    name: 'a finish reason in several chunks',
    dialects: { openrouter: RECORDED },
    reading: 'The worst one counts, once.',
    isIn: ({ isStream, choices }) => isStream && choices.filter((one) => finishReasonOf(one) !== undefined).length > 1,
  },
  {
    name: 'a finish reason beside the last words',
    dialects: { mistral: RECORDED, vllm: RECORDED },
    reading: 'The words count.',
    isIn: ({ isStream, choices }) =>
      isStream && choices.some((one) => finishReasonOf(one) !== undefined && Object.values(deltaOf(one)).some(isWords)),
  },
  {
    name: 'usage in several chunks',
    dialects: { vllm: '`continuous_usage_stats`' },
    others: 'Perplexity, recorded',
    reading: 'The last whole one counts. Zeros and null after it do not.',
    isIn: ({ isStream, chunks }) => isStream && chunks.filter(({ usage }) => isObject(usage)).length > 1,
  },
  {
    name: 'usage in the choice',
    dialects: { moonshot: 'platform.moonshot.ai/docs/api/chat' },
    reading: 'It counts as that of the answer.',
    isIn: ({ choices }) => choices.some(({ usage }) => isObject(usage)),
  },
];

export const ODDITIES: readonly Oddity[] = TABLE;

export function odditiesIn(answer: BackendAnswer): readonly Oddity[] {
  const choices = answer.chunks.flatMap((chunk) => choicesOf(chunk).map(({ choice }) => choice));
  const deltas = choices.map(deltaOf);
  const calls = deltas.flatMap((delta) => listOf(delta['tool_calls']).filter(isObject).map(toPiece));
  return TABLE.filter(({ isIn }) => isIn({ ...answer, choices, deltas, calls }));
}

const OF_OPENAI: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

function toPiece({ index, id, function: called }: ChatChunk): Piece {
  const { name, arguments: given } = isObject(called) ? called : {};
  return { index, id, name, arguments: given };
}

function hasText(value: unknown): boolean {
  return textOf(value) !== '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isWords(value: unknown): boolean {
  return value !== 'assistant' && (hasText(value) || listOf(value).length > 0);
}

/** A field that is there again, if only as null or "". Equal names may be two calls. */
function isRepeated(call: Piece, begun: Piece): boolean {
  if (begun.index !== call.index || !hasText(begun.id) || (hasText(call.id) && call.id !== begun.id)) return false;
  return call.id !== undefined || call.name !== undefined;
}

function growsEachTime(values: readonly unknown[]): boolean {
  const texts = values.map(textOf).filter((text) => text !== '');
  const isLonger = (texts.at(-1) ?? '').length > (texts[0] ?? '').length;
  return texts.length > 3 && isLonger && texts.slice(1).every((text, at) => text.startsWith(texts[at] ?? ''));
}
