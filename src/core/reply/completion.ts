import type { ChatChunk } from '../chat.ts';
import { isObject, readJson } from '../json.ts';
import { fieldsOf, itemsIn } from '../json-bytes.ts';

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
  for (const { name, start, end } of fieldsOf(bytes, 0)) {
    if (name === 'choices') chunk[name] = unparsedChoices(bytes.subarray(start, end));
    else if (name === 'usage' || name === 'model') chunk[name] = readShort(bytes.subarray(start, end));
  }
  return chunk;
}

/** Of the usage or a name. A longer one is not worth its time. */
const MAX_SHORT_BYTES = 16 * 1024;

function readShort(bytes: Buffer): unknown {
  return bytes.length > MAX_SHORT_BYTES ? undefined : readJson(bytes.toString());
}

function unparsedChoices(bytes: Buffer): unknown[] {
  const choices: unknown[] = [];
  let items = 0;
  for (const at of itemsIn(bytes, 0)) {
    items++;
    if (items > MAX_UNPARSED_CHOICES) break;
    if (bytes[at] !== '{'.charCodeAt(0)) continue;
    const choice: Record<string, unknown> = {};
    for (const { name, start, end } of fieldsOf(bytes, at)) {
      if (name === 'index' || name === 'finish_reason' || name === 'usage')
        choice[name] = readShort(bytes.subarray(start, end));
    }
    choices.push(choice);
  }
  return choices;
}

const MAX_UNPARSED_CHOICES = 1024;

function toChunkChoice(choice: unknown): unknown {
  if (!isObject(choice) || !isObject(choice['message'])) return choice;
  const { message, ...others } = choice;
  return { ...others, delta: toDelta(message) };
}

function toDelta(message: ChatChunk): ChatChunk {
  const calls = message['tool_calls'];
  return Array.isArray(calls) ? { ...message, tool_calls: calls.map(withIndex) } : message;
}

function withIndex(call: unknown, position: number): unknown {
  return isObject(call) ? { ...call, index: call['index'] ?? position } : call;
}
