/** What the backend of the bench can be asked to send. */

/** How many deltas a stream without delay has. */
export const BURST_DELTAS = 200;

/** What is particular about the delta with this number. */
export interface Piece {
  readonly delta: object;
  /** Beside the delta, in its choice. */
  readonly choice?: object;
  /** Beside the choices. */
  readonly chunk?: object;
}

/** How the chunks of a stream differ from each other, as real backends send them. */
export const CHUNKS = {
  repeated: (index) => ({ delta: toText(index) }),
  different: (index) => ({
    delta: toText(index),
    chunk: { ...toNewId(index), ...toPadding(index), ...toUsage(index) },
  }),
  logprobs: (index) => ({ delta: toText(index), choice: { logprobs: { content: [toLogprob(index)], refusal: null } } }),
  arguments: (index) => ({ delta: { tool_calls: [{ index: 0, function: { arguments: toArguments(index) } }] } }),
  reasoning: (index) => ({ delta: toThought(index) }),
} satisfies Record<string, (index: number) => Piece>;

export type ChunkKind = keyof typeof CHUNKS;

export function isChunkKind(name: string): name is ChunkKind {
  return Object.hasOwn(CHUNKS, name);
}

function toText(index: number): object {
  return { content: ` word${index}` };
}

/** A word at last, as an answer has one: the gateway ends thoughts alone with an empty message, which is a delta more. */
function toThought(index: number): object {
  return index === BURST_DELTAS - 1 ? toText(index) : { reasoning_content: ` thought${index}` };
}

/** Backends that stamp each chunk for itself. */
function toNewId(index: number): object {
  return { id: `c${index}`, created: 1 + index };
}

/** OpenAI pads each chunk, so that its length does not tell the word. */
function toPadding(index: number): object {
  return { obfuscation: 'hYp3Qz81mLw0Tb5s'.slice((index * 7) % 16) };
}

export function toUsage(deltas: number): object {
  return { usage: { prompt_tokens: 20, completion_tokens: deltas, total_tokens: 20 + deltas } };
}

function toLogprob(index: number): object {
  const token = ` word${index}`;
  const logprob = { token, logprob: -index / 1000, bytes: [...Buffer.from(token)] };
  return { ...logprob, top_logprobs: [logprob, { token: ' other', logprob: -3, bytes: [...Buffer.from(' other')] }] };
}

/** The arguments are JSON as a whole. */
function toArguments(index: number): string {
  if (index === 0) return '{"list":[0';
  return index === BURST_DELTAS - 1 ? ']}' : `,${index}`;
}
