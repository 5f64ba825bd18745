/**
 * Backends that attach state to their answers and refuse the next request without it, as scripts. Each names who refuses like
 * that; the words of the refusals are theirs, what they say is made up.
 */

import type { Script } from './backend.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface AssistantMessage extends Fields {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly (Fields & { readonly id: string })[];
}

/** One answer: what a JSON reply holds, and the deltas of the stream that say the same. */
interface Answer {
  readonly message: Fields;
  readonly deltas: readonly Fields[];
}

export interface StateBackend {
  readonly dialect: string;
  /** Its answers, one after the other: two calls, one call, text, text. */
  readonly answers: readonly Answer[];
  /** Its words about the first message that is not as it was; `sent` is how it was. Undefined where nothing is wrong. */
  readonly complaint: (message: AssistantMessage, sent: Fields, index: number) => string | undefined;
}

const called = (city: string) => ({ name: 'get_weather', arguments: JSON.stringify({ city }) });
const signed = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } });
const signedByLiteLlm = (signature: string) => ({ provider_specific_fields: { thought_signature: signature } });

/** Calls to be told whole, in a stream and in JSON alike. */
function toolCalls(ids: readonly string[], attached: readonly Fields[] = []): Fields[] {
  return ids.map((id, index) => ({
    index,
    id,
    type: 'function',
    function: called(`City ${id}`),
    ...attached[index],
  }));
}

const IDS = [['call_a', 'call_b'], ['call_c']] as const;
const TEXTS = ['It rains.', 'You are welcome.'] as const;

/** Four answers which all say `thoughts` in this way. */
function thinking(
  toFields: (thought: string, round: number) => { message: Fields; deltas: readonly Fields[] },
): Answer[] {
  return [0, 1, 2, 3].map((round) => {
    const { message, deltas } = toFields(`Thought ${round}. `, round);
    const ids = IDS[round];
    const said = ids === undefined ? { content: TEXTS[round - 2] } : { content: null, tool_calls: toolCalls(ids) };
    return { message: { ...message, ...said }, deltas: [...deltas, said] };
  });
}

const inField = (name: string) =>
  thinking((thought) => ({
    message: { [name]: thought + thought },
    deltas: [{ [name]: thought }, { [name]: thought }],
  }));

export const STATE_BACKENDS: Readonly<Record<string, StateBackend>> = {
  // ai.google.dev/gemini-api/docs/thought-signatures: of parallel calls the first one is signed; no `index` in streams, and a
  // signature may come in a delta of its own (open-webui/computer#224).
  'Gemini at Google': {
    dialect: 'google',
    answers: [
      {
        message: { content: null, tool_calls: toolCalls(IDS[0], [signed('one')]) },
        deltas: toolCalls(IDS[0], [signed('one')]).map(({ index: _index, ...call }) => ({ tool_calls: [call] })),
      },
      {
        message: { content: null, tool_calls: toolCalls(IDS[1], [signed('two')]) },
        deltas: [
          ...toolCalls(IDS[1]).map(({ index: _index, ...call }) => ({ tool_calls: [call] })),
          { tool_calls: [signed('two')] },
        ],
      },
      {
        message: { content: TEXTS[0], ...signed('three') },
        deltas: [{ content: 'It ' }, { content: 'rains.' }, { content: '', ...signed('three') }],
      },
      { message: { content: TEXTS[1] }, deltas: [{ content: TEXTS[1] }] },
    ],
    complaint: (message, sent) => complainOfSignature(message, sent, 'extra_content'),
  },
  // docs.litellm.ai/blog/gemini_3: the signature is in a field of LiteLLM's own.
  'Gemini behind LiteLLM': {
    dialect: 'generic',
    answers: [
      {
        message: { content: null, tool_calls: toolCalls(IDS[0], [signedByLiteLlm('one')]) },
        deltas: [{ tool_calls: toolCalls(IDS[0], [signedByLiteLlm('one')]) }],
      },
      {
        message: { content: null, tool_calls: toolCalls(IDS[1], [signedByLiteLlm('two')]) },
        deltas: [{ tool_calls: toolCalls(IDS[1], [signedByLiteLlm('two')]) }],
      },
      ...TEXTS.map((content) => ({ message: { content }, deltas: [{ content }] })),
    ],
    complaint: (message, sent) => complainOfSignature(message, sent, 'provider_specific_fields'),
  },
  // earendil-works/pi#9645; there it is a missed cache.
  'DeepSeek at Azure Foundry': {
    dialect: 'azure',
    answers: inField('reasoning_content'),
    complaint: (message, sent, index) =>
      differs(message, sent, ['reasoning_content']) ? `messages.${index} misses its reasoning_content` : undefined,
  },
  // continuedev/continue#11600; DeepSeek V4 on other hosts.
  'Kimi at Moonshot': {
    dialect: 'moonshot',
    answers: inField('reasoning_content'),
    complaint: (message, sent, index) =>
      message.tool_calls !== undefined && differs(message, sent, ['reasoning_content'])
        ? `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`
        : undefined,
  },
  DeepSeek: {
    dialect: 'deepseek',
    answers: inField('reasoning_content'),
    complaint: (message, sent) =>
      differs(message, sent, ['reasoning_content'])
        ? 'The `reasoning_content` in the thinking mode must be passed back to the API.'
        : undefined,
  },
  // QwenLM/qwen-code#11045: `reasoning` is what it sends and takes.
  Cerebras: {
    dialect: 'generic',
    answers: inField('reasoning'),
    complaint: (message, sent, index) =>
      differs(message, sent, ['reasoning', 'reasoning_content'])
        ? `messages.${index}.assistant.reasoning_content: property 'messages.${index}.assistant.reasoning_content' is unsupported`
        : undefined,
  },
  // musistudio/claude-code-router#1081: encrypted details name the call, and come after it.
  'Gemini at OpenRouter': {
    dialect: 'openrouter',
    answers: thinking((thought) => ({ message: { reasoning: thought }, deltas: [{ reasoning: thought }] })).map(
      ({ message, deltas }, round) => {
        const text = { type: 'reasoning.text', text: `Thought ${round}. `, format: 'google-gemini-v1', index: 0 };
        const id = IDS[round]?.[0];
        const encrypted = { type: 'reasoning.encrypted', data: `data ${round}`, format: 'google-gemini-v1', index: 0 };
        const details = [text, ...(id === undefined ? [] : [{ ...encrypted, id }])];
        return {
          message: { ...message, reasoning_details: details },
          deltas: [
            { ...deltas[0], reasoning_details: [text] },
            ...deltas.slice(1),
            ...(details.length > 1 ? [{ content: '', reasoning_details: details.slice(1) }] : []),
          ],
        };
      },
    ),
    complaint: (message, sent) =>
      differs(message, sent, ['reasoning', 'reasoning_details'])
        ? 'Gemini models require OpenRouter reasoning details to be preserved in each request.'
        : undefined,
  },
  // BerriAI/litellm#29428: one block a delta, the signature in the last of a block.
  'Claude behind LiteLLM': {
    dialect: 'generic',
    answers: thinking((thought, round) => ({
      message: {
        reasoning_content: thought + thought,
        thinking_blocks: [{ type: 'thinking', thinking: thought + thought, signature: `signature ${round}` }],
      },
      deltas: [
        ...[thought, thought].map((piece) => ({
          reasoning_content: piece,
          thinking_blocks: [{ type: 'thinking', thinking: piece, signature: '' }],
        })),
        { thinking_blocks: [{ type: 'thinking', thinking: '', signature: `signature ${round}` }] },
      ],
    })),
    complaint: (message, sent) =>
      differs(message, sent, ['reasoning_content', 'thinking_blocks'])
        ? 'Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
        : undefined,
  },
  // docs.mistral.ai, "Reasoning": thoughts are parts of the content.
  'Magistral at Mistral': {
    dialect: 'mistral',
    answers: thinking((thought) => ({ message: {}, deltas: [{ content: [toThinking(thought)] }] })).map(
      ({ message, deltas }, round) => {
        const { content } = message;
        const text = typeof content === 'string' ? [{ type: 'text', text: content }] : [];
        return { message: { ...message, content: [toThinking(`Thought ${round}. `), ...text] }, deltas };
      },
    ),
    complaint: (message, sent) =>
      differs(message, sent, ['content']) ? 'Thinking chunks of the assistant must be sent back.' : undefined,
  },
};

function toThinking(text: string): Fields {
  return { type: 'thinking', thinking: [{ type: 'text', text }] };
}

function complainOfSignature(message: AssistantMessage, sent: Fields, field: string): string | undefined {
  const calls = sent['tool_calls'] as readonly Fields[];
  const isMissing =
    differs(message, sent, [field]) || message.tool_calls?.some((call, at) => differs(call, calls[at], [field]));
  return isMissing
    ? 'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.'
    : undefined;
}

function differs(message: Fields, sent: Fields | undefined, names: readonly string[]): boolean {
  return names.some((name) => JSON.stringify(message[name]) !== JSON.stringify(sent?.[name]));
}

/** Answers with the next of its answers, or 400 where an earlier one does not come back with all that was attached. */
export function playState({ answers, complaint }: StateBackend): Script {
  return async ({ request, start, sse, end }) => {
    const { messages, stream } = request.body as { messages: readonly AssistantMessage[]; stream?: boolean };
    const told = [...messages.entries()].filter(([, { role }]) => role === 'assistant');
    const complaints = told.flatMap(
      ([index, message], at) => complaint(message, answers[at]?.message ?? {}, index) ?? [],
    );
    const answer = answers[told.length];
    if (complaints.length > 0 || answer === undefined) {
      start(400, { 'content-type': 'application/json' });
      end(JSON.stringify({ error: { message: complaints[0] ?? 'There is nothing left to say.', code: 400 } }));
      return;
    }
    const finishReason = answer.message['tool_calls'] === undefined ? 'stop' : 'tool_calls';
    if (stream === true) {
      start();
      for (const delta of answer.deltas) await sse({ choices: [{ index: 0, delta, finish_reason: null }] });
      await sse({ choices: [{ index: 0, delta: {}, finish_reason: finishReason }] }, '[DONE]');
      end();
    } else {
      start(200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', ...answer.message };
      end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: finishReason }] }));
    }
  };
}
