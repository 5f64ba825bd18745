/** The body of a chat completion that is counted: read once, and sent on with no byte changed but the few named here. */

import { ApiError } from '../../core/errors.ts';
import type { CreateChatCompletion } from '../../types/contract.ts';
import { fieldsOf, splice, type Edit, type Field } from '../body/json-bytes.ts';

/** The fields which the gateway understands, by their names. */
export type UnderstoodFields = ReadonlyMap<string, Field>;

export interface BodyChanges {
  /** The backend's name of the model, where the client wrote an alias. */
  readonly model: string | undefined;
  /** Sets `stream_options.include_usage`. */
  readonly asksForUsage: boolean;
}

const UNDERSTOOD = new Set(['model', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens']);

/**
 * Where those fields stand on which the price depends. Throws ApiError when one of them is given twice: backends differ in
 * which one they take, and in whether they tell capital letters apart.
 */
export function findFields(body: Buffer): UnderstoodFields {
  const found = new Map<string, Field>();
  const seen = new Set<string>();
  for (const field of fieldsOf(body, 0)) {
    const { name = '' } = field;
    const understood = name.toLowerCase();
    if (!UNDERSTOOD.has(understood)) continue;
    if (seen.has(understood)) {
      throw new ApiError('invalid_request', { param: understood, message: `${understood} must be given once.` });
    }
    seen.add(understood);
    if (name === understood) found.set(name, field);
  }
  return found;
}

/** Whether the client itself wants the chunk that ends a stream with its usage. */
export function asksForUsage({ stream_options: options }: CreateChatCompletion): boolean {
  return options?.include_usage === true;
}

/** The same body with these changes; every other byte stays. For a body that was found valid. */
export function changeBody(body: Buffer, fields: UnderstoodFields, changes: BodyChanges): Buffer {
  const edits: Edit[] = [];
  const model = fields.get('model');
  if (changes.model !== undefined && model !== undefined) edits.push(replace(model, JSON.stringify(changes.model)));
  if (changes.asksForUsage) edits.push(usageEdit(body, fields.get('stream_options')));
  return splice(body, edits);
}

function usageEdit(body: Buffer, options: Field | undefined): Edit {
  if (options === undefined) return insert(body.indexOf('{') + 1, '"stream_options":{"include_usage":true},');
  if (body[options.start] !== '{'.charCodeAt(0)) return replace(options, '{"include_usage":true}');
  const inner = [...fieldsOf(body, options.start)];
  const given = inner.findLast(({ name }) => name === 'include_usage');
  if (given !== undefined) return replace(given, 'true');
  return insert(options.start + 1, `"include_usage":true${inner.length === 0 ? '' : ','}`);
}

function replace({ start, end }: Field, text: string): Edit {
  return { start, end, text };
}

function insert(at: number, text: string): Edit {
  return { start: at, end: at, text };
}
