import type { DialectName } from '../core/dialects.ts';
import type { Finding } from './examine.ts';

type Name = Finding['name'];

export interface ClientFit {
  readonly client: string;
  /** Is `unclear` where what the client needs was not answered, and nothing that it needs is missing. */
  readonly works: 'yes' | 'partly' | 'unclear' | 'no';
  /** The questions whose answers speak against it, or are not clear. */
  readonly why: readonly Name[];
}

interface Client {
  readonly client: string;
  readonly needs: readonly Name[];
  /** The client works without these, but some of its features do not. */
  readonly uses: readonly Name[];
}

const CLIENTS: readonly Client[] = [
  { client: 'OpenAI SDK', needs: ['chat', 'stream'], uses: ['tools', 'second turn', 'json_schema'] },
  {
    client: 'Agents SDK',
    needs: ['chat', 'tools', 'second turn'],
    uses: ['stream', 'tool_choice required', 'json_schema'],
  },
  { client: 'AI SDK', needs: ['chat', 'stream'], uses: ['tools', 'second turn', 'json_schema'] },
  {
    client: 'LangChain',
    needs: ['chat'],
    uses: ['stream', 'tools', 'second turn', 'tool_choice required', 'json_schema'],
  },
  { client: 'Codex', needs: ['chat', 'stream', 'tools', 'second turn'], uses: [] },
];

export function judgeClients(findings: readonly Finding[]): readonly ClientFit[] {
  const results = new Map(findings.map(({ name, result }) => [name, result]));
  return CLIENTS.map(({ client, needs, uses }) => {
    const missing = needs.filter((name) => results.get(name) === 'no');
    if (missing.length > 0) return { client, works: 'no', why: missing };
    const unclear = needs.filter((name) => results.get(name) !== 'yes');
    const lacking = uses.filter((name) => results.get(name) === 'no');
    const works = unclear.length > 0 ? 'unclear' : lacking.length > 0 ? 'partly' : 'yes';
    return { client, works, why: [...unclear, ...lacking] };
  });
}

export function describeClients(fits: readonly ClientFit[]): string {
  return (['yes', 'partly', 'unclear', 'no'] as const)
    .flatMap((works) => {
      const names = fits
        .filter((fit) => fit.works === works)
        .map(({ client, why }) => (why.length === 0 ? client : `${client} (${why.join(', ')})`));
      return names.length === 0 ? [] : [`${WORDS[works]} ${names.join(', ')}.`];
    })
    .join(' ');
}

const WORDS = {
  yes: 'Works with',
  partly: 'Works, except for the part in parentheses, with',
  unclear: 'Not clear for',
  no: 'Does not work with',
} as const;

/** What a no means for a user of the gateway with the settings that are suggested. */
export const MEANING: Readonly<Record<Name, string>> = {
  models: 'Clients cannot list the models.',
  model: 'The name may be wrong; --model names another.',
  chat: 'Nothing works.',
  keys: 'Anyone who can reach the backend can use it, so let the gateway check keys.',
  stream: 'Text arrives all at once, or not at all.',
  'usage in streams': 'Streamed responses have no usage, and managed keys are charged by an estimate.',
  max_tokens: 'max_output_tokens goes out as max_completion_tokens.',
  max_completion_tokens: 'max_output_tokens goes out as max_tokens.',
  'developer role': 'The gateway sends such messages as system messages.',
  'system message later on': 'The gateway merges such messages into the first one.',
  'user messages in a row': 'The gateway merges them.',
  tools: 'Agents do not work with this model.',
  'parallel tools': 'Agents call one tool after the other.',
  'tool_choice required': 'A forced call may be missing from the answer.',
  'tool_choice named': 'The gateway offers the named tool alone.',
  'tool_choice none': 'The gateway does not pass such calls on.',
  'parallel_tool_calls false': 'The gateway passes on the first call alone.',
  json_schema: 'Structured output may not follow its schema.',
  json_object: 'JSON mode may answer in words.',
  reasoning: 'Clients see no thoughts.',
  images: 'Requests with images fail.',
  'second turn': 'Agents fail after their first call of a tool.',
  'optional fields':
    'The gateway asks again without those that a refusal names, and names them in x-ignored-parameters.',
  'prefix cache': 'The backend may compute the whole history of an agent again in each turn.',
  abort: 'A JSON request that is given up would go on, so the gateway asks for streams.',
};

const CACHE_SETTINGS: Readonly<Partial<Record<DialectName, string>>> = {
  // https://docs.vllm.ai/en/latest/serving/engine_args.html
  vllm: 'vLLM caches unless --no-enable-prefix-caching is set, and reports with --enable-prompt-tokens-details.',
  // https://docs.sglang.ai/advanced_features/server_arguments.html
  sglang: 'SGLang caches unless --disable-radix-cache is set, and reports with --enable-cache-report.',
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  llamacpp: 'llama.cpp caches and reports unless --no-cache-prompt is set. Each slot (--parallel) has its own prefix.',
};

/** Returns what a no means at a backend of this kind, and which of its settings helps. */
export function meaningAt(name: Name, dialect: DialectName): string {
  const settings = name === 'prefix cache' ? CACHE_SETTINGS[dialect] : undefined;
  return settings === undefined ? MEANING[name] : `${MEANING[name]} ${settings}`;
}
