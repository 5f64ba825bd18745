import type {
  ClientToolChoice,
  CreateResponse,
  FunctionToolChoice,
  RequestedFormat,
  ResponseResource,
  TextFormat,
} from '../../contract/types.ts';
import { toResponseId, type UniquePart } from '../ids.ts';
import { DEFAULT_SCHEMA_NAME } from '../request/request.ts';
import type { ToolRef } from '../request/tool-names.ts';
import { isAllowedTools, toChosenTool } from '../request/tool-choice.ts';
import type { EchoedTools } from '../request/tools.ts';

/** The input of a request is not echoed, and may be large. */
export type RequestWithoutInput = Omit<CreateResponse, 'input'>;

export interface ResponseOrigin {
  readonly unique: UniquePart;
  readonly createdAtS: number;
  readonly previousResponseId?: string | null;
}

/** Returns the response before the first chunk: an echo of the request with its defaults. */
export function initialResponse(
  request: RequestWithoutInput,
  tools: EchoedTools,
  { unique, createdAtS, previousResponseId = null }: ResponseOrigin,
): ResponseResource {
  return {
    id: toResponseId(unique),
    object: 'response',
    created_at: createdAtS,
    completed_at: null,
    status: 'in_progress',
    incomplete_details: null,
    model: request.model,
    previous_response_id: previousResponseId,
    output: [],
    output_text: '',
    error: null,
    truncation: request.truncation ?? 'disabled',
    // With at most one call no calls are parallel.
    parallel_tool_calls: request.max_tool_calls !== 1 && (request.parallel_tool_calls ?? true),
    top_p: request.top_p ?? 1,
    temperature: request.temperature ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    usage: null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    // Responses are never stored, whatever the request says.
    store: false,
    background: false,
    // The backend reports the tier that it used, which may differ from the requested one.
    service_tier: 'default',
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    // Last, where the bytes of a large one can follow.
    ...echoOf(request, tools),
  };
}

/** The fields of a response that repeat the request and may be as large as it is. */
export type Echo = Pick<ResponseResource, 'instructions' | 'tools' | 'tool_choice' | 'text' | 'reasoning' | 'metadata'>;

export function echoOf(request: RequestWithoutInput, tools: EchoedTools): Echo {
  return {
    instructions: request.instructions ?? null,
    tools: [...tools.echo],
    tool_choice: toToolChoiceEcho(request.tool_choice),
    text: toTextEcho(request.text),
    reasoning: toReasoningEcho(request.reasoning),
    metadata: request.metadata ?? {},
  };
}

/** Returns the response without its echo, and the echo. */
export function splitEcho(response: ResponseResource): {
  readonly rest: Omit<ResponseResource, keyof Echo>;
  readonly echo: Echo;
} {
  const { instructions, tools, tool_choice: choice, text, reasoning, metadata, ...rest } = response;
  return { rest, echo: { instructions, tools, tool_choice: choice, text, reasoning, metadata } };
}

/** Hosted tools were not offered, so the echo leaves them out. */
function toToolChoiceEcho(choice: CreateResponse['tool_choice']): ResponseResource['tool_choice'] {
  if (choice === undefined) return 'auto';
  if (typeof choice === 'string') return choice;
  if (isAllowedTools(choice)) {
    const tools = choice.tools.map(toChosenTool).filter((tool) => tool !== undefined);
    return { type: 'allowed_tools', mode: choice.mode ?? 'auto', tools: tools.map(toChoiceEcho) };
  }
  const tool = toChosenTool(choice);
  return tool === undefined ? 'auto' : toChoiceEcho(tool);
}

function toChoiceEcho(tool: ToolRef): FunctionToolChoice | ClientToolChoice {
  if (!('name' in tool)) return { type: tool.kind };
  const { kind, ...name } = tool;
  return kind === 'function' ? { type: kind, ...name } : { type: kind, ...name };
}

function toTextEcho(text: CreateResponse['text']): ResponseResource['text'] {
  return {
    format: text?.format === undefined ? { type: 'text' } : toFormatEcho(text.format),
    ...(text?.verbosity !== undefined && { verbosity: text.verbosity }),
  };
}

function toFormatEcho(format: RequestedFormat): TextFormat {
  if (format.type !== 'json_schema') return { type: format.type };
  return {
    type: 'json_schema',
    name: format.name ?? DEFAULT_SCHEMA_NAME,
    description: format.description ?? null,
    schema: format.schema,
    strict: format.strict ?? false,
  };
}

function toReasoningEcho(reasoning: CreateResponse['reasoning']): ResponseResource['reasoning'] {
  if (reasoning === undefined) return null;
  return { effort: reasoning.effort ?? null, summary: reasoning.summary ?? reasoning.generate_summary ?? null };
}
