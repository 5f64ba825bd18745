import type { Dialect } from '../../core/dialects.ts';
import { ApiError } from '../../core/errors.ts';
import { endOfValue, fieldsOf, readItems, readString, type Edit, type Field } from '../../core/json-bytes.ts';
import {
  checkField,
  FIELDS_OF_FUNCTION,
  FIELDS_OF_TOOL,
  foldCase,
  hasOwnFields,
  refusedField,
  refusedTool,
  TOOLS_OF_CALLER,
} from '../../core/request/bounded-fields.ts';
import type { CreateChatCompletion } from '../../contract/types.ts';

export type UnderstoodFields = ReadonlyMap<string, Field>;

export interface BodyChanges {
  readonly model?: string | undefined;
  readonly asksForUsage?: boolean;
  readonly limit?: { readonly name: Dialect['tokenLimitField']; readonly tokens: number | null } | undefined;
}

const OTHER_LIMIT = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' } as const;

/** What a request costs depends on them, or what it is changed to. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'tools',
  'functions',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'service_tier',
  'extra_body',
]);

/**
 * Finds the fields that the price depends on. Throws ApiError for one that is given twice, since
 * backends differ in which one they use. With the dialect of a backend, for keys with funds or limits,
 * it also throws for a field that they may not send there.
 */
export function findFields(body: Buffer, dialect?: Dialect): UnderstoodFields {
  return fieldsIn(body, { start: 0, path: '' }, dialect);
}

interface ObjectStart {
  readonly start: number;
  readonly path: string;
}

function fieldsIn(body: Buffer, { start, path }: ObjectStart, dialect: Dialect | undefined): UnderstoodFields {
  const found = new Map<string, Field>();
  const seen = new Set<string>();
  for (const field of fieldsOf(body, start)) {
    const { name = '' } = field;
    const folded = foldCase(name);
    if (dialect !== undefined) checkFieldAt(body, { ...field, name, path }, dialect);
    else if (!UNDERSTOOD.has(folded)) continue;
    if (seen.has(folded)) {
      throw new ApiError('invalid_request', { param: path + folded, message: `${path}${folded} must be given once.` });
    }
    seen.add(folded);
    if (name === folded) found.set(name, field);
  }
  return found;
}

function checkFieldAt(body: Buffer, field: Field & ObjectStart & { readonly name: string }, dialect: Dialect): void {
  const { name, path, start } = field;
  const isNull = body[start] === 'n'.charCodeAt(0);
  // Of a field that nobody knows, null says nothing.
  if (!isNull || UNDERSTOOD.has(foldCase(name))) checkField(path, name, dialect);
  const fieldPath = `${path}${name}.`;
  if (fieldPath === 'tools.') checkTools(body, field);
  else if (fieldPath === 'functions.') checkFunctions(body, field);
  else if (!isObjectAt(body, field)) return;
  else if (fieldPath === 'metadata.') checkMetadata(body, field);
  else if (hasOwnFields(fieldPath)) fieldsIn(body, { start, path: fieldPath }, dialect);
}

/** LiteLLM chooses another deployment by the list `metadata.tags`, where OpenAI has only texts. */
function checkMetadata(body: Buffer, { start }: Field): void {
  for (const { name = '', start: value } of fieldsOf(body, start)) {
    if (body[value] !== '"'.charCodeAt(0)) throw refusedField(`metadata.${name}`, 'it must be a string');
  }
}

/** A type that is given twice is looked at twice, since backends differ in which one they use. */
function checkTools(body: Buffer, list: Field): void {
  checkItems(body, list, (fields, path) => {
    let hasType = false;
    for (const { name = '', start, end } of fields) {
      const param = `${path}.${name}`;
      if (!FIELDS_OF_TOOL.has(name)) throw refusedTool(param);
      if (name !== 'type') continue;
      hasType = true;
      if (!TOOLS_OF_CALLER.has(readString(body.subarray(start, end)))) throw refusedTool(param);
    }
    if (!hasType) throw refusedTool(path);
  });
}

/** LiteLLM reads tools from the older list too. */
function checkFunctions(body: Buffer, list: Field): void {
  checkItems(body, list, (fields, path) => {
    for (const { name = '' } of fields) if (!FIELDS_OF_FUNCTION.has(name)) throw refusedTool(`${path}.${name}`);
  });
}

function checkItems(
  body: Buffer,
  { name = '', start }: Field,
  check: (fields: Iterable<Field>, path: string) => void,
): void {
  if (body[start] === 'n'.charCodeAt(0)) return;
  if (body[start] !== '['.charCodeAt(0)) throw refusedTool(name);
  let index = 0;
  readItems(body, start, (itemStart) => {
    const path = `${name}[${index}]`;
    if (body[itemStart] !== '{'.charCodeAt(0)) throw refusedTool(path);
    check(fieldsOf(body, itemStart), path);
    index += 1;
    return endOfValue(body, itemStart);
  });
}

/** Whether the client wants the usage chunk at the end of a stream. */
export function asksForUsage({ stream_options: options }: CreateChatCompletion): boolean {
  return options?.include_usage === true;
}

/** Returns the larger limit in tokens; null without one. Zero or less means no limit. */
export function limitOf({ max_tokens: older, max_completion_tokens: newer }: CreateChatCompletion): number | null {
  const named = [older, newer].filter((limit) => typeof limit === 'number');
  if (named.length === 0) return null;
  const least = Math.min(...named);
  return least > 0 ? Math.max(...named) : least;
}

/** Returns the edits that make these changes. The body must be valid. */
export function editsOf(body: Buffer, fields: UnderstoodFields, changes: BodyChanges): readonly Edit[] {
  const edits: Edit[] = [];
  const model = fields.get('model');
  if (changes.model !== undefined && model !== undefined) edits.push(replace(model, JSON.stringify(changes.model)));
  if (changes.limit !== undefined) edits.push(...limitEdits(body, fields, changes.limit));
  if (changes.asksForUsage === true) edits.push(usageEdit(body, fields.get('stream_options')));
  return edits;
}

/** Returns the edits that replace an alias in the top-level `model`, up to the first mistake in the JSON. */
export function modelEdits(body: Buffer, aliases: ReadonlyMap<string, string>): readonly Edit[] {
  const edits: Edit[] = [];
  for (const { name, start, end } of fieldsOf(body, 0)) {
    const model = name === 'model' ? aliases.get(readString(body.subarray(start, end)) ?? '') : undefined;
    if (model !== undefined) edits.push({ start, end, text: JSON.stringify(model) });
  }
  return edits;
}

function usageEdit(body: Buffer, options: Field | undefined): Edit {
  if (options === undefined) return insert(body.indexOf('{') + 1, '"stream_options":{"include_usage":true},');
  if (!isObjectAt(body, options)) return replace(options, '{"include_usage":true}');
  const inner = fieldsOf(body, options.start);
  const given = inner.findLast(({ name }) => name === 'include_usage');
  if (given !== undefined) return replace(given, 'true');
  return insert(options.start + 1, `"include_usage":true${inner.length === 0 ? '' : ','}`);
}

function limitEdits(
  body: Buffer,
  fields: UnderstoodFields,
  { name, tokens }: NonNullable<BodyChanges['limit']>,
): Edit[] {
  const own = fields.get(name);
  const other = fields.get(OTHER_LIMIT[name]);
  if (other === undefined) {
    if (tokens === null) return [];
    if (own === undefined) return [insert(body.indexOf('{') + 1, `"${name}":${tokens},`)];
    return Number(body.toString('latin1', own.start, own.end)) === tokens ? [] : [replace(own, String(tokens))];
  }
  if (own === undefined) return [{ start: other.nameStart, end: other.end, text: `"${name}":${tokens}` }];
  return [replace(own, String(tokens)), removal(body, other)];
}

/** The body always has `model` too, so a comma precedes or follows the field. */
function removal(body: Buffer, { nameStart, end }: Field): Edit {
  const comma = body.lastIndexOf(',', nameStart);
  return comma < 0 ? { start: nameStart, end: body.indexOf(',', end) + 1, text: '' } : { start: comma, end, text: '' };
}

function isObjectAt(body: Buffer, { start }: Field): boolean {
  return body[start] === '{'.charCodeAt(0);
}

function replace({ start, end }: Field, text: string): Edit {
  return { start, end, text };
}

function insert(at: number, text: string): Edit {
  return { start: at, end: at, text };
}
