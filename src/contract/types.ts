// Made from schemas/*.json by `npm run types`. Not to be edited.

import type { CallId, ItemId, RequestId, ResponseId, UnknownItemType } from './ids.ts';

/**
 * What the backend answers on its own paths, as far as every backend has it. Its other fields are passed on too.
 */
export type ChatReplies = ChatCompletion | ChatCompletionChunk | Model | ModelList;
/**
 * The tokens that the backend counted.
 */
export type ChatUsage = {
  /**
   * Tokens of the input.
   */
  prompt_tokens?: number;
  /**
   * Tokens of the output.
   */
  completion_tokens?: number;
  /**
   * Both together.
   */
  total_tokens?: number;
  [k: string]: unknown;
} | null;
/**
 * @minItems 1
 * @maxItems 10000
 */
export type ResponseInput = string | InputItem[];
export type InputItem = KnownItem | UnknownItem;
/**
 * An item of a known type.
 */
export type KnownItem =
  | InputMessage
  | InputFunctionCall
  | InputFunctionCallOutput
  | InputReasoning
  | ItemReference
  | InputCustomToolCall
  | InputCustomToolCallOutput
  | InputToolSearchCall
  | InputToolSearchOutput
  | InputLocalShellCall
  | InputLocalShellCallOutput
  | InputShellCall
  | InputShellCallOutput
  | InputApplyPatchCall
  | InputApplyPatchCallOutput
  | AdditionalTools
  | InputCompaction
  | CompactionTrigger
  | InputAgentMessage
  | ConfigurationUpdate;
export type InputPart = InputText | InputRefusal | InputImage | InputFile | InputAudio | EncryptedPart;
export type ToolParam =
  FunctionTool | CustomTool | NamespaceTool | ToolSearchTool | LocalShellTool | ShellTool | ApplyPatchTool | HostedTool;
export type AgentMessagePart = InputText | InputImage | AgentPayload;
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
export type RequestedFormat = PlainTextFormat | JsonObjectFormat | JsonSchemaFormat;
export type WindowItem = KeptMessage | CompactionItem;
export type ToolChoice = 'none' | 'auto' | 'required' | FunctionChoice | CustomChoice | AllowedTools | HostedTool;
/**
 * Every event of a stream.
 */
export type ResponseEvent =
  | ResponseCreatedEvent
  | ResponseInProgressEvent
  | ResponseCompletedEvent
  | ResponseIncompleteEvent
  | ResponseFailedEvent
  | OutputItemAddedEvent
  | OutputItemDoneEvent
  | ContentPartAddedEvent
  | ContentPartDoneEvent
  | OutputTextDeltaEvent
  | OutputTextDoneEvent
  | AnnotationAddedEvent
  | RefusalDeltaEvent
  | RefusalDoneEvent
  | ReasoningTextDeltaEvent
  | ReasoningTextDoneEvent
  | SummaryPartAddedEvent
  | SummaryPartDoneEvent
  | SummaryTextDeltaEvent
  | SummaryTextDoneEvent
  | FunctionCallArgumentsDeltaEvent
  | FunctionCallArgumentsDoneEvent
  | ErrorEvent
  | CustomToolCallInputDeltaEvent
  | CustomToolCallInputDoneEvent;
export type OutputItem =
  | MessageItem
  | FunctionCallItem
  | ReasoningItem
  | CustomToolCallItem
  | ToolSearchCallItem
  | LocalShellCallItem
  | ShellCallItem
  | ApplyPatchCallItem
  | ImageGenerationCallItem
  | CompactionItem;
export type MessagePart = OutputText | Refusal;
export type ToolEcho = FunctionToolEcho | ClientToolEcho;
export type TextFormat = PlainTextFormat | JsonObjectFormat | JsonSchemaFormatEcho;
export type ContentPart = OutputText | Refusal | ReasoningText;

/**
 * The answer of the backend.
 */
export interface ChatCompletion {
  /**
   * The id that the backend gave it.
   */
  id?: string;
  /**
   * Usually `chat.completion`.
   */
  object?: string;
  /**
   * Unix time in seconds.
   */
  created?: number;
  /**
   * The model, as the backend calls it.
   */
  model?: string;
  /**
   * The answers, one for each of `n`.
   */
  choices: ChatChoice[];
  usage?: ChatUsage;
  [k: string]: unknown;
}
/**
 * One answer: `message` in a JSON reply, `delta` in a stream.
 */
export interface ChatChoice {
  /**
   * The place of the answer, from 0.
   */
  index?: number;
  message?: ChatMessage;
  delta?: ChatMessage;
  /**
   * Why the answer ended, such as `stop`, `length` or `tool_calls`; null before.
   */
  finish_reason?: string | null;
  [k: string]: unknown;
}
/**
 * What the model said, or a piece of it.
 */
export interface ChatMessage {
  /**
   * Usually `assistant`.
   */
  role?: string;
  /**
   * The text; null beside tool calls.
   */
  content?: string | null;
  /**
   * The calls of tools.
   */
  tool_calls?: {
    [k: string]: unknown;
  }[];
  [k: string]: unknown;
}
/**
 * One piece of the answer in a stream. The last `data:` line of a stream is `[DONE]`.
 */
export interface ChatCompletionChunk {
  /**
   * The id that the backend gave the answer.
   */
  id?: string;
  /**
   * Usually `chat.completion.chunk`.
   */
  object?: string;
  /**
   * Unix time in seconds.
   */
  created?: number;
  /**
   * The model, as the backend calls it.
   */
  model?: string;
  /**
   * What each answer gets; empty in the chunk with the usage.
   */
  choices?: ChatChoice[];
  usage?: ChatUsage;
  [k: string]: unknown;
}
/**
 * A model, as the backend describes it, with what the operator says of it.
 */
export interface Model {
  /**
   * The name to ask for.
   */
  id: string;
  /**
   * Usually `model`.
   */
  object?: string;
  /**
   * Unix time in seconds.
   */
  created?: number;
  /**
   * Who made it.
   */
  owned_by?: string;
  /**
   * Tokens of input and output together.
   */
  context_window?: number;
  /**
   * What the model takes, such as `text` and `image`.
   */
  input_modalities?: string[];
  /**
   * The efforts that the model knows.
   */
  reasoning_efforts?: string[];
  /**
   * The effort without a wish of the caller.
   */
  default_reasoning_effort?: string;
  /**
   * What this gateway charges, where it has prices; null for a model without a price. A dearer model that the answer names is charged at its own price.
   */
  price?: PriceOfModel | null;
  /**
   * Optional fields that the backend has refused for this model, which are left out.
   */
  refused_fields?: string[];
  [k: string]: unknown;
}
/**
 * The price of a million tokens, as decimal numbers in quotes.
 */
export interface PriceOfModel {
  /**
   * The name of the currency unit.
   */
  currency: string;
  /**
   * For input.
   */
  input: string;
  /**
   * For input that the backend read from its cache.
   */
  cached_input: string;
  /**
   * For input that the backend wrote to its cache.
   */
  cache_write: string;
  /**
   * For input that is audio, where it costs something else.
   */
  audio_input?: string;
  /**
   * For audio that the backend read from its cache, where it costs something else than other audio.
   */
  cached_audio_input?: string;
  /**
   * For output, thoughts included.
   */
  output: string;
  /**
   * For output that is audio, where it costs something else.
   */
  audio_output?: string;
  /**
   * The prices of service tiers and of long requests, where they differ.
   */
  tiers?: PriceTier[];
}
/**
 * It must have service_tier, above_tokens or both.
 */
export interface PriceTier {
  /**
   * The service tier, such as flex or priority, by the name that requests and answers give it; otherwise that of requests without one.
   */
  service_tier?: string;
  /**
   * The prices are those of all tokens of a request with more input than this.
   */
  above_tokens?: number;
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
}
/**
 * The models that the key may use. With `client_version`, as Codex asks, there is also `models`.
 */
export interface ModelList {
  /**
   * Usually `list`.
   */
  object?: string;
  /**
   * The models.
   */
  data: Model[];
  [k: string]: unknown;
}
/**
 * What POST /api/v1/responses/compact takes. A null anywhere in it means absent; unknown fields are ignored.
 */
export interface CompactResponse {
  /**
   * 1 to 256 printable characters.
   */
  model: string;
  input: ResponseInput;
  instructions?: string;
  reasoning?: ReasoningParam;
  service_tier?: string;
  prompt_cache_key?: string;
  previous_response_id?: string;
}
export interface InputMessage {
  type: 'message';
  role: 'user' | 'assistant' | 'system' | 'developer';
  /**
   * @maxItems 10000
   */
  content: string | InputPart[];
  id?: string;
  status?: string;
  /**
   * Accepted and not passed on: the chat format has no place for it.
   */
  phase?: string;
  /**
   * Calls are `function_call` items of their own here.
   *
   * @maxItems 0
   */
  tool_calls?: unknown[];
}
/**
 * Text in a message or a tool output. Clients replay assistant text as output_text.
 */
export interface InputText {
  type: 'input_text' | 'output_text' | 'text';
  text: string;
}
export interface InputRefusal {
  type: 'refusal';
  refusal: string;
}
export interface InputImage {
  type: 'input_image';
  image_url?: string;
  detail?: 'low' | 'high' | 'auto' | 'original';
  file_id?: string;
}
export interface InputFile {
  type: 'input_file';
  filename?: string;
  file_data?: string;
  file_url?: string;
  file_id?: string;
}
export interface InputAudio {
  type: 'input_audio';
  input_audio: {
    data: string;
    format: string;
  };
}
/**
 * What only the server that wrote it can read. It is left out, and named in the x-dropped-items header.
 */
export interface EncryptedPart {
  type: 'encrypted_content';
  encrypted_content?: string;
}
export interface InputFunctionCall {
  type: 'function_call';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  name: string;
  arguments: string;
  id?: string;
  status?: string;
  namespace?: string;
}
/**
 * Without a call_id it reaches the model as a user message.
 */
export interface InputFunctionCallOutput {
  type: 'function_call_output';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id?: string;
  /**
   * @maxItems 10000
   */
  output: string | InputPart[];
  /**
   * The name of the tool, for an output without a call_id.
   */
  name?: string;
  id?: string;
  status?: string;
}
export interface InputReasoning {
  type: 'reasoning';
  /**
   * Parts with a `text`, or texts. It is read where `content` says nothing. What cannot be read is left out.
   */
  summary?: unknown;
  /**
   * Parts with a `text`, or texts. What cannot be read is left out.
   */
  content?: unknown;
  encrypted_content?: string;
  id?: string;
  status?: string;
}
/**
 * A pointer to a stored item. Nothing is stored, so it is refused with a sentence that says what to send instead.
 */
export interface ItemReference {
  type: 'item_reference';
  id: string;
}
export interface InputCustomToolCall {
  type: 'custom_tool_call';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  name: string;
  namespace?: string;
  input: string;
  id?: string;
  status?: string;
}
export interface InputCustomToolCallOutput {
  type: 'custom_tool_call_output';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  /**
   * @maxItems 10000
   */
  output: string | InputPart[];
  id?: string;
  status?: string;
}
/**
 * Without a call_id the server did the search, and the item is left out.
 */
export interface InputToolSearchCall {
  type: 'tool_search_call';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id?: string;
  execution?: 'client' | 'server';
  arguments: unknown;
  id?: string;
  status?: string;
}
/**
 * The tools that a search found; they are offered from now on. Without a call_id the rest of the item is left out.
 */
export interface InputToolSearchOutput {
  type: 'tool_search_output';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id?: string;
  execution?: 'client' | 'server';
  /**
   * @maxItems 512
   */
  tools: ToolParam[];
  id?: string;
  status?: string;
}
export interface InputLocalShellCall {
  type: 'local_shell_call';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id?: string;
  action: InputLocalShellAction;
  id?: string;
  status?: string;
}
export interface InputLocalShellAction {
  type?: 'exec';
  command: string[];
  env?: Readonly<Record<string, string>>;
  working_directory?: string;
  timeout_ms?: number;
  user?: string;
}
/**
 * The call is named by call_id, or by id as the older form has it.
 */
export interface InputLocalShellCallOutput {
  type: 'local_shell_call_output';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id?: string;
  output: string;
  id?: string;
  status?: string;
}
export interface InputShellCall {
  type: 'shell_call';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  action: InputShellAction;
  id?: string;
  status?: string;
}
export interface InputShellAction {
  commands: string[];
  timeout_ms?: number;
  max_output_length?: number;
}
export interface InputShellCallOutput {
  type: 'shell_call_output';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  /**
   * @maxItems 10000
   */
  output: string | Readonly<Record<string, unknown>>[];
  id?: string;
  status?: string;
}
export interface InputApplyPatchCall {
  type: 'apply_patch_call';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  operation: PatchOperation;
  id?: string;
  status?: string;
}
export interface PatchOperation {
  type: 'create_file' | 'update_file' | 'delete_file';
  path: string;
  diff?: string;
}
export interface InputApplyPatchCallOutput {
  type: 'apply_patch_call_output';
  /**
   * The backend's id of the call. Some gateways carry a thought signature in it, so it can be long.
   */
  call_id: string;
  output?: string;
  id?: string;
  status?: string;
}
/**
 * Tools given as an item of the input.
 */
export interface AdditionalTools {
  type: 'additional_tools';
  role?: string;
  /**
   * @maxItems 512
   */
  tools: ToolParam[];
  id?: string;
  status?: string;
}
/**
 * The compaction of a longer history, which this gateway made for this caller. It replaces all items before it. One that cannot be read replaces nothing, and the model is told so.
 */
export interface InputCompaction {
  type: 'compaction';
  encrypted_content: string;
  id?: string;
  status?: string;
}
/**
 * Asks for a compaction of all items before it, instead of an answer. It must be the last item.
 */
export interface CompactionTrigger {
  type: 'compaction_trigger';
  id?: string;
  status?: string;
}
/**
 * A message from one agent of the client to another, such as the task of a sub-agent in Codex.
 */
export interface InputAgentMessage {
  type: 'agent_message';
  id?: string;
  author?: string;
  recipient?: string;
  content: AgentMessagePart[];
}
/**
 * The text that the model wrote for another agent. This gateway encrypts no arguments, so it comes back as plain text.
 */
export interface AgentPayload {
  type: 'encrypted_content';
  encrypted_content: string;
}
/**
 * Replaces the reasoning effort and the text format of the request. The last one wins.
 */
export interface ConfigurationUpdate {
  type: 'configuration_update';
  id?: string;
  reasoning?: {
    effort?: ReasoningEffort;
  };
  text?: TextParam;
}
export interface TextParam {
  format?: RequestedFormat;
  verbosity?: 'low' | 'medium' | 'high';
}
export interface PlainTextFormat {
  type: 'text';
}
export interface JsonObjectFormat {
  type: 'json_object';
}
export interface JsonSchemaFormat {
  type: 'json_schema';
  /**
   * 1 to 64 letters, digits, underscores and hyphens.
   */
  name?: string;
  description?: string;
  schema: Readonly<Record<string, unknown>>;
  strict?: boolean;
}
/**
 * An item of another type. The model is told in words of a call that another server executed, such as `web_search_call`. Any other is left out, and the x-dropped-items header names its type.
 */
export interface UnknownItem {
  type: UnknownItemType;
}
export interface ReasoningParam {
  effort?: ReasoningEffort;
  summary?: 'auto' | 'concise' | 'detailed';
  generate_summary?: 'auto' | 'concise' | 'detailed';
}
/**
 * The input that replaces a longer one. Send it back unchanged, as the beginning of the next input.
 */
export interface CompactionResource {
  id: ResponseId;
  object: 'response.compaction';
  created_at: number;
  output: WindowItem[];
  usage: Usage;
}
export interface KeptMessage {
  type: 'message';
  id: string;
  status: 'completed';
  role: 'user' | 'system' | 'developer';
  content: KeptText[];
}
export interface KeptText {
  type: 'input_text';
  text: string;
}
/**
 * Replaces the history before it. Send it back unchanged, instead of the items that it summarizes.
 */
export interface CompactionItem {
  type: 'compaction';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  status: 'in_progress' | 'completed' | 'incomplete';
  encrypted_content: string;
}
/**
 * Token counts as the backend reported them.
 */
export interface Usage {
  input_tokens: number;
  input_tokens_details: {
    /**
     * Input that the backend read from its cache.
     */
    cached_tokens: number;
    /**
     * Input that the backend wrote to its cache; none of the cached tokens.
     */
    cache_write_tokens: number;
  };
  output_tokens: number;
  output_tokens_details: {
    reasoning_tokens: number;
  };
  total_tokens: number;
}
/**
 * The fields of POST /v1/chat/completions that the gateway reads to count usage. The backend checks all others.
 */
export interface CreateChatCompletion {
  /**
   * 1 to 256 printable characters.
   */
  model: string;
  messages?: unknown;
  stream?: boolean | null;
  stream_options?: {
    include_usage?: boolean | null;
  } | null;
  n?: number | null;
  /**
   * Some clients write -1 for no limit. For a key with credits, a spend limit or tokens per minute, no limit means DEFAULT_MAX_OUTPUT_TOKENS, and all of a limit is reserved.
   */
  max_tokens?: number | null;
  /**
   * When both limits are given, the larger one counts.
   */
  max_completion_tokens?: number | null;
  service_tier?: unknown;
}
/**
 * What POST /api/v1/responses takes. A null anywhere in it means absent; unknown fields are ignored.
 */
export interface CreateResponse {
  /**
   * 1 to 256 printable characters.
   */
  model: string;
  input: ResponseInput;
  instructions?: string;
  /**
   * @maxItems 512
   */
  tools?: ToolParam[];
  tool_choice?: ToolChoice;
  parallel_tool_calls?: boolean;
  max_tool_calls?: number;
  text?: TextParam;
  reasoning?: ReasoningParam;
  temperature?: number;
  top_p?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  top_logprobs?: number;
  /**
   * For a key with credits, a spend limit or tokens per minute, all of it is reserved, and DEFAULT_MAX_OUTPUT_TOKENS is its default.
   */
  max_output_tokens?: number;
  /**
   * @maxItems 16
   *
   * Items: Values other than `reasoning.encrypted_content` and `message.output_text.logprobs` have no effect.
   */
  include?: string[];
  stream?: boolean;
  stream_options?: {
    /**
     * Has no effect: events are never padded.
     */
    include_obfuscation?: boolean;
  };
  store?: boolean;
  background?: boolean;
  truncation?: 'auto' | 'disabled';
  service_tier?: string;
  metadata?: Readonly<Record<string, string>>;
  user?: string;
  safety_identifier?: string;
  prompt_cache_key?: string;
  /**
   * @maxItems 16
   */
  context_management?: ContextManagement[];
  previous_response_id?: string;
  /**
   * Refused: nothing is stored.
   */
  conversation?: {
    [k: string]: unknown;
  };
  /**
   * Refused: nothing is stored.
   */
  prompt?: {
    [k: string]: unknown;
  };
}
/**
 * An entry of another type than `compaction`, or without a threshold, is ignored.
 */
export interface ContextManagement {
  type: string;
  /**
   * With the type `compaction`: the number of input tokens, as estimated, from which the history is compacted before the answer.
   */
  compact_threshold?: number;
}
/**
 * The body of every error reply.
 */
export interface ErrorReply {
  error: ErrorFields;
}
export interface ErrorFields {
  message: string;
  type: string;
  /**
   * Path of the field at fault, empty when there is none.
   */
  param: string;
  code: string;
}
export interface ResponseCreatedEvent {
  type: 'response.created';
  sequence_number: number;
  response: ResponseResource;
}
/**
 * The response object: all 31 fields of Open Responses, in every snapshot, and output_text.
 */
export interface ResponseResource {
  id: ResponseId;
  object: 'response';
  /**
   * Unix time, seconds.
   */
  created_at: number;
  completed_at: number | null;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  incomplete_details: {
    reason: 'max_output_tokens' | 'content_filter';
  } | null;
  /**
   * The model the client asked for.
   */
  model: string;
  /**
   * Over a WebSocket, the response that this one continues; null over HTTP.
   */
  previous_response_id: string | null;
  instructions: string | null;
  output: OutputItem[];
  /**
   * The concatenated text of the reply.
   */
  output_text: string;
  error: ResponseError | null;
  tools: ToolEcho[];
  tool_choice: ('none' | 'auto' | 'required') | FunctionToolChoice | ClientToolChoice | AllowedToolsEcho;
  truncation: 'auto' | 'disabled';
  parallel_tool_calls: boolean;
  text: {
    format: TextFormat;
    verbosity?: 'low' | 'medium' | 'high';
  };
  top_p: number;
  temperature: number;
  presence_penalty: number;
  frequency_penalty: number;
  top_logprobs: number;
  reasoning: {
    effort: string | null;
    summary: string | null;
  } | null;
  usage: Usage | null;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  store: false;
  background: false;
  service_tier: string;
  metadata: Readonly<Record<string, string>>;
  safety_identifier: string | null;
  prompt_cache_key: string | null;
}
export interface MessageItem {
  type: 'message';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  status: 'in_progress' | 'completed' | 'incomplete';
  role: 'assistant';
  content: MessagePart[];
}
export interface OutputText {
  type: 'output_text';
  text: string;
  annotations: UrlCitation[];
  logprobs: LogProb[];
}
export interface UrlCitation {
  type: 'url_citation';
  url: string;
  title: string;
  start_index: number;
  end_index: number;
}
export interface LogProb {
  token: string;
  logprob: number;
  bytes: number[];
  top_logprobs: TopLogProb[];
}
export interface TopLogProb {
  token: string;
  logprob: number;
  bytes: number[];
}
export interface Refusal {
  type: 'refusal';
  refusal: string;
}
export interface FunctionCallItem {
  type: 'function_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  /**
   * The backend's id of the call, which its output refers to.
   */
  call_id: CallId;
  name: string;
  arguments: string;
  status: 'in_progress' | 'completed' | 'incomplete';
  /**
   * The namespace of the tool, when it has one.
   */
  namespace?: string;
}
export interface ReasoningItem {
  type: 'reasoning';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  status: 'in_progress' | 'completed' | 'incomplete';
  summary: SummaryText[];
  content?: ReasoningText[];
  encrypted_content?: string;
}
export interface SummaryText {
  type: 'summary_text';
  text: string;
}
export interface ReasoningText {
  type: 'reasoning_text';
  text: string;
}
export interface CustomToolCallItem {
  type: 'custom_tool_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  /**
   * The backend's id of the call, which its output refers to.
   */
  call_id: CallId;
  name: string;
  namespace?: string;
  input: string;
  status: 'in_progress' | 'completed' | 'incomplete';
}
export interface ToolSearchCallItem {
  type: 'tool_search_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  /**
   * The backend's id of the call, which its output refers to.
   */
  call_id: CallId;
  execution: 'client';
  arguments: Readonly<Record<string, unknown>>;
  status: 'in_progress' | 'completed' | 'incomplete';
}
export interface LocalShellCallItem {
  type: 'local_shell_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  /**
   * The backend's id of the call, which its output refers to.
   */
  call_id: CallId;
  action: LocalShellAction;
  status: 'in_progress' | 'completed' | 'incomplete';
}
export interface LocalShellAction {
  type: 'exec';
  command: string[];
  env: Readonly<Record<string, string>>;
  working_directory?: string;
  timeout_ms?: number;
  user?: string;
}
export interface ShellCallItem {
  type: 'shell_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  /**
   * The backend's id of the call, which its output refers to.
   */
  call_id: CallId;
  action: ShellAction;
  /**
   * The client's own machine; shells elsewhere are hosted.
   */
  environment: {
    type: 'local';
  };
  status: 'in_progress' | 'completed' | 'incomplete';
}
export interface ShellAction {
  commands: string[];
  timeout_ms: number | null;
  max_output_length: number | null;
}
export interface ApplyPatchCallItem {
  type: 'apply_patch_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  /**
   * The backend's id of the call, which its output refers to.
   */
  call_id: CallId;
  operation: PatchOperation;
  status: 'in_progress' | 'completed' | 'incomplete';
}
/**
 * An image that the model made.
 */
export interface ImageGenerationCallItem {
  type: 'image_generation_call';
  /**
   * Id of an output item; never changes while the response exists.
   */
  id: ItemId;
  status: 'in_progress' | 'completed' | 'incomplete';
  /**
   * The image in base64.
   */
  result: string | null;
  /**
   * The subtype of the image's media type, such as png.
   */
  output_format?: string;
}
export interface ResponseError {
  code: string;
  message: string;
}
export interface FunctionToolEcho {
  type: 'function';
  name: string;
  description: string | null;
  parameters: Readonly<Record<string, unknown>> | null;
  strict: boolean | null;
}
/**
 * A tool of another kind that the client executes, as in the request.
 */
export interface ClientToolEcho {
  type: 'custom' | 'namespace' | 'tool_search' | 'local_shell' | 'shell' | 'apply_patch';
}
export interface FunctionToolChoice {
  type: 'function';
  name: string;
  namespace?: string;
}
export interface ClientToolChoice {
  type: 'custom' | 'tool_search' | 'local_shell' | 'shell' | 'apply_patch';
  name?: string;
  namespace?: string;
}
export interface AllowedToolsEcho {
  type: 'allowed_tools';
  mode: 'none' | 'auto' | 'required';
  tools: (FunctionToolChoice | ClientToolChoice)[];
}
export interface JsonSchemaFormatEcho {
  type: 'json_schema';
  name: string;
  description: string | null;
  schema: Readonly<Record<string, unknown>>;
  strict: boolean;
}
export interface ResponseInProgressEvent {
  type: 'response.in_progress';
  sequence_number: number;
  response: ResponseResource;
}
export interface ResponseCompletedEvent {
  type: 'response.completed';
  sequence_number: number;
  response: ResponseResource;
}
export interface ResponseIncompleteEvent {
  type: 'response.incomplete';
  sequence_number: number;
  response: ResponseResource;
}
export interface ResponseFailedEvent {
  type: 'response.failed';
  sequence_number: number;
  response: ResponseResource;
}
export interface OutputItemAddedEvent {
  type: 'response.output_item.added';
  sequence_number: number;
  output_index: number;
  item: OutputItem;
}
export interface OutputItemDoneEvent {
  type: 'response.output_item.done';
  sequence_number: number;
  output_index: number;
  item: OutputItem;
}
export interface ContentPartAddedEvent {
  type: 'response.content_part.added';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  part: ContentPart;
}
export interface ContentPartDoneEvent {
  type: 'response.content_part.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  part: ContentPart;
}
export interface OutputTextDeltaEvent {
  type: 'response.output_text.delta';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  delta: string;
  logprobs: LogProb[];
}
export interface OutputTextDoneEvent {
  type: 'response.output_text.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  text: string;
  logprobs: LogProb[];
}
export interface AnnotationAddedEvent {
  type: 'response.output_text.annotation.added';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  annotation_index: number;
  annotation: UrlCitation;
}
export interface RefusalDeltaEvent {
  type: 'response.refusal.delta';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  delta: string;
}
export interface RefusalDoneEvent {
  type: 'response.refusal.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  refusal: string;
}
export interface ReasoningTextDeltaEvent {
  type: 'response.reasoning_text.delta';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  delta: string;
}
export interface ReasoningTextDoneEvent {
  type: 'response.reasoning_text.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  content_index: number;
  text: string;
}
export interface SummaryPartAddedEvent {
  type: 'response.reasoning_summary_part.added';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  summary_index: number;
  part: SummaryText;
}
export interface SummaryPartDoneEvent {
  type: 'response.reasoning_summary_part.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  summary_index: number;
  part: SummaryText;
}
export interface SummaryTextDeltaEvent {
  type: 'response.reasoning_summary_text.delta';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  summary_index: number;
  delta: string;
}
export interface SummaryTextDoneEvent {
  type: 'response.reasoning_summary_text.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  summary_index: number;
  text: string;
}
export interface FunctionCallArgumentsDeltaEvent {
  type: 'response.function_call_arguments.delta';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  delta: string;
}
export interface FunctionCallArgumentsDoneEvent {
  type: 'response.function_call_arguments.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  name: string;
  arguments: string;
}
export interface ErrorEvent {
  type: 'error';
  sequence_number: number;
  code: string;
  message: string;
  param: string;
  error: ErrorFields;
}
export interface CustomToolCallInputDeltaEvent {
  type: 'response.custom_tool_call_input.delta';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  delta: string;
}
export interface CustomToolCallInputDoneEvent {
  type: 'response.custom_tool_call_input.done';
  sequence_number: number;
  /**
   * Id of an output item; never changes while the response exists.
   */
  item_id: ItemId;
  output_index: number;
  input: string;
}
/**
 * The number of input tokens of a request, by the backend's own count or by an estimate.
 */
export interface InputTokens {
  object: 'response.input_tokens';
  input_tokens: number;
  /**
   * How many tokens of input and output the model takes together, if the operator says so.
   */
  context_window?: number;
  /**
   * False when the backend has counted. Only it knows the vocabulary and the chat template of its model, so an estimate can differ.
   */
  estimated: boolean;
  /**
   * The vocabulary that counted the texts, or the arithmetic of bytes, which estimates long texts. Absent when the backend has counted.
   */
  estimated_by?: 'o200k_base' | 'cl100k_base' | 'arithmetic';
}
/**
 * A frame that asks for a response over a WebSocket: all fields of CreateResponse, and these. A null means absent.
 */
export interface WebSocketCreate {
  type: 'response.create';
  /**
   * false warms up: the model is not asked, and the next frame can continue from here.
   */
  generate?: boolean;
  /**
   * The latest response of this connection; input then holds only what is new.
   */
  previous_response_id?: string;
  /**
   * The counterpart of the Idempotency-Key header over HTTP: 1 to 255 printable ASCII characters.
   */
  idempotency_key?: string;
  /**
   * Not needed: every response comes as events.
   */
  stream?: true;
}
/**
 * The frame of an error: an error reply as over HTTP, and for a duplicate the record of the first request.
 */
export interface WebSocketError {
  type: 'error' | 'response.steer.failed';
  /**
   * The HTTP status.
   */
  status: number;
  error: ErrorFields;
  /**
   * The headers that the reply would have over HTTP, such as x-request-id and retry-after.
   */
  headers: Readonly<Record<string, string>>;
  request?: RequestRecord;
}
/**
 * The durable record of one request, as GET /api/v1/requests/{id} shows it. Holds no prompt and no completion.
 */
export interface RequestRecord {
  object: 'request';
  request_id: RequestId;
  response_id: ResponseId;
  status: 'processing' | 'succeeded' | 'failed' | 'cancelled';
  status_url: string;
  endpoint: string;
  model: string;
  stream: boolean;
  created_at: number;
  completed_at: number | null;
  /**
   * Milliseconds from acceptance to the end; null before.
   */
  duration_ms: number | null;
  cancel_requested_at: number | null;
  usage: Usage | null;
  usage_estimated: boolean;
  /**
   * In millionths of the currency of the price list; null without a price. A key pays less where it would owe more than the reservation of this request.
   */
  cost: number | null;
  /**
   * What the backend read from its prefix cache, and how the request goes on from the one before it in its conversation; null while the request runs, and where the backend has not told its usage.
   */
  cache: {
    /**
     * Part of the input tokens.
     */
    cached_tokens: number;
    /**
     * The part of the input tokens that they are, from 0 to 1.
     */
    share: number;
    /**
     * What they would have cost beyond their price, in millionths of the currency; null without a price.
     */
    saved: number | null;
    /**
     * Whether the prompt is that of the request before with more behind it; null where the gateway did not compare them.
     */
    turn: 'first' | 'extended' | 'broken' | null;
    /**
     * The first part that differs: `instructions`, `tools`, or a message such as `message 3 of 12`; null unless the turn is broken.
     */
    broken_at: string | null;
    /**
     * Who changed it: the client, the settings of the gateway (a model alias, a dialect, a field that the backend refuses), or the gateway itself, which would be a fault.
     */
    broken_by: 'client' | 'settings' | 'gateway' | null;
  } | null;
  /**
   * The backend of BACKENDS_FILE that was asked last. Callers see it only where that file has expose_upstream; null while the request runs, and where UPSTREAM_BASE_URL names the only backend.
   */
  upstream: string | null;
  incomplete_details: {
    reason: 'max_output_tokens' | 'content_filter';
  } | null;
  error: {
    code: string;
    message: string;
  } | null;
}
export interface FunctionTool {
  type: 'function';
  name: string;
  description?: string;
  parameters?: Readonly<Record<string, unknown>>;
  strict?: boolean;
}
export interface CustomTool {
  type: 'custom';
  name: string;
  description?: string;
  format?: CustomToolFormat;
}
export interface CustomToolFormat {
  type: 'text' | 'grammar';
  syntax?: string;
  definition?: string;
}
export interface NamespaceTool {
  type: 'namespace';
  name: string;
  description?: string;
  /**
   * @maxItems 512
   */
  tools: ToolParam[];
}
export interface ToolSearchTool {
  type: 'tool_search';
  execution?: 'client' | 'server';
  description?: string;
  parameters?: Readonly<Record<string, unknown>>;
}
export interface LocalShellTool {
  type: 'local_shell';
}
export interface ShellTool {
  type: 'shell';
  environment?: {
    type?: string;
  };
}
export interface ApplyPatchTool {
  type: 'apply_patch';
}
/**
 * A tool that a server would execute, or of an unknown type.
 */
export interface HostedTool {
  type: string;
}
export interface FunctionChoice {
  type: 'function';
  name: string;
  namespace?: string;
}
export interface CustomChoice {
  type: 'custom';
  name: string;
  namespace?: string;
}
export interface AllowedTools {
  type: 'allowed_tools';
  mode?: 'auto' | 'required';
  /**
   * @minItems 1
   * @maxItems 512
   */
  tools: NamedTool[];
}
export interface NamedTool {
  type: string;
  name?: string;
  namespace?: string;
}
