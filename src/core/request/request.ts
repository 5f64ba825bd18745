import type {
  CreateResponse,
  InputCustomToolCallOutput,
  InputFunctionCallOutput,
  InputItem,
  ReasoningEffort,
  RequestedFormat,
} from '../../contract/types.ts';
import type { HistoryPolicy, HostedToolsPolicy } from '../../contract/settings-types.ts';
import type { ChatMessage, ChatRequest, ChatTool } from '../chat.ts';
import type { PartForms, UrlFault } from './parts.ts';
import type { Dialect } from '../dialects.ts';
import { ApiError } from '../errors.ts';
import { toPiece, type ItemContext, type OpenSeal, type Piece } from './items.ts';
import { planTools, type ToolPlan } from './tools.ts';
import { roundEffort } from './efforts.ts';
import { toParameters, type Parameters } from './parameters.ts';
import { toMessages } from './turns.ts';
import type { UsedFields } from './used-fields.ts';
import { compactThresholdOf, inForceOf, keptLengthFor } from './kept-input.ts';

export interface Translation {
  readonly chat: ChatRequest;
  readonly tools: ToolPlan;
  readonly droppedItems: readonly string[];
  readonly parameters: Parameters;
  /** Calls of the reply get other ids. */
  readonly usedCallIds: ReadonlySet<string>;
}

export interface TranslationOptions {
  readonly dialect: Dialect;
  readonly upstreamDialect: string;
  readonly modelAliases: ReadonlyMap<string, string>;
  readonly hostedTools: HostedToolsPolicy;
  readonly history?: HistoryPolicy;
  readonly openSeal?: OpenSeal;
  readonly openCompaction?: OpenSeal;
  readonly urlFault?: UrlFault | undefined;
  readonly isUnpriced?: PartForms['isUnpriced'];
  readonly usedFields?: Pick<UsedFields, 'of'>;
  readonly mayBeEmpty?: boolean;
}

/**
 * Returns the chat request, with only the fields that are known here and no defaults of its own.
 * Throws ApiError for anything that the chat format cannot express.
 */
export function toChatRequest(request: CreateResponse, options: TranslationOptions): Translation {
  const { dialect } = options;
  const tools = planTools(request, options.hostedTools, dialect.toolChoice);
  const model = options.modelAliases.get(request.model) ?? request.model;
  const origin = { dialect: options.upstreamDialect, model };
  const { pieces, droppedItems } = toPieces(request, tools, { ...options, origin });
  const all = [...instructionsOf(request), ...schemaTextOf(request, dialect), ...pieces];
  const messages = toMessages(all, dialect, options.usedFields?.of(origin));
  if (options.mayBeEmpty !== true && !hasContent(pieces, messages)) throw emptyInput();
  const stream = request.stream === true || dialect.streams === 'always';
  const thinking = toThinkingFields(request, tools, dialect);
  const parameters = toParameters(request, dialect, thinking ?? {});
  return {
    tools,
    droppedItems,
    parameters,
    usedCallIds: new Set(pieces.flatMap((piece) => (piece.kind === 'call' ? [piece.callId] : []))),
    chat: {
      // First, so that they replace no field below.
      ...parameters.passed,
      ...thinking,
      model,
      messages,
      stream,
      // Usage is always requested, because clients and records need it.
      ...(stream && dialect.streamOptions && { stream_options: toStreamOptions(dialect) }),
      ...toToolFields(request, tools, dialect),
      ...toSamplingFields(request),
      ...toLogprobFields(request),
      ...(request.max_output_tokens !== undefined && { [dialect.tokenLimitField]: request.max_output_tokens }),
      ...(request.text?.format !== undefined && toResponseFormat(request.text.format, dialect)),
      ...toOptionalFields(request, tools, dialect),
    },
  };
}

function toStreamOptions({ padsChunks }: Dialect): NonNullable<ChatRequest['stream_options']> {
  return { include_usage: true, ...(padsChunks && { include_obfuscation: false as const }) };
}

/** Whether the caller wants reasoning back as `encrypted_content`. */
export function wantsSealedReasoning(request: Pick<CreateResponse, 'include'>): boolean {
  return (request.include ?? []).includes('reasoning.encrypted_content');
}

/** Whether the caller asks for log probabilities, in either of the two ways. */
export function wantsLogprobs(request: Pick<CreateResponse, 'include' | 'top_logprobs'>): boolean {
  return (request.top_logprobs ?? 0) > 0 || (request.include ?? []).includes('message.output_text.logprobs');
}

function instructionsOf({ instructions = '' }: CreateResponse): readonly Piece[] {
  return instructions === '' ? [] : [{ kind: 'system', role: 'system', text: instructions }];
}

/** The word JSON must be in the text for `json_object` (vercel/ai#7913). */
function schemaTextOf({ text }: CreateResponse, { schemaForm }: Dialect): readonly Piece[] {
  if (text?.format?.type !== 'json_schema' || schemaForm !== 'json_object') return [];
  const { description, schema } = text.format;
  const about = description === undefined ? '' : ` (${description})`;
  const instruction = `Answer only with JSON${about}, without a code block, that matches this JSON Schema:\n${JSON.stringify(schema)}`;
  return [{ kind: 'system', role: 'system', text: instruction }];
}

function toPieces(
  request: CreateResponse,
  { nameTowardsBackend }: ToolPlan,
  options: TranslationOptions & Pick<ItemContext, 'origin'>,
): { readonly pieces: readonly Piece[]; readonly droppedItems: readonly string[] } {
  if (typeof request.input === 'string')
    return { pieces: [{ kind: 'user', content: request.input }], droppedItems: [] };
  const { dialect, urlFault, isUnpriced, openSeal, openCompaction, origin, history } = options;
  const forms: PartForms =
    urlFault === undefined && isUnpriced === undefined ? dialect : { ...dialect, urlFault, isUnpriced };
  const isInForce = inForceOf(request.input, keptLengthFor(compactThresholdOf(request)), openCompaction);
  const lost: string[] = [];
  const pastForms = { ...forms, leaveOut: (type: string) => void lost.push(type) };
  const answeredForms = { ...pastForms, isAnswered: true };
  const lastReply = request.input.findLastIndex(isOfModel);
  const pieces: Piece[] = [];
  const dropped = new Set<string>();
  for (const [index, item] of request.input.entries()) {
    if (!isInForce(index)) continue;
    const piece = toPiece(item, {
      path: `input[${index}]`,
      nameTowardsBackend,
      forms: formsOf(item, index),
      openSeal,
      openCompaction,
      origin,
    });
    const [part = unreadablePartOf(item)] = lost.splice(0);
    const lostType = piece === 'left out' ? item.type : part;
    if (lostType !== undefined && history === 'reject') throw untranslatable(lostType, `input[${index}]`);
    if (lostType !== undefined) dropped.add(lostType);
    if (piece === 'left out' || piece === 'folded') continue;
    // "must not be empty" (Moonshot, Anthropic). Perhaps an image was all that it had.
    if (piece.kind === 'user' && piece.content === '') continue;
    if (piece.kind === 'reasoning' && piece.lacksState === true) dropped.add('encrypted_content');
    pieces.push(piece);
  }
  return { pieces, droppedItems: [...dropped] };

  function formsOf(item: InputItem, index: number): PartForms {
    if (index < lastReply) return answeredForms;
    return isOutput(item) || item.type === 'compaction' ? pastForms : forms;
  }
}

/** Only the server that wrote such a part can read it. */
function unreadablePartOf(item: InputItem): 'encrypted_content' | undefined {
  const content = item.type === 'message' ? item.content : isOutput(item) ? item.output : '';
  if (typeof content === 'string') return undefined;
  return content.some(({ type }) => type === 'encrypted_content') ? 'encrypted_content' : undefined;
}

function isOfModel({ type, ...item }: InputItem): boolean {
  return type === 'message'
    ? 'role' in item && item.role === 'assistant'
    : type === 'reasoning' || type.endsWith('_call');
}

function isOutput(item: InputItem): item is InputFunctionCallOutput | InputCustomToolCallOutput {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
}

function untranslatable(type: string, path: string): ApiError {
  return new ApiError('invalid_request', {
    param: path,
    message:
      `${path} holds ${JSON.stringify(type)}, which no model can be told of. Leave it out. ` +
      'The operator of the gateway can set HISTORY=keep, which leaves such items out.',
  });
}

function hasContent(pieces: readonly Piece[], messages: readonly ChatMessage[]): boolean {
  const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';
  return !messages.every(isSystem) || pieces.some((piece) => piece.kind === 'system' && piece.text !== '');
}

function emptyInput(): ApiError {
  return new ApiError('invalid_request', {
    param: 'input',
    message:
      'input has nothing for the model: all its items are empty, or of types that are left out here. ' +
      'Send at least one message.',
  });
}

/** Backends refuse `tools: []`, and `tool_choice` or `parallel_tool_calls` without tools. */
function toToolFields(request: CreateResponse, tools: ToolPlan, { strictTools }: Dialect): Partial<ChatRequest> {
  if (tools.offered.length === 0) return {};
  const parallel = request.max_tool_calls === 1 ? false : request.parallel_tool_calls;
  return {
    tools: strictTools ? tools.offered : tools.offered.map(withoutStrict),
    ...(tools.choice !== undefined && { tool_choice: tools.choice }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

/** Returns the tool without a word of whether its schema is strict. */
export function withoutStrict({ type, function: { strict: _strict, ...offered } }: ChatTool): ChatTool {
  return { type, function: offered };
}

const SAMPLING_FIELDS = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] as const;

function toSamplingFields(request: CreateResponse): Partial<ChatRequest> {
  return Object.fromEntries(
    SAMPLING_FIELDS.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]])),
  );
}

function toLogprobFields(request: CreateResponse): Partial<ChatRequest> {
  if (!wantsLogprobs(request)) return {};
  return { logprobs: true, ...(request.top_logprobs !== undefined && { top_logprobs: request.top_logprobs }) };
}

function toResponseFormat(format: RequestedFormat, { schemaForm }: Dialect): Partial<ChatRequest> {
  if (format.type === 'text') return {};
  const isAnyObject = format.type === 'json_object';
  if (schemaForm === 'json_object' || (isAnyObject && schemaForm === 'both'))
    return { response_format: { type: 'json_object' } };
  const { name, description, schema, strict } = isAnyObject ? ANY_OBJECT : format;
  return {
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: name ?? DEFAULT_SCHEMA_NAME,
        ...(description !== undefined && { description }),
        schema,
        ...(strict !== undefined && { strict }),
      },
    },
  };
}

const ANY_OBJECT: Omit<Extract<RequestedFormat, { type: 'json_schema' }>, 'type'> = { schema: { type: 'object' } };

/** The chat format requires a name for a schema, Open Responses does not. */
export const DEFAULT_SCHEMA_NAME = 'response';

function toOptionalFields(request: CreateResponse, tools: ToolPlan, dialect: Dialect): Partial<ChatRequest> {
  const values = {
    reasoning_effort: isCallForced(tools, dialect) ? undefined : toEffort(request.reasoning?.effort, dialect),
    verbosity: request.text?.verbosity,
    service_tier: toServiceTier(request.service_tier, dialect),
    prompt_cache_key: request.prompt_cache_key,
    safety_identifier: request.safety_identifier,
    user: request.user,
  };
  const fields: Record<string, string> = {};
  for (const name of dialect.optionalFields) {
    const value = values[name];
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}

function toServiceTier(tier: string | undefined, { serviceTiers }: Dialect): string | undefined {
  return tier !== undefined && Object.hasOwn(serviceTiers, tier) ? serviceTiers[tier] : tier;
}

function toThinkingFields({ reasoning }: CreateResponse, tools: ToolPlan, dialect: Dialect): Partial<ChatRequest> {
  const { effortFields, forcedCallFields } = dialect;
  if (isCallForced(tools, dialect)) return { ...forcedCallFields };
  return reasoning?.effort === undefined ? {} : { ...effortFields[reasoning.effort] };
}

/** Whether fields of the dialect go with the choice, because it forces a call. */
function isCallForced({ choice }: ToolPlan, { forcedCallFields }: Dialect): boolean {
  return forcedCallFields !== undefined && (choice === 'required' || typeof choice === 'object');
}

function toEffort(
  effort: ReasoningEffort | undefined,
  { efforts: known, effortFields }: Dialect,
): ReasoningEffort | undefined {
  if (effort === undefined || effortFields[effort] !== undefined) return undefined;
  return known === null ? effort : roundEffort(effort, known);
}
