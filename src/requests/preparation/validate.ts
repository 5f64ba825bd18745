import type { ValidateFunction } from 'ajv';
import { inputToCompact } from '../../core/compaction/compaction.ts';
import { withUpdates } from '../../core/request/configuration-update.ts';
import { isKnownParameter } from '../../contract/known-parameters.ts';
import { ApiError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type {
  CompactResponse,
  CreateChatCompletion,
  CreateResponse,
  InputItem,
  InputMessage,
  InputPart,
  ToolParam,
  WebSocketCreate,
} from '../../contract/types.ts';
import {
  isCompactResponse,
  isCreateChatCompletion,
  isCreateResponse,
  isWebSocketCreate,
} from '../../contract/validators.generated.js';
import { toShapeError } from '../../contract/shape-error.ts';

/**
 * Returns the body, changed in place. Throws ApiError with the path of the field at fault; the
 * message never quotes what the caller sent.
 */
export function validateCreateResponse(body: unknown): CreateResponse {
  const request = validated(isCreateResponse, body);
  checkNames(request.tools ?? [], 'tools');
  return withUpdates(request);
}

/** Returns a request for a response that asks the same. Throws as `validateCreateResponse`. */
export function validateCompactResponse(body: unknown): CreateResponse {
  const request = withUpdates(validated(isCompactResponse, body));
  const { model, input, instructions, reasoning, service_tier, prompt_cache_key } = request;
  return {
    model,
    input: [...inputToCompact({ input }), { type: 'compaction_trigger' }],
    ...(instructions !== undefined && { instructions }),
    ...(reasoning !== undefined && { reasoning }),
    ...(service_tier !== undefined && { service_tier }),
    ...(prompt_cache_key !== undefined && { prompt_cache_key }),
  };
}

/** Checks only what the gateway has to understand. Throws as `validateCreateResponse`. */
export function validateCreateChatCompletion(body: unknown): CreateChatCompletion {
  checkObject(body);
  checkShape(isCreateChatCompletion, body);
  return body;
}

/** Checks only the fields that HTTP does not have. Throws as `validateCreateResponse`. */
export function validateWebSocketCreate(frame: unknown): WebSocketCreate & JsonObject {
  checkObject(frame);
  dropTopNulls(frame);
  checkShape(isWebSocketCreate, frame);
  return frame;
}

type JsonObject = Record<string, unknown>;

function validated<Request extends CompactResponse>(hasShape: ValidateFunction<Request>, body: unknown): Request {
  checkObject(body);
  dropTopNulls(body);
  refuseState(body);
  if (Array.isArray(body['input'])) body['input'].forEach(nameType);
  checkShape(hasShape, body);
  checkInput(body.input);
  return body;
}

function checkObject(body: unknown): asserts body is JsonObject {
  if (!isObject(body)) throw new ApiError('invalid_request', { message: 'The body must be a JSON object.' });
}

function checkShape<T>(hasShape: ValidateFunction<T>, body: unknown): asserts body is T {
  if (hasShape(body)) return;
  const errors = hasShape.errors ?? [];
  // ajv would keep them, and through them this body, until the next mistake.
  hasShape.errors = null;
  const { code, param, message } = toShapeError(errors);
  throw new ApiError(code, { param, message });
}

/** What is inside these belongs to the caller, and a null there may mean something. */
const FREE_FORM = new Set(['parameters', 'schema', 'metadata', 'arguments']);

/** A backend gets what the Responses format does not have as it is, with every null inside it. */
function dropTopNulls(body: JsonObject): void {
  for (const name in body) {
    const value = body[name];
    if (value === null) Reflect.deleteProperty(body, name);
    else if (isKnownParameter(name) && !FREE_FORM.has(name)) dropNullsWithin(value);
  }
}

/** Clients write null for absent. Recursion is safe: the body is at most 128 levels deep. */
function dropNulls(object: JsonObject): void {
  for (const key in object) {
    const value = object[key];
    // Codex sends messages without a word, as OpenAI takes them (can1357/oh-my-pi#10956).
    if (value === null && key === 'content' && typeof object['role'] === 'string') object[key] = '';
    // The JSON Schema `true` takes everything, as no schema does.
    else if (value === null || (value === true && key === 'parameters')) Reflect.deleteProperty(object, key);
    else if (typeof value === 'object' && !FREE_FORM.has(key)) dropNullsWithin(value);
  }
}

function dropNullsWithin(value: unknown): void {
  if (Array.isArray(value)) value.forEach(dropNullsWithin);
  else if (isObject(value)) dropNulls(value);
}

/** The gateway keeps nothing between requests, so it refuses what refers to an earlier one. */
function refuseState(body: JsonObject): void {
  if (typeof body['previous_response_id'] === 'string') {
    throw new ApiError('previous_response_not_found', {
      param: 'previous_response_id',
      message:
        'No response with this id is kept here. Send the full history in input instead, or let the operator of the gateway ' +
        'keep responses for a while with ITEM_MEMORY_TTL_S.',
    });
  }
  if (body['conversation'] !== undefined) {
    throw unsupported('conversation', 'No conversation is stored here. Send the full history in input instead.');
  }
  if (body['prompt'] !== undefined) {
    throw unsupported('prompt', 'No prompt is stored here. Send its text in instructions or input instead.');
  }
  if (body['background'] === true) {
    throw unsupported(
      'background',
      'Responses are not made in the background here. Leave background out, and use stream.',
    );
  }
}

function unsupported(param: string, message: string): ApiError {
  return new ApiError('unsupported_parameter', { param, message });
}

/** Clients leave the type out of messages and of item references. */
function nameType(item: unknown): void {
  if (!isObject(item) || item['type'] !== undefined) return;
  const { id, role, content } = item;
  const isReference = id !== undefined && role === undefined && content === undefined;
  Object.assign(item, { type: isReference ? 'item_reference' : 'message' });
}

/** The chat format has a place for these in a message of each role. */
const ROLES_OF: { readonly [Type in InputPart['type']]: readonly InputMessage['role'][] } = {
  input_text: ['user', 'assistant', 'system', 'developer'],
  output_text: ['user', 'assistant', 'system', 'developer'],
  text: ['user', 'assistant', 'system', 'developer'],
  refusal: ['user', 'assistant'],
  input_image: ['user'],
  input_file: ['user'],
  input_audio: ['user'],
  encrypted_content: ['user', 'assistant', 'system', 'developer'],
};

function checkInput(input: CreateResponse['input']): void {
  if (typeof input === 'string') return;
  input.forEach((item, index) => checkItem(item, `input[${index}]`));
  const trigger = input.findIndex(({ type }) => type === 'compaction_trigger');
  if (trigger < 0 || (trigger > 0 && trigger === input.length - 1)) return;
  const param = `input[${trigger}]`;
  throw new ApiError('invalid_request', {
    param,
    message: `${param} asks to compact the items before it: it must be the last item, and not the only one.`,
  });
}

function checkItem(item: InputItem, path: string): void {
  switch (item.type) {
    case 'message':
      return checkParts(item.content, `${path}.content`, item.role);
    case 'function_call_output':
    case 'custom_tool_call_output':
      // Images and files of a tool output go to the backend in a user message.
      return checkParts(item.output, `${path}.output`, 'user');
    case 'additional_tools':
    case 'tool_search_output':
      return checkNames(item.tools, `${path}.tools`);
    default:
  }
}

function checkParts(parts: string | readonly InputPart[], path: string, role: InputMessage['role']): void {
  if (typeof parts === 'string') return;
  parts.forEach((part, index) => {
    if (ROLES_OF[part.type].includes(role)) return;
    const param = `${path}[${index}].type`;
    const message = `${param} must be one of ${partsOf(role).join(', ')} in a message of the role ${role}.`;
    throw new ApiError('invalid_request', { param, message });
  });
}

function partsOf(role: InputMessage['role']): readonly string[] {
  return Object.entries(ROLES_OF)
    .filter(([, roles]) => roles.includes(role))
    .map(([type]) => type);
}

const NAMED = new Set(['function', 'custom', 'namespace']);

/** A call names one tool. Namespaces and kinds of tools have names of their own. */
function checkNames(tools: readonly ToolParam[], path: string): void {
  const names = new Set<string>();
  tools.forEach((tool, index) => {
    // Only the type of an unknown tool has been checked.
    if (!NAMED.has(tool.type) || !('name' in tool)) return;
    if (tool.type === 'namespace' && 'tools' in tool) checkNames(tool.tools, `${path}[${index}].tools`);
    const param = `${path}[${index}].name`;
    const name = `${tool.type} ${tool.name}`;
    if (names.has(name))
      throw new ApiError('invalid_request', { param, message: `${param} repeats the name of an earlier tool.` });
    names.add(name);
  });
}
