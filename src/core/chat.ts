/** A chunk, or a whole completion in that form. Every field is unknown until it is checked. */
export type ChatChunk = Readonly<Record<string, unknown>>;

/** `done` is set when `[DONE]` came with these chunks of one read. */
export interface ChatBatch {
  readonly chunks: readonly ChatChunk[];
  readonly done: boolean;
}

export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'input_audio'; readonly input_audio: string | { readonly data: string; readonly format: string } }
  | { readonly type: 'audio_url'; readonly audio_url: { readonly url: string } }
  | { readonly type: 'file'; readonly file: { readonly filename?: string; readonly file_data: string } }
  | { readonly type: 'document_url'; readonly document_url: string };

export type ChatAssistantPart =
  | { readonly type: 'thinking'; readonly thinking: readonly { readonly type: 'text'; readonly text: string }[] }
  | { readonly type: 'text'; readonly text: string };

/** A backend attached this state and gets it back unchanged (see reply-state.ts). */
export interface CallState {
  readonly extra_content?: ChatChunk;
  readonly provider_specific_fields?: ChatChunk;
}

export interface MessageState extends CallState {
  readonly reasoning_details?: readonly unknown[];
  readonly thinking_blocks?: readonly unknown[];
  readonly reasoning_items?: readonly unknown[];
  readonly reasoning_opaque?: string;
}

export interface ChatToolCall extends CallState {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export type ChatMessage =
  | { readonly role: 'system' | 'developer'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ChatPart[] }
  | ChatAssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/** The field is the one in which the reasoning came, or the one of the dialect. */
export interface ThoughtsField {
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  readonly reasoning_text?: string;
}

export interface ChatAssistantMessage extends MessageState, ThoughtsField {
  readonly role: 'assistant';
  readonly content: string | null | readonly ChatAssistantPart[];
  readonly tool_calls?: readonly ChatToolCall[];
  readonly refusal?: string;
}

export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly strict?: boolean;
  };
}

export type ChatToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | NamedTool
  | {
      readonly type: 'allowed_tools';
      readonly allowed_tools: { readonly mode: 'auto' | 'required'; readonly tools: readonly NamedTool[] };
    };

export interface NamedTool {
  readonly type: 'function';
  readonly function: { readonly name: string };
}

/** A field that is not listed reaches a backend only through the fields that its dialect adds. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage: boolean; readonly include_obfuscation?: false };
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: Readonly<Record<string, unknown>>;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly presence_penalty?: number;
  readonly frequency_penalty?: number;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly reasoning_effort?: string;
  readonly reasoning?: unknown;
  readonly thinking?: unknown;
  readonly chat_template_kwargs?: unknown;
  readonly verbosity?: string;
  readonly service_tier?: string;
  readonly prompt_cache_key?: string;
  readonly safety_identifier?: string;
  readonly user?: string;
}

/** Keeps connections to the backend. */
export interface Connected {
  connections(): { readonly busy: number; readonly idle: number };
}
