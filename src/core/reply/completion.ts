import type { ChatChunk } from '../chat.ts';
import { isObject, readJson } from '../json.ts';
import { endOfItems, endOfValue, readFields, readItems } from '../json-bytes.ts';

/** Returns one equivalent chunk, where each tool call has the index that a stream would give it. */
export function chunkFromCompletion(completion: ChatChunk): ChatChunk {
  const choices = completion['choices'];
  if (!Array.isArray(choices)) return completion;
  return { ...completion, choices: choices.map(toChunkChoice) };
}

/**
 * Returns what the bytes of a completion say of its usage, its model and the ends of its choices.
 * The time is linear, whatever else is in it. What is not a completion has no choices.
 */
export function chunkFromUnparsed(bytes: Buffer): ChatChunk {
  const chunk: Record<string, unknown> = {};
  readFields(bytes, 0, (name, at) => {
    if (name === 'choices') return readUnparsedChoices(bytes, at, (chunk[name] = []));
    const end = endOfValue(bytes, at);
    if (name === 'usage' || name === 'model') chunk[name] = readShort(bytes.subarray(at, end));
    return end;
  });
  return chunk;
}

/** Of the usage or a name. A longer one is not worth its time. */
const MAX_SHORT_BYTES = 16 * 1024;

function readShort(bytes: Buffer): unknown {
  return bytes.length > MAX_SHORT_BYTES ? undefined : readJson(bytes.toString());
}

function readUnparsedChoices(bytes: Buffer, start: number, choices: unknown[]): number {
  let items = 0;
  return readItems(bytes, start, (at) => {
    items += 1;
    if (items > MAX_UNPARSED_CHOICES) return endOfItems(bytes, at);
    const choice: Record<string, unknown> = {};
    if (bytes[at] === '{'.charCodeAt(0)) choices.push(choice);
    return readFields(bytes, at, (name, valueStart) => {
      const end = endOfValue(bytes, valueStart);
      if (name !== undefined && OF_CHOICE.has(name)) choice[name] = readShort(bytes.subarray(valueStart, end));
      return end;
    });
  });
}

const MAX_UNPARSED_CHOICES = 1024;
const OF_CHOICE: ReadonlySet<string> = new Set(['index', 'finish_reason', 'native_finish_reason', 'usage']);

function toChunkChoice(choice: unknown): unknown {
  if (!isObject(choice) || !isObject(choice['message'])) return choice;
  const { message, ...others } = choice;
  return { ...others, delta: toDelta(message) };
}

/** Returns the message with an index for each of its calls. */
export function toDelta(message: ChatChunk): ChatChunk {
  const calls = message['tool_calls'];
  return Array.isArray(calls) ? { ...message, tool_calls: calls.map(withIndex) } : message;
}

function withIndex(call: unknown, position: number): unknown {
  return isObject(call) ? { ...call, index: call['index'] ?? position } : call;
}
