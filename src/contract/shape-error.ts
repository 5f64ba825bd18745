import type { ErrorObject } from 'ajv';
import createResponseSchema from '../../schemas/create-response.json' with { type: 'json' };
import responseSchema from '../../schemas/response.json' with { type: 'json' };

export interface ShapeError {
  readonly code: 'invalid_request' | 'missing_required_parameter';
  readonly param: string;
  readonly message: string;
}

/**
 * Describes the innermost error of ajv, which comes first, in words from the schema only. Throws if
 * there is none.
 */
export function toShapeError([error]: readonly ErrorObject[]): ShapeError {
  if (error === undefined) throw new Error('ajv gave no error');
  const path = toPath(error.instancePath);
  const missing = missingProperty(error);
  if (missing !== undefined) {
    const param = path === '' ? missing : `${path}.${missing}`;
    const message = `${param} is missing.${hintFor(param, error.data)}`;
    return { code: 'missing_required_parameter', param, message };
  }
  if (error.keyword === 'additionalProperties') return unknownError(path, error);
  if (error.keyword === 'discriminator') {
    const param = `${path}.type`;
    const types = typesOf(error.parentSchema).join(', ');
    const message = `${param} must be one of ${types}.${hintFor(param, error.data)}`;
    return { code: 'invalid_request', param, message };
  }
  return { code: 'invalid_request', param: path, message: describe(path, error) + hintFor(path, error.data) };
}

/** Stops at metadata, whose keys are the caller's input. */
function toPath(instancePath: string): string {
  if (instancePath.startsWith('/metadata')) return 'metadata';
  return instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
}

function missingProperty({ keyword, params, data }: ErrorObject): string | undefined {
  if (keyword === 'required') return text(params['missingProperty']);
  return keyword === 'discriminator' && !has(data, 'type') ? 'type' : undefined;
}

/** Unknown fields are refused only where a misspelled one would otherwise go unnoticed. */
function unknownError(path: string, { params, parentSchema }: ErrorObject): ShapeError {
  const name = text(params['additionalProperty']);
  // The name is the caller's input, so the message repeats it only when it is a plain name.
  const unknown = /^\w{1,64}$/.test(name) ? name : 'A field';
  const param = path === '' ? unknown : `${path}.${unknown}`;
  const properties = member(parentSchema, 'properties');
  const known = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return { code: 'invalid_request', param, message: `${param} is not known here; use ${known.join(', ')}.` };
}

/** Says what to write where a request is still in the format of chat completions. */
function hintFor(param: string, data: unknown): string {
  const hint = CHAT_HINTS.find(({ at, is }) => at.test(param) && is(data));
  return hint === undefined ? '' : ` ${hint.sentence}`;
}

interface ChatHint {
  readonly at: RegExp;
  readonly is: (data: unknown) => boolean;
  readonly sentence: string;
}

const CALLS_ARE_ITEMS =
  'Send each of tool_calls as {"type": "function_call", "call_id": "…", "name": "…", "arguments": "…"}, ' +
  'or the items of the response as they came.';

const CHAT_HINTS: readonly ChatHint[] = [
  {
    at: /^input$/,
    is: (data) => has(data, 'messages'),
    sentence: 'The Responses format has input where chat completions has messages.',
  },
  {
    at: /^tools\[\d+\]\.name$/,
    is: (data) => has(data, 'function'),
    sentence: 'The Responses format has name, description and parameters in the tool itself, not under function.',
  },
  {
    at: /^tool_choice\.name$/,
    is: (data) => has(data, 'function'),
    sentence: 'The Responses format has the name in tool_choice itself: {"type": "function", "name": "…"}.',
  },
  {
    at: /^input\[\d+\]\.role$/,
    is: (data) => data === 'tool' || data === 'function',
    sentence: 'Send the output of a tool as {"type": "function_call_output", "call_id": "…", "output": "…"}.',
  },
  { at: /^input\[\d+\]\.content$/, is: (data) => has(data, 'tool_calls'), sentence: CALLS_ARE_ITEMS },
  { at: /^input\[\d+\]\.tool_calls$/, is: () => true, sentence: CALLS_ARE_ITEMS },
  {
    at: /\.content\[\d+\]\.type$/,
    is: (data) => member(data, 'type') === 'image_url',
    sentence: 'Send an image as {"type": "input_image", "image_url": "https://…"}.',
  },
  {
    at: /\.content\[\d+\]\.type$/,
    is: (data) => member(data, 'type') === 'file',
    sentence: 'Send a file as {"type": "input_file", "filename": "…", "file_data": "…"}.',
  },
  {
    at: /\.image_url$/,
    is: (data) => has(data, 'url'),
    sentence: 'The Responses format has the URL itself there, and detail beside it.',
  },
  {
    at: /^text\.format\.schema$/,
    is: (data) => has(data, 'json_schema'),
    sentence: 'The Responses format has name, schema and strict in the format itself, not under json_schema.',
  },
];

function describe(path: string, { keyword, params, parentSchema, propertyName, instancePath }: ErrorObject): string {
  const subject = nameSubject(path, instancePath, propertyName);
  const limit = text(params['limit']);
  switch (keyword) {
    case 'type':
      return `${subject} must be ${[params['type']].flat().map(nameOfType).join(' or ')}.`;
    case 'enum':
      return `${path} must be one of ${[params['allowedValues']].flat().join(', ')}.`;
    case 'const':
      return `${path} must be ${String(params['allowedValue'])}.`;
    case 'minimum':
      return `${path} must be at least ${limit}.`;
    case 'maximum':
      return `${path} must be at most ${limit}.`;
    case 'minLength':
    case 'minItems':
    // The schemas use `not` for "" because minLength would count all characters of an image.
    case 'not':
      return `${path} must not be empty.`;
    case 'maxLength':
      return `${subject} may have at most ${limit} characters.`;
    case 'minProperties':
      return 'Nothing is named that is to be changed.';
    case 'maxItems':
    case 'maxProperties':
      return `${path} may have at most ${limit} entries.`;
    default:
      return `${path} is not valid. ${text(parentSchema?.['description'])}`.trim();
  }
}

/** The message does not name keys of metadata, since they are the caller's input. */
function nameSubject(path: string, instancePath: string, propertyName: string | undefined): string {
  if (propertyName !== undefined) return `Every key of ${path}`;
  return path === 'metadata' && instancePath !== '/metadata' ? 'Every value of metadata' : path;
}

const TYPE_NAMES = new Map<unknown, string>([
  ['string', 'a string'],
  ['array', 'an array'],
  ['object', 'an object'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
]);

function nameOfType(type: unknown): string {
  return TYPE_NAMES.get(type) ?? text(type);
}

function typesOf(union: unknown): readonly string[] {
  return list(member(union, 'oneOf')).flatMap((branch) => {
    const type = member(member(resolve(text(member(branch, '$ref'))), 'properties'), 'type');
    return list(member(type, 'enum') ?? [member(type, 'const')]).map(text);
  });
}

function resolve(reference: string): unknown {
  const [file, pointer = ''] = reference.split('#');
  const root: unknown = file === responseSchema.$id ? responseSchema : createResponseSchema;
  return pointer.split('/').slice(1).reduce(member, root);
}

function has(value: unknown, key: string): boolean {
  return member(value, key) !== undefined;
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
