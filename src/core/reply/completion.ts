import type { ChatChunk } from '../chat.ts';
import { isObject } from '../json.ts';

/**
 * Turns a whole completion into one equivalent chunk: each `message` becomes a `delta`, and each
 * tool call gets the index that a stream would give it. All other fields stay.
 */
export function chunkFromCompletion(completion: ChatChunk): ChatChunk {
  const choices = completion['choices'];
  if (!Array.isArray(choices)) return completion;
  return { ...completion, choices: choices.map(toChunkChoice) };
}

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
