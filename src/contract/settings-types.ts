// Made from schemas/*.json by `npm run types`. Not to be edited.

import type { ReasoningEffort, PriceTier } from './types.ts';

/**
 * When a request goes on to another backend before any output: safe where nothing can have run (no connection, 429, 503), any also after every other failure of a backend and after its share of FIRST_BYTE_TIMEOUT_MS, which may pay for a generation twice. Without it, safe.
 */
export type FailoverPolicy = 'safe' | 'any';
/**
 * Fields of a chat request. They do not replace fields that the gateway writes itself.
 */
export type ChatFields = Readonly<Record<string, unknown>>;
/**
 * Fields of a chat request. They do not replace fields that the gateway writes itself.
 */
export type ChatFields1 = Readonly<Record<string, unknown>>;
export type InputKind = 'text' | 'image' | 'audio' | 'file';
/**
 * What checks the key of the caller: the backend (passthrough), or the gateway, against API_KEYS (static) or the keys that it issues, with models, limits and credits (managed).
 */
export type AuthMode = 'passthrough' | 'static' | 'managed';
/**
 * What happens to tools that only a server can execute, such as web_search: drop leaves them out and names them in the x-dropped-tools header, reject refuses the request.
 */
export type HostedToolsPolicy = 'drop' | 'reject';
/**
 * What happens to items of the input that no model can use: keep leaves them out and names them in the x-dropped-items header, reject refuses the request.
 */
export type HistoryPolicy = 'keep' | 'reject';
/**
 * Which URLs of images, files and audio a request may have, since the backend fetches them: any, public hosts over https and data: URLs (https-public), or data: URLs alone (data). The network of the backend must stop a public name that leads to a private address.
 */
export type ImageUrlPolicy = 'any' | 'https-public' | 'data';
/**
 * How the reasoning of the backend is shown: as summary, as content, or hidden (sealed, if the backend takes it back).
 */
export type ReasoningOutput = 'summary' | 'content' | 'hidden';
/**
 * The least severe log lines that are written.
 */
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
/**
 * How log lines are written: pretty for people, json for programs; auto is pretty in a terminal, and json elsewhere and with NODE_ENV=production.
 */
export type LogFormat = 'auto' | 'json' | 'pretty';

/**
 * The content of BACKENDS_FILE: the chat completions backends behind this gateway, and what holds for all of them.
 */
export interface BackendList {
  /**
   * @minItems 1
   * @maxItems 256
   */
  backends: ListedBackend[];
  failover?: FailoverPolicy;
  /**
   * How long a request waits when all backends that have its model are at their max_concurrent, in milliseconds. Callers take turns. Without it, 2000.
   */
  queue_timeout_ms?: number;
  /**
   * Whether callers are told the name of the backend that answers, in the x-upstream header and in their records. Without it, they are not.
   */
  expose_upstream?: boolean;
}
/**
 * One backend.
 */
export interface ListedBackend {
  /**
   * The name in logs: lower-case letters, digits, dots and hyphens. Each name once.
   */
  name: string;
  /**
   * Its base URL, with its /v1.
   */
  base_url: string;
  /**
   * The kind of backend, as in UPSTREAM_DIALECT, which is the default.
   */
  dialect?: string;
  /**
   * The environment variable with the key that the gateway sends to it. Not with AUTH_MODE=passthrough.
   */
  api_key_env?: string;
  /**
   * A file with that key, in the place of api_key_env. It is read again while the gateway runs, so the key may change.
   */
  api_key_file?: string;
  /**
   * Further headers for each request to it, such as those of a gateway in front of it. In a value ${NAME} stands for a variable of the environment, and ${file:PATH} for the content of a file, which is read again while the gateway runs.
   */
  headers?: Readonly<Record<string, string>>;
  tls?: BackendTls;
  /**
   * The models that it has, by the names that it knows. In a name * matches any text. Without the list it gets every model.
   *
   * @minItems 1
   * @maxItems 1000
   */
  models?: string[];
  /**
   * Other names for its models. They are looked up after MODEL_ALIASES.
   */
  aliases?: Readonly<Record<string, string>>;
  /**
   * Its part of the conversations, compared with the others.
   */
  weight?: number;
  /**
   * How many requests this gateway sends to it at a time. Without it there is no limit.
   */
  max_concurrent?: number;
  /**
   * How long a connection may take, in the place of CONNECT_TIMEOUT_MS.
   */
  connect_timeout_ms?: number;
  /**
   * How long its answer may take to begin, in the place of FIRST_BYTE_TIMEOUT_MS.
   */
  first_byte_timeout_ms?: number;
  /**
   * How long it may be silent within an answer, in the place of IDLE_TIMEOUT_MS.
   */
  idle_timeout_ms?: number;
}
/**
 * The certificates for its https:// address, as files in PEM format. Changed files hold for new connections.
 */
export interface BackendTls {
  /**
   * The authorities whose certificates it may have, in the place of the public ones.
   */
  ca_file?: string;
  /**
   * The certificate that the gateway shows to it, with tls.key_file.
   */
  cert_file?: string;
  /**
   * The private key of tls.cert_file.
   */
  key_file?: string;
}
/**
 * The content of DIALECTS_FILE: the operator's own kinds of backends by name, for UPSTREAM_DIALECT.
 */
export interface OwnDialects {
  [k: string]: OwnDialect;
}
/**
 * A built-in kind of backend, with differences.
 */
export interface OwnDialect {
  /**
   * The built-in kind that it is based on.
   */
  extends:
    | 'generic'
    | 'openai'
    | 'azure'
    | 'vllm'
    | 'sglang'
    | 'llamacpp'
    | 'ollama'
    | 'lmstudio'
    | 'deepseek'
    | 'moonshot'
    | 'google'
    | 'mistral'
    | 'groq'
    | 'openrouter'
    | 'together';
  /**
   * The header that carries the key: as a bearer in authorization, or alone in api-key or x-api-key.
   */
  keyHeader?: 'authorization' | 'api-key' | 'x-api-key';
  /**
   * The role under which developer and system text is sent.
   */
  systemRole?: 'developer' | 'system' | 'as-given';
  /**
   * Where developer and system text stands. With merged-first, what comes before everything else is one message, and what comes later is a user message in its place that says whose it is.
   */
  systemPlace?: 'merged-first' | 'in-place';
  /**
   * Whether consecutive user messages are merged.
   */
  userMessages?: 'merged' | 'as-given';
  /**
   * The message that must come between the outputs of tools and a user message.
   */
  afterOutputs?: 'nothing' | 'assistant';
  /**
   * Whether the backend is asked for a stream only where the caller wants one, or always, since it stops generating only for streams.
   */
  streams?: 'as-asked' | 'always';
  /**
   * The field for max_output_tokens.
   */
  tokenLimitField?: 'max_tokens' | 'max_completion_tokens';
  /**
   * Whether stream_options may be sent.
   */
  streamOptions?: boolean;
  /**
   * Whether the backend pads the chunks of a stream, unless stream_options.include_obfuscation is false.
   */
  padsChunks?: boolean;
  /**
   * The field of an assistant message that takes the reasoning of its turn back, unless a sealed state names another field; as-sent when only a sealed state names it; as-used for reasoning_content, or the field that the model has used before, in which the reasoning of others goes only then; null when there is none.
   */
  reasoningField?:
    'reasoning_content' | 'reasoning' | 'reasoning_text' | 'thinking-part' | 'as-sent' | 'as-used' | null;
  /**
   * Whether an assistant message without reasoning must have that field too: with true each has it, with an empty text; with calls one that has tool calls, with a space.
   */
  reasoningAlways?: true | false | 'calls';
  /**
   * The reasoning efforts that the backend knows, apart from none. Others are rounded down. Null when every effort is passed on.
   *
   * @minItems 1
   * @maxItems 7
   */
  efforts?: ReasoningEffort[] | null;
  /**
   * Chat fields that replace reasoning_effort, for the efforts that are named here.
   */
  effortFields?: {
    none?: ChatFields;
    minimal?: ChatFields;
    low?: ChatFields;
    medium?: ChatFields;
    high?: ChatFields;
    xhigh?: ChatFields;
    max?: ChatFields;
  };
  forcedCallFields?: ChatFields1;
  /**
   * Whether a block in <think>, [THINK], <seed:think> or ◁think▷ at the beginning of the text is reasoning. Blocks in the tags of models that are known by name always are. With opened, the chat template has written the <think>, so that the text begins in the block.
   */
  thinkTags?: true | false | 'opened';
  /**
   * Whether an assistant message has a refusal field.
   */
  refusalField?: boolean;
  foreignCallState?: CallFields;
  /**
   * The format of tool call ids.
   */
  callIds?: 'any' | 'up-to-40' | 'nine-alphanumeric';
  /**
   * Whether a function may be strict.
   */
  strictTools?: boolean;
  /**
   * What the backend knows of tool_choice: a list of allowed tools and a named one, only a named one, only the words none, auto and required, or nothing. A backend that does not hold a choice is offered only the tools that may be called.
   */
  toolChoice?: 'allowed' | 'named' | 'words' | 'ignored';
  /**
   * The types of response_format that the backend knows. One that knows only json_object gets a JSON Schema in the system text, and one that knows only json_schema gets the schema of any object for json_object.
   */
  schemaForm?: 'both' | 'json_schema' | 'json_object';
  /**
   * Other names of service tiers, by the name in the request.
   */
  serviceTiers?: Readonly<Record<string, string>>;
  /**
   * Whether the backend takes images by URL, or only as data.
   */
  imageForm?: 'data-or-url' | 'data';
  /**
   * How files are sent: in a file part with their data (or their URL in its place), in a document_url part, or not at all.
   */
  fileForm?: 'data' | 'data-or-url' | 'document-url' | 'none';
  /**
   * How audio is sent: in an input_audio part as an object or as text, or in an audio_url part.
   */
  audioForm?: 'object' | 'text' | 'url';
  /**
   * Where the backend counts the input tokens of a chat request: the path from the base URL, and the field of its answer. Null when it does not.
   */
  inputCounter?: {
    path: string;
    field: string;
  } | null;
  /**
   * The optional chat fields that are passed on.
   *
   * @maxItems 6
   */
  optionalFields?: (
    'reasoning_effort' | 'verbosity' | 'service_tier' | 'prompt_cache_key' | 'safety_identifier' | 'user'
  )[];
  /**
   * The parameters beyond the Responses format that are passed on as they are, such as top_k. Never what the gateway writes itself, and never another model or several answers.
   *
   * @maxItems 100
   */
  parameters?: string[];
  /**
   * As parameters, but not for keys with funds or limits: what makes the model read or write more than is reserved, costs extra or names another model, such as modalities.
   *
   * @maxItems 100
   */
  unboundedParameters?: string[];
}
/**
 * Fields for the first tool call of an assistant message that has no state of this backend, because another model made it.
 */
export interface CallFields {
  extra_content?: ChatFields;
}
/**
 * The content of MODELS_FILE: what the operator says of each model.
 */
export interface ModelTable {
  /**
   * The settings by model name, or by a pattern in which * matches any text.
   */
  models: {
    [k: string]: ModelSettings;
  };
}
export interface ModelSettings {
  defaults?: ModelParameters;
  overrides?: ModelParameters;
  /**
   * How many tokens of input and output the model takes together.
   */
  context_window?: number;
  /**
   * The kinds of input that the model takes.
   *
   * @minItems 1
   */
  input?: InputKind[];
  media?: ModelMedia;
  /**
   * The reasoning efforts that the model knows, the lowest first. Other efforts of a request are rounded down to one of them.
   *
   * @minItems 1
   */
  efforts?: ReasoningEffort[];
}
/**
 * Parameters of the Responses format, and those that the dialect lists beyond it, such as top_k. Defaults are for requests that leave them out, and overrides replace what a request says.
 */
export interface ModelParameters {
  temperature?: number;
  top_p?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  /**
   * For a key with credits, a spend limit or tokens per minute, all of it is reserved, and DEFAULT_MAX_OUTPUT_TOKENS is its default.
   */
  max_output_tokens?: number;
  max_tool_calls?: number;
  parallel_tool_calls?: boolean;
  reasoning?: {
    effort?: ReasoningEffort;
    summary?: 'auto' | 'concise' | 'detailed';
  };
  service_tier?: 'auto' | 'default' | 'flex';
  text?: {
    verbosity?: 'low' | 'medium' | 'high';
  };
}
/**
 * How many tokens of input a medium of each kind counts at most. Keys with credits, a spend limit or tokens per minute can send no other kinds.
 */
export interface ModelMedia {
  image?: MediumTokens;
  audio?: MediumTokens;
  video?: MediumTokens;
  file?: MediumTokens;
}
export interface MediumTokens {
  /**
   * The tokens of one unit: a tile of an image (the whole image without unit_pixels), a second of audio or video, a page of a file.
   */
  unit_tokens: number;
  /**
   * The most units that one medium has for the backend. They count where nobody can see how many there are: by URL, in a file or a film. Without it such a medium is refused.
   */
  max_units?: number;
  /**
   * The tokens that each medium counts beside its units.
   */
  base_tokens?: number;
  /**
   * The width and height of a tile of an image.
   */
  unit_pixels?: number;
  /**
   * The tokens of an image that is sent with the detail low.
   */
  low_detail_tokens?: number;
}
/**
 * The content of PRICES_FILE: the price of each model, in the currency unit per million tokens. Prices are strings, because a JSON number is a float.
 */
export interface PriceTable {
  /**
   * The name of the currency unit.
   */
  currency: string;
  /**
   * The time zone of the days, weeks and months of spend limits, UTC by default. A change takes effect at the next start.
   */
  time_zone?: string;
  /**
   * The prices by model name, or by a pattern in which * matches any text.
   */
  models: {
    [k: string]: ModelPrice;
  };
}
/**
 * The price of a million tokens.
 */
export interface ModelPrice {
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  input: string;
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  cached_input?: string;
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  cache_write?: string;
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  audio_input?: string;
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  cached_audio_input?: string;
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  output: string;
  /**
   * A decimal number in quotes, with at most 9 digits before the point and 12 behind it.
   */
  audio_output?: string;
  /**
   * Other prices of the model: those of a service tier, those of long requests, or both.
   *
   * @maxItems 32
   */
  tiers?: PriceTier[];
}
/**
 * The environment after each text is read as the type stated here and the defaults are filled in. Required settings have a default.
 */
export interface Settings {
  /**
   * The address to listen on, which other machines can reach unless it is a loopback address.
   */
  HOST: string;
  /**
   * The TCP port to listen on; 0 takes any free one.
   */
  PORT: number;
  /**
   * The address under which clients reach the gateway, for the links in its replies. Without it they use the address of the request.
   */
  PUBLIC_BASE_URL?: string;
  /**
   * Names in the Host header that are served beside the local ones while HOST is a loopback address and neither PUBLIC_BASE_URL nor TRUST_PROXY is set, separated by commas. Others could come from web pages (DNS rebinding).
   *
   * @maxItems 1000
   */
  ALLOWED_HOSTS: string[];
  /**
   * The proxies in front whose word counts for the address and the host of the caller: their number, or their addresses and subnets, separated by commas (also loopback, linklocal and uniquelocal). 0 trusts none.
   */
  TRUST_PROXY: string;
  /**
   * The origins of web pages that may call the gateway, separated by commas. * allows all. Browsers send no cookies with such calls.
   *
   * @maxItems 1000
   */
  CORS_ORIGINS: string[];
  /**
   * The base URL of the chat completions backend, with its /v1. Without it a demo backend answers, on loopback only.
   */
  UPSTREAM_BASE_URL?: string;
  /**
   * The key that the gateway sends to the backend. Refused with AUTH_MODE=passthrough, where it would let every stranger in. UPSTREAM_API_KEY_FILE is read again while the gateway runs.
   */
  UPSTREAM_API_KEY?: string;
  /**
   * Further headers for each request to the backend, as a JSON object. In a value ${NAME} is a variable of the environment, and ${file:PATH} the content of a file, which is read again while the gateway runs.
   */
  UPSTREAM_HEADERS?: Readonly<Record<string, string>>;
  /**
   * The kind of backend: one of generic, openai, azure, vllm, sglang, llamacpp, ollama, lmstudio, deepseek, moonshot, google, mistral, groq, openrouter, together, or one that DIALECTS_FILE describes. Kinds differ in the name of the token limit, the field for reasoning and the order of messages.
   */
  UPSTREAM_DIALECT: string;
  /**
   * A JSON file with several backends, instead of UPSTREAM_BASE_URL: see the guide on backends. SIGHUP reads it again.
   */
  BACKENDS_FILE?: string;
  /**
   * A JSON file with your own kinds of backends, each of which extends a built-in kind.
   */
  DIALECTS_FILE?: string;
  /**
   * Other names for models, as a JSON object, on both endpoints and in /models.
   */
  MODEL_ALIASES: Readonly<Record<string, string>>;
  /**
   * A JSON file with defaults and overrides of parameters for each model, what it takes and how many tokens its media count: see the guide on backends. SIGHUP reads it again.
   */
  MODELS_FILE?: string;
  /**
   * The model that the docs, the landing page and the console recommend. It never replaces a missing `model`.
   */
  DEFAULT_MODEL_ID?: string;
  /**
   * Paths that are passed on to the backend unchanged, with everything below them, separated by commas.
   *
   * @maxItems 64
   */
  PASSTHROUGH_PATHS: string[];
  AUTH_MODE: AuthMode;
  /**
   * The keys that AUTH_MODE=static accepts, separated by commas or white space. A line of API_KEYS_FILE that begins with # is a comment. SIGHUP reads that file again.
   *
   * @maxItems 10000
   */
  API_KEYS: string[];
  /**
   * The bearer token of the admin API at /admin/v1 and of the operator's console, which exist only with it. At least 16 characters.
   */
  ADMIN_TOKEN?: string;
  /**
   * A JSON file with the prices of the models: see the guide on managed keys. SIGHUP reads it again.
   */
  PRICES_FILE?: string;
  /**
   * How many tokens of output are reserved for a request that names no limit. For keys with credits, a spend limit or tokens per minute the backend gets this limit, which cuts off longer answers.
   */
  DEFAULT_MAX_OUTPUT_TOKENS: number;
  /**
   * The status of the reply to a repeated Idempotency-Key. With 409 SDKs throw an error. With 200 or 202 they take the record for a response without text.
   */
  DUPLICATE_STATUS: 409 | 200 | 202;
  /**
   * The database for records, keys and ledgers: file: and a path, :memory: for as long as the process lives, or postgres:// and a server, which several gateways can share.
   */
  DATABASE_URL: string;
  /**
   * The number of processes that share the port. More than one per core does not help.
   */
  WORKERS: number;
  /**
   * The secret that hashes keys and bodies, and seals reasoning. At least 16 characters. Without it the gateway makes one and keeps it beside the database; PostgreSQL needs it, the same for all gateways. A start with another secret than that of the database is refused.
   */
  GATEWAY_SECRET?: string;
  /**
   * The former secret, while you change it, so that older records and seals can still be read. If several gateways share a database, first set the next secret here on all of them.
   */
  GATEWAY_SECRET_PREVIOUS?: string;
  /**
   * How long a record is kept after its request has ended.
   */
  RECORD_RETENTION_DAYS: number;
  /**
   * How long requests are still taken after SIGTERM, while /readyz is 503. Set it to what a load balancer needs to notice, such as 5000.
   */
  DRAIN_DELAY_MS: number;
  /**
   * How long running requests may go on after SIGTERM and DRAIN_DELAY_MS.
   */
  DRAIN_TIMEOUT_MS: number;
  HOSTED_TOOLS: HostedToolsPolicy;
  HISTORY: HistoryPolicy;
  IMAGE_URLS: ImageUrlPolicy;
  REASONING_OUTPUT: ReasoningOutput;
  /**
   * The model that writes the summaries of compactions, by the name that callers use, instead of the model of the request.
   */
  COMPACTION_MODEL?: string;
  /**
   * How long this process remembers a response and its items, for clients that continue it by previous_response_id or item_reference. They are in memory only, each for its own caller. It needs WORKERS=1.
   */
  ITEM_MEMORY_TTL_S: number;
  /**
   * The largest request body after decompression.
   */
  MAX_BODY_BYTES: number;
  /**
   * The most bytes of the bodies of all running requests together, after decompression, with the answers of clients that do not read. A request beyond it gets 503 server_overloaded.
   */
  MAX_BODY_BYTES_IN_FLIGHT: number;
  /**
   * The most requests that may run at once, three quarters of them of one caller. A request beyond it gets 503 server_overloaded, or 429 concurrency_limit_exceeded.
   */
  MAX_CONCURRENT_REQUESTS: number;
  /**
   * The most that one caller may have of what all callers share (requests at once, bytes of bodies, WebSockets), in percent: see the guide on guarantees and limits.
   */
  CALLER_SHARE: number;
  /**
   * The most WebSockets that may be open at once. A handshake beyond it gets 503 with Retry-After.
   */
  MAX_WEBSOCKETS: number;
  /**
   * How long a connection to the backend may take.
   */
  CONNECT_TIMEOUT_MS: number;
  /**
   * How long the backend may take to begin its answer.
   */
  FIRST_BYTE_TIMEOUT_MS: number;
  /**
   * How long the backend may be silent in the middle of its answer.
   */
  IDLE_TIMEOUT_MS: number;
  LOG_LEVEL: LogLevel;
  LOG_FORMAT: LogFormat;
  /**
   * The bearer token of /metrics. At least 16 characters. Without it, metrics are served on METRICS_PORT only.
   */
  METRICS_TOKEN?: string;
  /**
   * A TCP port that serves /metrics, which is then not served beside the API: on HOST with METRICS_TOKEN, on 127.0.0.1 without it. 0 takes any free port.
   */
  METRICS_PORT?: number;
  /**
   * Where alerts are posted: https:// anywhere, or http:// to a private address. See the guide on operation.
   */
  ALERT_WEBHOOK_URL?: string;
  /**
   * The secret that signs alerts: whsec_ and at least 24 random bytes in base64. Required with ALERT_WEBHOOK_URL.
   */
  ALERT_WEBHOOK_SECRET?: string;
  /**
   * The kind of environment. With production only the command demo starts the demo backend.
   */
  NODE_ENV?: string;
}
