/** A conversation of a client with a backend that calls tools, each turn through the translation both ways, with JSON between. */

import { chunkFromCompletion } from '../../src/core/reply/completion.ts';
import type { ChatAssistantMessage, ChatChunk, ChatMessage, ChatRequest } from '../../src/core/chat.ts';
import { validateCreateResponse } from '../../src/requests/preparation/validate.ts';
import type { CreateResponse, InputItem, OutputItem, ResponseEvent } from '../../src/contract/types.ts';
import { chunkOf, openMachine, type MachineSettings } from './machine.ts';
import { expectWellFormed } from './well-formed.ts';

export interface BackendCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What the backend answers, and how it comes: whole, or with the arguments cut at these places. */
export interface BackendAnswer {
  readonly calls: readonly BackendCall[];
  readonly content?: string;
  readonly as: 'completion' | { readonly pieces: readonly number[] };
  readonly finishReason?: 'length';
}

export interface Exchange {
  /** What the backend was asked. */
  readonly chat: ChatRequest;
  readonly events: readonly ResponseEvent[];
  readonly output: readonly OutputItem[];
}

/** Asks with this request and reads this answer. Throws where the request is refused or the stream is not well-formed. */
export function exchange(request: CreateResponse, answer: BackendAnswer, settings?: MachineSettings): Exchange {
  const machine = openMachine(onTheWire(request), settings);
  const events = [
    ...machine.start(),
    ...toChunks(answer).flatMap((chunk) => machine.feed([chunk])),
    ...machine.end(true),
  ];
  return { chat: machine.chat, events, output: expectWellFormed(events).output };
}

/** What the backend is asked with this request, after JSON and validation. */
export function askedOf(request: CreateResponse, settings?: MachineSettings): ChatRequest {
  return openMachine(onTheWire(request), settings).chat;
}

/** The request that goes on after the output of the last one, with an output for each of its calls. */
export function goOn(request: CreateResponse, output: readonly OutputItem[]): CreateResponse {
  const before: InputItem[] =
    typeof request.input === 'string' ? [{ type: 'message', role: 'user', content: request.input }] : request.input;
  const outputs = output.flatMap((item) => ('call_id' in item ? [outputOf(item)] : []));
  // An output item is an input item as it stands: that is how clients replay it.
  return { ...request, input: [...before, ...(output as unknown as InputItem[]), ...outputs] };
}

/** What the tool of a call brings, in the item type of that tool; the text names the call. */
export function outputOf(item: Extract<OutputItem, { call_id: unknown }>): InputItem {
  const { call_id: callId } = item;
  const text = toolText(callId);
  switch (item.type) {
    case 'function_call':
      return { type: 'function_call_output', call_id: callId, output: text };
    case 'custom_tool_call':
      return { type: 'custom_tool_call_output', call_id: callId, output: text };
    case 'tool_search_call':
      return {
        type: 'tool_search_output',
        call_id: callId,
        execution: 'client',
        tools: [{ type: 'function', name: `found_by_${callId}` }],
      };
    case 'local_shell_call':
      return { type: 'local_shell_call_output', call_id: callId, output: text };
    case 'shell_call':
      return {
        type: 'shell_call_output',
        call_id: callId,
        output: [{ stdout: text, stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      };
    case 'apply_patch_call':
      return { type: 'apply_patch_call_output', call_id: callId, status: 'completed', output: text };
  }
}

export function toolText(callId: string): string {
  return `output of ${callId}`;
}

/** The assistant messages with calls that the backend is shown. */
export function callMessagesOf(messages: readonly ChatMessage[]): ChatAssistantMessage[] {
  return messages.filter(
    (message): message is ChatAssistantMessage => message.role === 'assistant' && message.tool_calls !== undefined,
  );
}

function onTheWire(request: CreateResponse): CreateResponse {
  return validateCreateResponse(JSON.parse(JSON.stringify(request)));
}

function toChunks({ calls, content, as, ...rest }: BackendAnswer): ChatChunk[] {
  const finishReason = rest.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  if (as === 'completion') {
    const toolCalls = calls.map(({ id, ...called }) => ({ id, type: 'function', function: called }));
    const message = { role: 'assistant', content: content ?? null, tool_calls: toolCalls };
    return [chunkFromCompletion({ choices: [{ index: 0, message, finish_reason: finishReason }] })];
  }
  return [
    chunkOf({ role: 'assistant', content: content ?? null }),
    ...calls.flatMap((call, index) => toPieces(call, index, as.pieces)),
    chunkOf({}, finishReason),
  ];
}

/** As most backends cut a call: id and name first, then the arguments piece by piece. */
function toPieces({ id, name, arguments: whole }: BackendCall, index: number, cuts: readonly number[]): ChatChunk[] {
  const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  const pieces = places.slice(1).map((place, at) => whole.slice(places[at], place));
  return [
    chunkOf({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
    ...pieces.map((piece) => chunkOf({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}
