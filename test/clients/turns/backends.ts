/** Chat backends as strict as the real ones, as data: each rule and each way names the public source that it follows. */

import type { Script } from '../../support/backend.ts';
import {
  inField,
  sendAnswer,
  STATE_BACKENDS,
  type AssistantMessage,
  type Said,
  type StateBackend,
} from '../../support/state-backends.ts';
import { ANSWER, isScenario, SCENARIOS, STRUCTURED, type Scenario, type ScenarioName } from './scenarios.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Chat extends Fields {
  readonly model: string;
  readonly messages: readonly (AssistantMessage & { readonly tool_call_id?: string })[];
  readonly tools?: readonly Tool[];
  readonly tool_choice?: string | { readonly function: { readonly name: string } };
  readonly response_format?: { readonly type: string };
}

interface Tool {
  readonly function: { readonly name: string; readonly parameters?: { readonly required?: readonly string[] } };
}

interface Rule {
  readonly source: string;
  /** The words of the refusal; undefined where the request is taken. */
  readonly refusal: (chat: Chat) => string | undefined;
  /** 400 where it is not given. */
  readonly status?: number;
}

export interface Backend {
  readonly dialect: string;
  /** What follows `/v1` in its base URL. */
  readonly query?: string;
  readonly toAnswer: StateBackend['toAnswer'];
  /** Where a message that does not come back as it was is refused. */
  readonly complaint?: StateBackend['complaint'];
  /** A message that it takes in the place of one as it was. */
  readonly takesInstead?: (message: AssistantMessage) => boolean;
  readonly rules: readonly Rule[];
  readonly toErrorBody?: (words: string) => unknown;
  /** Its model thinks unless this holds. */
  readonly isThinkingOff: (chat: Chat) => boolean;
  /** What it makes of `tool_choice`. Where it makes nothing of it, its model calls the first tool that it sees. */
  readonly holds: 'all' | 'words' | 'nothing';
  /** What no gateway can have it do, and who says so. A client is named where only its requests are so. */
  readonly impossible: readonly {
    readonly scenario: ScenarioName;
    readonly client?: string;
    readonly source: string;
  }[];
}

const isEffortNone = (chat: Chat): boolean => chat['reasoning_effort'] === 'none';
const isDisabled = ({ thinking }: Chat): boolean => (thinking as Fields | undefined)?.['type'] === 'disabled';
const isOffInTemplate = ({ chat_template_kwargs: kwargs }: Chat): boolean =>
  (kwargs as Fields | undefined)?.['enable_thinking'] === false;
const isForced = ({ tool_choice: choice }: Chat): boolean => choice === 'required' || typeof choice === 'object';
const hasTools = ({ tools = [] }: Chat): boolean => tools.length > 0;

/** A rule with these words where this holds. */
function refuses(words: string, source: string, isRefused: (chat: Chat) => boolean, status?: number): Rule {
  return { source, refusal: (chat) => (isRefused(chat) ? words : undefined), ...(status !== undefined && { status }) };
}

const COMMON_FIELDS = [
  'model',
  'messages',
  'stream',
  'tools',
  'tool_choice',
  'response_format',
  'max_tokens',
  'temperature',
];

/** A rule against all fields but the common ones and these, in the words that `toWords` finds for a name. */
function knowsOnly(names: readonly string[], toWords: (name: string) => string, source: string, status?: number): Rule {
  const known = new Set([...COMMON_FIELDS, ...names]);
  const refusal = (chat: Chat): string | undefined =>
    Object.keys(chat)
      .filter((name) => !known.has(name))
      .map(toWords)[0];
  return { source, refusal, ...(status !== undefined && { status }) };
}

/** A rule for the fields of the assistant's messages. */
function refusesInMessages(name: string, words: string, source: string): Rule {
  return refuses(words, source, ({ messages }) => messages.some((message) => name in message));
}

const EACH_CALL_HAS_ITS_OUTPUT = refuses(
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
  'openai/openai-node#1122',
  ({ messages }) =>
    messages.some(({ tool_calls: calls = [] }, at) =>
      calls.some(({ id }, index) => messages[at + 1 + index]?.tool_call_id !== id),
    ),
);

const SYSTEM_IS_FIRST = 'System message must be at the beginning.';
const isSystemLate = ({ messages }: Chat): boolean =>
  messages.some(({ role }, at) => role === 'developer' || (role === 'system' && at > 0));

const fromState = (name: keyof typeof STATE_BACKENDS): StateBackend => STATE_BACKENDS[name] as StateBackend;

export const BACKENDS: Readonly<Record<string, Backend>> = {
  // The state: ai.google.dev/gemini-api/docs/thought-signatures.
  'Google, Gemini 3': {
    ...fromState('Gemini at Google'),
    // ai.google.dev/gemini-api/docs/thought-signatures: a signature that is not checked.
    takesInstead: (message) => JSON.stringify(message.tool_calls?.[0]).includes('skip_thought_signature_validator'),
    rules: [
      knowsOnly(
        ['stream_options', 'parallel_tool_calls', 'reasoning_effort', 'top_p', 'n', 'stop'],
        (name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
        'SuzumiyaAkizuki/ComfyUI-NewBie-LLM-Formatter#3, BerriAI/litellm PR#36268',
      ),
      refuses('Budget 0 is invalid. This model only works in thinking mode.', 'docker/docker-agent#2051', isEffortNone),
    ],
    toErrorBody: (message) => [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }],
    isThinkingOff: () => false,
    holds: 'all',
    impossible: [{ scenario: 'thinking-off', source: 'ai.google.dev/gemini-api/docs/thinking: it cannot be disabled' }],
  },
  // The state: RooCodeInc/Roo-Code#9506, musistudio/claude-code-router#1081.
  OpenRouter: {
    ...fromState('Gemini at OpenRouter'),
    rules: [
      refuses("Invalid 'tool_calls[0].id': string too long.", 'openclaw/openclaw PR#875', ({ messages }) =>
        messages.some(({ tool_calls: calls = [] }) => calls.some(({ id }) => id.length > 40)),
      ),
    ],
    // openrouter.ai/docs/use-cases/reasoning-tokens; the bare effort is not looked at (Elumenotion/GuideAnts#114).
    isThinkingOff: ({ reasoning }) => {
      const { enabled, effort } = (reasoning ?? {}) as Fields;
      return enabled === false || effort === 'none';
    },
    holds: 'all',
    impossible: [],
  },
  // The state: continuedev/continue#11600, spacedriveapp/spacebot#549.
  'Moonshot, Kimi': {
    ...fromState('Kimi at Moonshot'),
    // theopenco/llmgateway#2093
    takesInstead: (message) => message['reasoning_content'] === ' ',
    rules: [
      refuses(
        "tool_choice 'required' is incompatible with thinking enabled",
        'AstrBotDevs/AstrBot#7805',
        (chat) => isForced(chat) && !isDisabled(chat),
      ),
      refuses('the message with role assistant must not be empty', 'MoonshotAI/kimi-code#1985', ({ messages }) =>
        messages.some(
          ({ role, content, tool_calls: calls }) => role === 'assistant' && !content && calls === undefined,
        ),
      ),
    ],
    // can1357/oh-my-pi#1077
    isThinkingOff: isDisabled,
    holds: 'all',
    impossible: [],
  },
  // The state: NousResearch/hermes-agent PR#15228, SillyTavern/SillyTavern PR#5545.
  DeepSeek: {
    ...fromState('DeepSeek'),
    rules: [
      refuses(
        'Thinking mode does not support this tool_choice',
        'deepseek-ai/DeepSeek-V3#1376',
        (chat) => isForced(chat) && !isDisabled(chat),
      ),
      refuses(
        'This response_format type is unavailable now',
        'llm-exe/llm-exe#662',
        ({ response_format: format }) => format?.type === 'json_schema',
      ),
      refuses(
        "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
        'vercel/ai#7913',
        ({ response_format: format, messages }) =>
          format?.type === 'json_object' && !/json/i.test(JSON.stringify(messages)),
      ),
      refuses(
        'reasoning_effort: unknown variant `none`, expected one of `high`, `low`, `medium`, `max`, `xhigh`',
        'nextai-translator/nextai-translator#1879',
        isEffortNone,
      ),
    ],
    // api-docs.deepseek.com/guides/thinking_mode
    isThinkingOff: isDisabled,
    holds: 'all',
    impossible: [],
  },
  // The state: docs.mistral.ai/capabilities/reasoning.
  Mistral: {
    ...fromState('Magistral at Mistral'),
    rules: [
      knowsOnly(
        ['parallel_tool_calls', 'prompt_cache_key', 'prompt_mode', 'random_seed', 'reasoning_effort', 'stop', 'top_p'],
        (name) => `body.${name}: Extra inputs are not permitted`,
        'dnakov/anon-kode#53, editor-code-assistant/eca#231',
        422,
      ),
      refusesInMessages('reasoning_content', 'Extra inputs are not permitted', 'charmbracelet/crush#1590'),
      refuses('Tool call id must be a-z, A-Z, 0-9, with a length of 9.', 'karthink/gptel#1203', ({ messages }) =>
        messages.some(({ tool_calls: calls = [] }) => calls.some(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id))),
      ),
      refuses("Unexpected role 'user' after role 'tool'", 'BerriAI/litellm#17761', ({ messages }) =>
        messages.some(({ role }, at) => role === 'user' && messages[at - 1]?.role === 'tool'),
      ),
    ],
    toErrorBody: (msg) => ({ object: 'error', message: { detail: [{ type: 'extra_forbidden', msg }] } }),
    // docs.mistral.ai/capabilities/reasoning/adjustable, vercel/ai PR#13688
    isThinkingOff: isEffortNone,
    holds: 'all',
    impossible: [],
  },
  'Groq, Qwen3': {
    dialect: 'groq',
    toAnswer: inField('reasoning'),
    rules: [
      knowsOnly(
        [
          'stream_options',
          'parallel_tool_calls',
          'reasoning_effort',
          'service_tier',
          'user',
          'top_p',
          'max_completion_tokens',
        ],
        (name) => `property '${name}' is unsupported`,
        'vellum-ai/vellum-assistant PR#42635',
      ),
      refusesInMessages(
        'reasoning_content',
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
        'QwenLM/qwen-code#11045',
      ),
      refuses(
        'reasoning_effort must be one of none or default',
        'earendil-works/pi#1745',
        (chat) => !['none', 'default', undefined].includes(chat['reasoning_effort'] as string | undefined),
      ),
      refuses(
        'json mode cannot be combined with tool/function calling',
        'vercel/ai PR#16540',
        (chat) => chat.response_format !== undefined && hasTools(chat),
      ),
    ],
    // console.groq.com/docs/reasoning
    isThinkingOff: isEffortNone,
    holds: 'all',
    impossible: ['Codex', 'deepagents'].map((client) => ({
      scenario: 'structured-output',
      client,
      source: 'it always offers tools; vercel/ai PR#16540',
    })),
  },
  // The state: earendil-works/pi#9645.
  'Azure Foundry, DeepSeek': {
    ...fromState('DeepSeek at Azure Foundry'),
    query: '?api-version=2024-05-01-preview',
    rules: [
      knowsOnly(
        ['stream_options', 'parallel_tool_calls', 'reasoning_effort', 'top_p', 'max_completion_tokens'],
        (name) => `Unrecognized request argument supplied: ${name}`,
        'vectorize-io/hindsight#3518, esengine/DeepSeek-Reasonix#1299',
      ),
      refuses(
        'tool_choice: Input should be a valid string',
        'langchain-ai/langchain#31512',
        ({ tool_choice: choice }) => typeof choice === 'object',
        422,
      ),
    ],
    isThinkingOff: () => false,
    holds: 'all',
    impossible: [{ scenario: 'thinking-off', source: 'anomalyco/models.dev PR#2220: its thinking is fixed' }],
  },
  'LM Studio': {
    dialect: 'lmstudio',
    toAnswer: inField('reasoning_content'),
    rules: [
      refuses(
        "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
        'lmstudio-ai/lmstudio-bug-tracker#670',
        ({ tool_choice: choice }) => typeof choice === 'object',
      ),
      refuses(
        "'response_format.type' must be 'json_schema' or 'text'",
        'lmstudio-ai/lmstudio-bug-tracker#189',
        ({ response_format: format }) => format?.type === 'json_object',
      ),
    ],
    toErrorBody: (error) => ({ error }),
    // It ignores chat_template_kwargs (lmstudio-ai/lmstudio-bug-tracker#1573) and reads the effort (ruby_llm-providers-lms).
    isThinkingOff: isEffortNone,
    holds: 'words',
    impossible: [],
  },
  'llama.cpp': {
    dialect: 'llamacpp',
    toAnswer: inField('reasoning_content'),
    rules: [refuses(`Jinja Exception: ${SYSTEM_IS_FIRST}`, 'nathaninline/ajean#26', isSystemLate, 500)],
    // tools/server/README.md
    isThinkingOff: isOffInTemplate,
    // ggml-org/llama.cpp#26535
    holds: 'words',
    impossible: [],
  },
  Ollama: {
    dialect: 'ollama',
    toAnswer: inField('reasoning'),
    rules: [
      refuses(
        'invalid reasoning value: \'minimal\' (must be "high", "medium", "low", "max", or "none")',
        'ollama/ollama PR#17141',
        (chat) => chat['reasoning_effort'] === 'minimal',
      ),
    ],
    isThinkingOff: isEffortNone,
    // ollama/ollama#17921
    holds: 'nothing',
    impossible: [],
  },
  'vLLM, Qwen3': {
    dialect: 'vllm',
    // White space between thoughts and calls: noonghunna/club-3090#145, QwenLM/Qwen3#1755.
    toAnswer(said, round) {
      const { message, deltas } = inField('reasoning')(said, round);
      return { message, deltas: said.tool_calls === undefined ? deltas : deltas.toSpliced(-1, 0, { content: '\n\n' }) };
    },
    rules: [refuses(SYSTEM_IS_FIRST, 'vllm-project/vllm#41114', isSystemLate)],
    // vllm-project/vllm#17356
    isThinkingOff: isOffInTemplate,
    holds: 'all',
    impossible: [],
  },
  // The state: BerriAI/litellm#29428.
  'LiteLLM, Claude': {
    ...fromState('Claude behind LiteLLM'),
    rules: [
      knowsOnly(
        ['stream_options', 'parallel_tool_calls', 'reasoning_effort', 'thinking', 'user', 'top_p', 'stop'],
        (name) => `litellm.UnsupportedParamsError: anthropic does not support parameters: ['${name}']`,
        'BerriAI/litellm#6456',
      ),
      refuses(
        "litellm.UnsupportedParamsError: Anthropic doesn't support tool calling without `tools=` param specified.",
        'camel-ai/owl#532',
        (chat) => !hasTools(chat) && chat.messages.some(({ tool_calls: calls }) => calls !== undefined),
      ),
      refuses(
        'Thinking may not be enabled when tool_choice forces tool use.',
        'BerriAI/litellm#8883',
        (chat) => isForced(chat) && !['none', undefined].includes(chat['reasoning_effort'] as string | undefined),
      ),
    ],
    // BerriAI/litellm-docs PR#67
    isThinkingOff: (chat) => isEffortNone(chat) || isForced(chat),
    holds: 'all',
    impossible: [],
  },
};

/** Plays such a backend. The model of a request is the name of its scenario. */
export function playBackend(backend: Backend): Script {
  return async ({ request, start, sse, end }) => {
    const chat = request.body as Chat;
    const refusal = refusalOf(chat, backend);
    if (refusal !== undefined) {
      const { words, status = 400 } = refusal;
      const { toErrorBody = (message: string) => ({ error: { message, type: 'invalid_request_error' } }) } = backend;
      start(status, { 'content-type': 'application/json' });
      end(JSON.stringify(toErrorBody(words)));
      return;
    }
    const round = toldBy(chat).length;
    await sendAnswer({ start, sse, end }, answerOf(chat, round, backend), chat['stream'] === true);
  };
}

function refusalOf(chat: Chat, { rules, ...backend }: Backend): { words: string; status?: number } | undefined {
  for (const { refusal, status } of [EACH_CALL_HAS_ITS_OUTPUT, ...rules]) {
    const words = refusal(chat);
    if (words !== undefined) return { words, ...(status !== undefined && { status }) };
  }
  for (const [round, { message, index }] of toldBy(chat).entries()) {
    const sent = answerOf(chat, round, { rules, ...backend }).message;
    const isTaken = backend.isThinkingOff(chat) || backend.takesInstead?.(message);
    const words = isTaken ? undefined : backend.complaint?.(message, sent, index);
    if (words !== undefined) return { words };
  }
  return undefined;
}

function toldBy({ messages }: Chat): { readonly message: AssistantMessage; readonly index: number }[] {
  return messages.flatMap((message, index) => (message.role === 'assistant' ? [{ message, index }] : []));
}

function answerOf(chat: Chat, round: number, backend: Backend): ReturnType<Backend['toAnswer']> {
  const said = saidIn(chat, round, backend);
  return backend.isThinkingOff(chat) ? { message: { ...said }, deltas: [{ ...said }] } : backend.toAnswer(said, round);
}

function saidIn(chat: Chat, round: number, backend: Backend): Said {
  if (!isScenario(chat.model)) throw new Error(`${chat.model} is no scenario`);
  const scenario: Scenario = SCENARIOS[chat.model];
  if (scenario.isStructured) return { content: isConstrained(chat) ? STRUCTURED : 'It is Bonn, I think.' };
  const tool = toolToCall(chat, backend.holds);
  const cities = scenario.calls[round];
  if (cities === undefined || tool === undefined) return { content: toText(chat, scenario, backend) };
  return { content: null, tool_calls: cities.map((city, index) => toCall(tool, { city, index, round })) };
}

function isConstrained({ response_format: format, messages }: Chat): boolean {
  if (format?.type === 'json_schema') return true;
  return format?.type === 'json_object' && JSON.stringify(messages).includes('city');
}

/** The tools of the clients run a command or look for a city; agents offer others, too. */
const ARGUMENTS: ReadonlySet<string> = new Set(['city', 'cmd', 'command']);

function toolToCall({ tools = [], tool_choice: choice }: Chat, holds: Backend['holds']): Tool | undefined {
  if (choice === 'none' && holds !== 'nothing') return undefined;
  const isNamed = typeof choice === 'object' && holds === 'all';
  return tools.find(({ function: { name, parameters } }) =>
    isNamed ? name === choice.function.name : parameters?.required?.some((required) => ARGUMENTS.has(required)),
  );
}

function toCall({ function: { name, parameters } }: Tool, { city, index, round }: CallPlace): Fields & { id: string } {
  const toArgument = (field: string): string =>
    field === 'city' ? city : ARGUMENTS.has(field) ? `echo Rain in ${city}` : 'Look.';
  const given = Object.fromEntries((parameters?.required ?? []).map((field) => [field, toArgument(field)]));
  return {
    index,
    id: `call_${round}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  };
}

interface CallPlace {
  readonly city: string;
  readonly index: number;
  readonly round: number;
}

/** Only who has been told all outputs, and thinks only where that was wanted, says the answer. */
function toText(chat: Chat, { calls, effort, toolChoice }: Scenario, { isThinkingOff }: Backend): string {
  const cities = toolChoice === 'none' ? [] : calls.flat();
  const outputs = chat.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  const isTold =
    cities.length === outputs.length && cities.every((city, at) => outputs[at]?.includes(`Rain in ${city}`));
  if (effort === 'none' && !isThinkingOff(chat)) return 'I have thought.';
  return isTold ? ANSWER : `I was told ${JSON.stringify(outputs)}.`;
}
