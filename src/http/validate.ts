import { Ajv } from 'ajv';
import createResponseSchema from '../../schemas/create-response.json' with { type: 'json' };
import responseSchema from '../../schemas/response.json' with { type: 'json' };
import { ApiError } from '../core/errors.ts';
import type { CreateResponse, InputMessage, InputPart, ToolParam } from '../types/contract.ts';
import { toShapeError } from './shape-error.ts';

const ajv = new Ajv({
  strict: true,
  discriminator: true,
  allowUnionTypes: true,
  // An error then brings the schema it came from, which says what would have been accepted.
  verbose: true,
  keywords: ['tsType'],
  schemas: [responseSchema],
});
const hasShape = ajv.compile<CreateResponse>(createResponseSchema);

/**
 * Takes the parsed body of a create request, which it changes in place: a null property goes, an input item without a type
 * gets one. Throws ApiError with the path of the field at fault; the message never quotes what the caller sent.
 */
export function validateCreateResponse(body: unknown): CreateResponse {
  if (!isObject(body)) throw new ApiError('invalid_request', { message: 'The body must be a JSON object.' });
  dropNulls(body);
  refuseState(body);
  if (Array.isArray(body['input'])) body['input'].forEach(nameType);
  if (!hasShape(body)) {
    const errors = hasShape.errors ?? [];
    // ajv would keep them, and through them this body, until the next mistake.
    hasShape.errors = null;
    throw toShapeError(errors);
  }
  if (typeof body.input !== 'string') {
    body.input.forEach((item, index) => {
      if (item.type === 'message') checkParts(item.content, `input[${index}].content`, PARTS_OF[item.role]);
      if (item.type === 'function_call_output') checkParts(item.output, `input[${index}].output`, ANY_PART);
    });
  }
  checkNames(body.tools ?? []);
  return body;
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is inside these belongs to the caller, and a null there may mean something. */
const FREE_FORM = new Set(['parameters', 'schema', 'metadata', 'arguments']);

/** Clients write null for absent. Recursion is safe: the body is at most 128 levels deep. */
function dropNulls(object: JsonObject): void {
  for (const key in object) {
    const value = object[key];
    if (value === null) Reflect.deleteProperty(object, key);
    else if (typeof value === 'object' && !FREE_FORM.has(key)) dropNullsWithin(value);
  }
}

function dropNullsWithin(value: unknown): void {
  if (Array.isArray(value)) value.forEach(dropNullsWithin);
  else if (isObject(value)) dropNulls(value);
}

/** This gateway keeps nothing between requests, so what refers to an earlier one cannot be honoured (contract, section 2). */
function refuseState(body: JsonObject): void {
  if (typeof body['previous_response_id'] === 'string') {
    throw new ApiError('previous_response_not_found', {
      param: 'previous_response_id',
      message: 'No response is stored here, so none can be continued. Send the full history in input instead.',
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
  item['type'] = id !== undefined && role === undefined && content === undefined ? 'item_reference' : 'message';
}

type PartType = InputPart['type'];

const TEXT = ['input_text', 'output_text', 'text'] as const;
const ANY_PART = new Set<PartType>([...TEXT, 'refusal', 'input_image', 'input_file']);
const TEXT_ONLY = new Set<PartType>(TEXT);

/** What the chat format has a place for in a message of each role. */
const PARTS_OF: { readonly [Role in InputMessage['role']]: ReadonlySet<PartType> } = {
  user: ANY_PART,
  assistant: new Set<PartType>([...TEXT, 'refusal']),
  system: TEXT_ONLY,
  developer: TEXT_ONLY,
};

function checkParts(parts: string | readonly InputPart[], path: string, allowed: ReadonlySet<PartType>): void {
  if (typeof parts === 'string') return;
  parts.forEach((part, index) => {
    if (!allowed.has(part.type)) {
      throw new ApiError('invalid_request', {
        param: `${path}[${index}].type`,
        message: `${path}[${index}].type must be one of ${[...allowed].join(', ')} in a message of this role.`,
      });
    }
    const wanted = wantedBy(part);
    if (wanted !== undefined) {
      const param = `${path}[${index}].${wanted}`;
      throw new ApiError('missing_required_parameter', { param, message: `${param} is missing.` });
    }
  });
}

/** The field without which there is nothing to send; a file id or URL in its place has an error of its own (core/items.ts). */
function wantedBy(part: InputPart): string | undefined {
  if (part.type === 'input_image' && part.image_url === undefined && part.file_id === undefined) return 'image_url';
  if (part.type !== 'input_file' || part.file_data !== undefined) return undefined;
  return part.file_url === undefined && part.file_id === undefined ? 'file_data' : undefined;
}

function checkNames(tools: readonly ToolParam[]): void {
  const names = new Set<string>();
  tools.forEach((tool, index) => {
    if (!('name' in tool) || tool.type !== 'function') return;
    if (names.has(tool.name)) {
      const param = `tools[${index}].name`;
      throw new ApiError('invalid_request', { param, message: `${param} is the name of an earlier tool too.` });
    }
    names.add(tool.name);
  });
}
