import { ax, AxAIOpenAIResponses, f, fn, type AxAIOpenAIResponsesModel } from '@ax-llm/ax';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

export async function withAx({ baseURL, model, ...asked }: Asked, stream: boolean): Promise<string> {
  // Without the seals its streams send each thought three times back.
  const config = { model: model as AxAIOpenAIResponsesModel, includeEncryptedReasoning: true };
  const llm = new AxAIOpenAIResponses({ apiKey: API_KEY, config });
  // Its constructor takes no address.
  llm.setAPIURL(baseURL);
  const question = f().input('question', f.string());
  const options = { stream, maxRetries: 0, showThoughts: true };
  if (asked.isStructured) {
    const place = ax(question.output('city', f.string()).useStructured().build());
    const { city } = await place.forward(llm, { question: PROMPT }, options);
    return JSON.stringify({ city });
  }
  const functions = toolsOf(asked).map((name) =>
    fn(name)
      .description(DESCRIPTION)
      .arg('city', f.string())
      .handler(({ city }) => rainIn(city))
      .build(),
  );
  const { answer } = await ax(question.output('answer', f.string()).build(), { functions }).forward(
    llm,
    { question: PROMPT },
    options,
  );
  return answer;
}
