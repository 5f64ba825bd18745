import { Chat, type Prompt, Tool, Toolkit } from '@effect/ai';
import { OpenAiClient, OpenAiLanguageModel } from '@effect/ai-openai';
import { FetchHttpClient } from '@effect/platform';
import { Effect, Layer, Redacted, Schema, Stream } from 'effect';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PROMPT, rainIn, type Asked } from '../turns/scenarios.ts';

const PLACE = { city: Schema.String };
const toolkit = Toolkit.make(
  Tool.make('get_weather', { description: DESCRIPTION, parameters: PLACE, success: Schema.String }),
);
const tools = toolkit.toLayer({ get_weather: ({ city }) => Effect.succeed(rainIn(city)) });

export async function withEffect({ baseURL, model, isStructured }: Asked, stream: boolean): Promise<string> {
  const client = OpenAiClient.layer({ apiKey: Redacted.make(API_KEY), apiUrl: baseURL });
  const layer = Layer.mergeAll(
    OpenAiLanguageModel.layer({ model }).pipe(Layer.provide(client), Layer.provide(FetchHttpClient.layer)),
    tools,
  );
  const asking = Effect.gen(function* () {
    const chat = yield* Chat.empty;
    if (isStructured) {
      const { value } = yield* chat.generateObject({ prompt: PROMPT, schema: Schema.Struct(PLACE) });
      return JSON.stringify(value);
    }
    for (let prompt: Prompt.RawInput = PROMPT; ; prompt = []) {
      if (!stream) {
        const { text, toolCalls } = yield* chat.generateText({ prompt, toolkit });
        if (toolCalls.length === 0) return text;
      } else {
        const parts = [...(yield* Stream.runCollect(chat.streamText({ prompt, toolkit })))];
        const broken = parts.find(({ type }) => type === 'error');
        if (broken?.type === 'error') throw new Error(JSON.stringify(broken.error));
        if (!parts.some(({ type }) => type === 'tool-call'))
          return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
      }
    }
  });
  return Effect.runPromise(asking.pipe(Effect.provide(layer)));
}
