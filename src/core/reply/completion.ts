import type { ChatChunk } from '../chat.ts';
import { isObject } from '../json.ts';

/** Returns one equivalent chunk, where each tool call has the index that a stream would give it. */
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
