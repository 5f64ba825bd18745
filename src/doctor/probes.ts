import type { ChatMessage, ChatRequest, ChatTool } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';
import { jsonObjectIn } from '../core/reply/json-end.ts';
import type { BackendAnswer } from './answer.ts';

export interface Finish {
  readonly result: 'yes' | 'no' | 'unclear';
  readonly reason: string;
  /** The backend does what no client expects, which is worse than to refuse it. */
  readonly isFault?: true;
}

export type LimitField = 'max_tokens' | 'max_completion_tokens';

export interface Manner {
  readonly model: string;
  readonly limitField: LimitField;
}

export interface Probe {
  readonly name: string;
  readonly ask: (manner: Manner) => ChatRequest;
  readonly judge: (answer: BackendAnswer) => Finish;
  /** Judges refusals in words that do not simply mean no. */
  readonly judgeRefusal?: (words: string) => Finish | undefined;
}

/** Leaves room for reasoning. */
const MAX_TOKENS = 512;
export const FEW_TOKENS = 16;

export const CHAT: Probe = {
  name: 'chat',
  ask: (manner) => limited(manner, toMessages('Reply with the word OK.')),
  judge: ({ text, reasoningIn, finishReason }) => {
    if (text !== '' || reasoningIn.length > 0) return yes('answers in text');
    return finishReason === 'length'
      ? yes(`the model used up its ${MAX_TOKENS} tokens before any text`)
      : unclear(`an answer without text (finish reason ${finishReason ?? 'missing'})`);
  },
};

export const PROBES = [
  {
    name: 'stream',
    ask: (manner) => ({ ...CHAT.ask(manner), stream: true }),
    judge: judgeStream,
  },
  {
    name: 'usage in streams',
    ask: (manner) => ({ ...CHAT.ask(manner), stream: true, stream_options: { include_usage: true } }),
    judge: ({ usage, isUsageApart }) => {
      if (usage === undefined) return no('stream_options is taken, but no usage comes');
      return yes(isUsageApart ? 'in a chunk of its own' : 'in a chunk with a choice');
    },
  },
  {
    name: 'max_tokens',
    ask: ({ model }) => ({ model, messages: COUNTING, max_tokens: FEW_TOKENS }),
    judge: judgeLimit,
    judgeRefusal: judgeLimitReached,
  },
  {
    name: 'max_completion_tokens',
    ask: ({ model }) => ({ model, messages: COUNTING, max_completion_tokens: FEW_TOKENS }),
    judge: judgeLimit,
    judgeRefusal: judgeLimitReached,
  },
  {
    name: 'developer role',
    ask: (manner) =>
      limited(manner, [{ role: 'developer', content: 'Be brief.' }, ...toMessages('Reply with the word OK.')]),
    judge: judgeTaken,
  },
  {
    name: 'system message later on',
    ask: (manner) =>
      limited(manner, [
        ...toMessages('Hello.'),
        { role: 'assistant', content: 'Hello.' },
        { role: 'system', content: 'Be brief.' },
        ...toMessages('Reply with the word OK.'),
      ]),
    judge: judgeTaken,
  },
  {
    name: 'user messages in a row',
    ask: (manner) => limited(manner, [...toMessages('Hello.'), ...toMessages('Reply with the word OK.')]),
    judge: judgeTaken,
  },
  {
    name: 'tools',
    ask: (manner) => ({
      ...limited(manner, ABOUT_WEATHER),
      tools: [WEATHER],
    }),
    judge: (answer) => judgeCalls(answer, unclear('the model answered in words')),
  },
  {
    name: 'parallel tools',
    // In a stream, as agents ask: calls are odder there.
    ask: (manner) => ({
      ...limited(manner, ABOUT_TWO_CITIES),
      tools: [WEATHER],
      parallel_tool_calls: true,
      stream: true,
    }),
    judge: (answer) =>
      answer.calls.length === 1
        ? unclear(isCut(answer) ? OUT_OF_TOKENS : 'taken, but the model made one call where two were asked for')
        : judgeCalls(answer, unclear('the model answered in words')),
  },
  {
    name: 'tool_choice required',
    ask: (manner) => ({
      ...limited(manner, toMessages('Good morning, Paris.')),
      tools: [WEATHER],
      tool_choice: 'required',
    }),
    judge: (answer) => judgeCalls(answer, no('taken, but the model answered in words')),
  },
  {
    name: 'tool_choice named',
    ask: (manner) => ({
      ...limited(manner, ABOUT_WEATHER),
      tools: [WEATHER, TIME],
      tool_choice: { type: 'function', function: { name: TIME.function.name } },
    }),
    judge: (answer) => {
      const other = answer.calls.find(({ name }) => name === WEATHER.function.name);
      if (other !== undefined) return no(`taken, but the model called ${other.name}`);
      return judgeCalls(answer, no('taken, but the model answered in words'));
    },
  },
  {
    name: 'tool_choice none',
    ask: (manner) => ({ ...limited(manner, ABOUT_WEATHER), tools: [WEATHER], tool_choice: 'none' }),
    judge: (answer) => {
      const [call] = answer.calls;
      if (call !== undefined) return no(`taken, but the model called ${call.name}`);
      return isCut(answer) ? unclear(OUT_OF_TOKENS) : yes('no call came');
    },
  },
  {
    name: 'parallel_tool_calls false',
    ask: (manner) => ({ ...limited(manner, ABOUT_TWO_CITIES), tools: [WEATHER], parallel_tool_calls: false }),
    judge: (answer) => {
      const { length } = answer.calls;
      if (length > 1) return no(`taken, but ${length} calls came`);
      if (isCut(answer)) return unclear(OUT_OF_TOKENS);
      return length === 1 ? yes('one call came') : unclear('the model made no call');
    },
  },
  {
    name: 'json_schema',
    ask: (manner) => ({
      ...limited(manner, toMessages('Which city is the capital of France? Answer in JSON.')),
      response_format: { type: 'json_schema', json_schema: { name: 'capital', strict: true, schema: CAPITAL } },
    }),
    judge: (answer) => judgeJson(answer, (value) => typeof value['capital_city'] === 'string'),
  },
  {
    name: 'json_object',
    ask: (manner) => ({
      ...limited(manner, toMessages('Which city is the capital of France? Answer with a JSON object.')),
      response_format: { type: 'json_object' },
    }),
    judge: (answer) => judgeJson(answer, () => true),
  },
  {
    name: 'reasoning',
    ask: (manner) => limited(manner, toMessages('Is 391 a prime number? Think, then answer yes or no.')),
    judge: judgeReasoning,
  },
  {
    name: 'images',
    ask: (manner) =>
      limited(manner, [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Reply with the word OK.' },
            { type: 'image_url', image_url: { url: PIXEL } },
          ],
        },
      ]),
    judge: () => yes('taken; whether the model sees them was not tried'),
  },
] as const satisfies readonly Probe[];

export type ProbeName = (typeof PROBES)[number]['name'];

const COUNTING = toMessages('Count from 1 to 50, with nothing else.');

export const ABOUT_WEATHER = toMessages('What is the weather in Paris? Call get_weather.');
const ABOUT_TWO_CITIES = toMessages('What is the weather in Paris and in Rome? Call get_weather once for each.');

export const WEATHER: ChatTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Tells the weather in a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};

const TIME: ChatTool = {
  type: 'function',
  function: { name: 'get_time', description: 'Tells the time.', parameters: { type: 'object', properties: {} } },
};

const CAPITAL = {
  type: 'object',
  properties: { capital_city: { type: 'string' } },
  required: ['capital_city'],
  additionalProperties: false,
};

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg==';

export function toMessages(text: string): ChatMessage[] {
  return [{ role: 'user', content: text }];
}

export function limited(
  { model, limitField }: Manner,
  messages: readonly ChatMessage[],
  maxTokens = MAX_TOKENS,
): ChatRequest {
  return { model, messages, [limitField]: maxTokens };
}

function judgeTaken(): Finish {
  return yes('taken');
}

function judgeStream({ isStream, isDone, usage, chunks }: BackendAnswer): Finish {
  if (!isStream) return no('answered in one piece');
  const notes = [...(isDone ? [] : ['no [DONE] at the end']), ...(usage === undefined ? [] : ['usage comes unasked'])];
  return yes([`${chunks.length} chunks`, ...notes].join(', '));
}

function judgeLimit({ finishReason, usage }: BackendAnswer): Finish {
  if (finishReason === 'length') return yes('kept');
  if (usage === undefined) return unclear('taken; without usage it cannot be seen whether it is kept');
  const { output_tokens: tokens } = usage;
  return tokens > FEW_TOKENS ? no(`taken, but not kept: ${tokens} tokens came for ${FEW_TOKENS}`) : yes('taken');
}

/** OpenAI answers 400 "… model output limit was reached" when reasoning takes all tokens. */
function judgeLimitReached(words: string): Finish | undefined {
  return /limit was reached/i.test(words) ? yes('kept') : undefined;
}

const OFFERED: ReadonlySet<string> = new Set([WEATHER.function.name, TIME.function.name]);

function judgeCalls(answer: BackendAnswer, otherwise: Finish): Finish {
  const [call] = answer.calls;
  const isWhole = call !== undefined && answer.calls.every(({ arguments: text }) => isObject(readJson(text)));
  if (isCut(answer) && !isWhole) return unclear(OUT_OF_TOKENS);
  if (call === undefined) return otherwise;
  if (answer.calls.some(({ arguments: text }) => text !== '' && !isObject(readJson(text)))) {
    return no('calls with arguments that are no JSON object');
  }
  const unknown = answer.calls.find(({ name }) => !OFFERED.has(name));
  if (unknown !== undefined) return { ...no(`called ${unknown.name}, which was not offered`), isFault: true };
  return yes(answer.calls.length === 1 ? `called ${call.name}` : `${answer.calls.length} calls in one answer`);
}

/** Returns whether the limit cut the answer; some backends give a cut call the reason `tool_calls`. */
export function isCut({ finishReason, calls }: BackendAnswer): boolean {
  return (
    finishReason === 'length' || calls.some(({ arguments: text }) => text !== '' && jsonObjectIn(text) === 'begun')
  );
}

function judgeJson(answer: BackendAnswer, fits: (value: Readonly<Record<string, unknown>>) => boolean): Finish {
  const value = readJson(answer.text);
  if (isObject(value) && fits(value)) return yes('the answer follows it');
  if (isCut(answer)) return unclear(OUT_OF_TOKENS);
  return no(isObject(value) ? 'taken, but the answer does not follow the schema' : 'taken, but the answer is not JSON');
}

function judgeReasoning({ reasoningIn, usage }: BackendAnswer): Finish {
  if (reasoningIn.includes('</think>')) return yes('before </think>, in a block that the chat template opened');
  if (reasoningIn.length > 0) return yes(`in ${reasoningIn.join(' and ')}`);
  const tokens = usage?.output_tokens_details.reasoning_tokens ?? 0;
  return tokens > 0 ? no(`${tokens} tokens of it, not shown`) : no('none came');
}

export const OUT_OF_TOKENS = `the model used up its ${MAX_TOKENS} tokens before`;

export function yes(reason: string): Finish {
  return { result: 'yes', reason };
}

export function no(reason: string): Finish {
  return { result: 'no', reason };
}

export function unclear(reason: string): Finish {
  return { result: 'unclear', reason };
}
