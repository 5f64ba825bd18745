/**
 * Backends that attach state to their answers and refuse the next request without it, as scripts. Each names who refuses like
 * that; the words of the refusals are theirs, what they say is made up.
 */

import type { Script, Stage } from './backend.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface AssistantMessage extends Fields {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly (Fields & { readonly id: string })[];
}

/** What an answer says without its state. Calls are told whole, in a stream and in JSON alike. */
export interface Said {
  readonly content: string | null;
  readonly tool_calls?: readonly (Fields & { readonly id: string })[];
}

/** One answer: what a JSON reply holds, and the deltas of the stream that say the same. */
export interface Answer {
  readonly message: Fields;
  readonly deltas: readonly Fields[];
}

export interface StateBackend {
  readonly dialect: string;
  /** How its answer number `round` of a conversation says this, with its state. */
  readonly toAnswer: (said: Said, round: number) => Answer;
  /** Its words about the first message that is not as it was; `sent` is how it was. Undefined where nothing is wrong. */
  readonly complaint: (message: AssistantMessage, sent: Fields, index: number) => string | undefined;
}

/** How a signature is attached. */
type Sign = (signature: string) => Fields;

const byGoogle: Sign = (signature) => ({ extra_content: { google: { thought_signature: signature } } });
const byLiteLlm: Sign = (signature) => ({ provider_specific_fields: { thought_signature: signature } });

/** Its thoughts come first, in this way. */
function thinking(toFields: (thought: string, round: number, said: Said) => Answer): StateBackend['toAnswer'] {
  return (said, round) => {
    const { message, deltas } = toFields(`Thought ${round}. `, round, said);
    return { message: { ...message, ...said }, deltas: [...deltas, { ...said }] };
  };
}

/** Thoughts in a field of this name. */
export function inField(name: string): StateBackend['toAnswer'] {
  return thinking((thought) => ({
    message: { [name]: thought + thought },
    deltas: [{ [name]: thought }, { [name]: thought }],
  }));
}

/** Of parallel calls the first one is signed. A signature may come in a delta of its own. */
function signing(sign: Sign): StateBackend['toAnswer'] {
  return ({ content, tool_calls: calls = [] }, round) => {
    const signature = sign(`signature ${round}`);
    if (calls.length === 0) {
      return { message: { content, ...signature }, deltas: [{ content }, { content: '', ...signature }] };
    }
    const isLate = round % 2 === 1;
    const told: Fields[] = calls.map(({ index: _index, ...call }) => call);
    const pieces = isLate ? told.toSpliced(1, 0, signature) : told.with(0, { ...told[0], ...signature });
    return {
      message: { content, tool_calls: calls.map((call, at) => ({ ...call, ...(at === 0 && signature) })) },
      deltas: pieces.map((piece) => ({ tool_calls: [piece] })),
    };
  };
}

export const STATE_BACKENDS: Readonly<Record<string, StateBackend>> = {
  // ai.google.dev/gemini-api/docs/thought-signatures; no `index` in streams (open-webui/computer#224).
  'Gemini at Google': {
    dialect: 'google',
    toAnswer: signing(byGoogle),
    complaint: (message, sent) => complainOfSignature(message, sent, 'extra_content'),
  },
  // docs.litellm.ai/blog/gemini_3: the signature is in a field of LiteLLM's own.
  'Gemini behind LiteLLM': {
    dialect: 'generic',
    toAnswer: signing(byLiteLlm),
    complaint: (message, sent) => complainOfSignature(message, sent, 'provider_specific_fields'),
  },
  // earendil-works/pi#9645; there it is a missed cache.
  'DeepSeek at Azure Foundry': {
    dialect: 'azure',
    toAnswer: inField('reasoning_content'),
    complaint: (message, sent, index) =>
      differs(message, sent, ['reasoning_content']) ? `messages.${index} misses its reasoning_content` : undefined,
  },
  // continuedev/continue#11600; DeepSeek V4 on other hosts.
  'Kimi at Moonshot': {
    dialect: 'moonshot',
    toAnswer: inField('reasoning_content'),
    complaint: (message, sent, index) =>
      message.tool_calls !== undefined && differs(message, sent, ['reasoning_content'])
        ? `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`
        : undefined,
  },
  DeepSeek: {
    dialect: 'deepseek',
    toAnswer: inField('reasoning_content'),
    complaint: (message, sent) =>
      differs(message, sent, ['reasoning_content'])
        ? 'The `reasoning_content` in the thinking mode must be passed back to the API.'
        : undefined,
  },
  // QwenLM/qwen-code#11045: `reasoning` is what it sends and takes.
  Cerebras: {
    dialect: 'generic',
    toAnswer: inField('reasoning'),
    complaint: (message, sent, index) =>
      differs(message, sent, ['reasoning', 'reasoning_content'])
        ? `messages.${index}.assistant.reasoning_content: property 'messages.${index}.assistant.reasoning_content' is unsupported`
        : undefined,
  },
  // musistudio/claude-code-router#1081: encrypted details name the call, and come after it.
  'Gemini at OpenRouter': {
    dialect: 'openrouter',
    toAnswer: thinking((thought, round, { tool_calls: calls = [] }) => {
      const text = { type: 'reasoning.text', text: thought, format: 'google-gemini-v1', index: 0 };
      const data = { type: 'reasoning.encrypted', data: `data ${round}`, format: 'google-gemini-v1', index: 0 };
      const encrypted = calls.slice(0, 1).map(({ id }) => ({ ...data, id }));
      return {
        message: { reasoning: thought, reasoning_details: [text, ...encrypted] },
        deltas: [
          { reasoning: thought, reasoning_details: [text] },
          ...encrypted.map((detail) => ({ content: '', reasoning_details: [detail] })),
        ],
      };
    }),
    complaint: (message, sent) =>
      differs(message, sent, ['reasoning', 'reasoning_details'])
        ? 'Gemini models require OpenRouter reasoning details to be preserved in each request.'
        : undefined,
  },
  // BerriAI/litellm#29428: one block a delta, the signature in the last of a block.
  'Claude behind LiteLLM': {
    dialect: 'generic',
    toAnswer: thinking((thought, round) => ({
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
  // The same model where it thinks again before it calls: each thought becomes an item with a seal of its own.
  'Claude with interleaved thoughts': {
    dialect: 'generic',
    toAnswer({ content, ...calls }, round) {
      const [first, again] = [toBlock(`${round} a`), toBlock(`${round} b`)] as const;
      const words = content ?? 'I look.';
      return {
        message: { content: words, thinking_blocks: [first, again], ...calls },
        deltas: [toDelta(first), { content: words }, toDelta(again), { ...calls }],
      };
    },
    complaint: (message, sent) =>
      differs(message, sent, ['thinking_blocks'])
        ? 'Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
        : undefined,
  },
  // docs.mistral.ai, "Reasoning": thoughts are parts of the content.
  'Magistral at Mistral': {
    dialect: 'mistral',
    toAnswer: ({ content, ...calls }, round) => {
      const thought = toThinking(`Thought ${round}. `);
      const text = content === null ? [] : [{ type: 'text', text: content }];
      return {
        message: { content: [thought, ...text], ...calls },
        deltas: [{ content: [thought] }, { content, ...calls }],
      };
    },
    complaint: (message, sent) =>
      differs(message, sent, ['content']) ? 'Thinking chunks of the assistant must be sent back.' : undefined,
  },
};

function toBlock(name: string) {
  return { type: 'thinking', thinking: `Thought ${name}. `, signature: `signature ${name}` };
}

function toDelta(block: ReturnType<typeof toBlock>): Fields {
  return { reasoning_content: block.thinking, thinking_blocks: [block] };
}

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

const call = (id: string, index: number) => ({
  index,
  id,
  type: 'function',
  function: { name: 'get_weather', arguments: JSON.stringify({ city: `City ${id}` }) },
});

const SAID: readonly Said[] = [
  { content: null, tool_calls: [call('call_a', 0), call('call_b', 1)] },
  { content: null, tool_calls: [call('call_c', 0)] },
  { content: 'It rains.' },
  { content: 'You are welcome.' },
];

/**
 * Says two calls, one call, text and text, in one answer after the other, or 400 where an earlier one does not come back with
 * all that was attached.
 */
export function playState({ toAnswer, complaint }: StateBackend): Script {
  const answers = SAID.map(toAnswer);
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
    await sendAnswer({ start, sse, end }, answer, stream === true);
  };
}

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

/** In a stream, one delta a chunk, or as JSON. */
export async function sendAnswer(
  { start, sse, end }: Pick<Stage, 'start' | 'sse' | 'end'>,
  { message, deltas }: Answer,
  stream: boolean,
): Promise<void> {
  const finishReason = message['tool_calls'] === undefined ? 'stop' : 'tool_calls';
  if (stream) {
    start();
    for (const delta of deltas) await sse({ choices: [{ index: 0, delta, finish_reason: null }] });
    await sse({ choices: [{ index: 0, delta: {}, finish_reason: finishReason }] });
    await sse({ choices: [], usage: USAGE }, '[DONE]');
    end();
  } else {
    start(200, { 'content-type': 'application/json' });
    end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
      }),
    );
  }
}
