import type { ContentPart, OutputItem, ResponseEvent, ResponseResource } from '../../contract/types.ts';
import { unreachable } from '../errors.ts';
import { appendText } from './growing-text.ts';

/**
 * Changes the snapshot in place, so that a delta costs no copy, and returns it. Throws a RangeError
 * for an event whose item or part is missing, because a wrong stream must stop.
 */
export function foldEvent(response: ResponseResource, event: ResponseEvent): ResponseResource {
  switch (event.type) {
    case 'response.created':
    case 'response.in_progress':
      // The event is still to be sent in its present state, so the snapshot continues as a copy.
      return { ...event.response, output: event.response.output.map(copyOf) };
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return event.response;
    case 'response.output_item.added':
      if (event.output_index !== response.output.length) throw new RangeError('an item is added out of order');
      response.output.push(copyOf(event.item));
      return response;
    case 'response.output_item.done':
      itemAt(response, event.output_index);
      response.output[event.output_index] = event.item;
      return response;
    case 'response.content_part.added':
      addPart(itemAt(response, event.output_index), event.part);
      return response;
    case 'response.output_text.delta': {
      const part = partAt(response, event, 'output_text');
      const isAll = part.text === response.output_text;
      part.text = appendText(part.text, event.delta);
      response.output_text = isAll ? part.text : appendText(response.output_text, event.delta);
      // Not spread, because a call takes only so many arguments.
      for (const logprob of event.logprobs) part.logprobs.push(logprob);
      return response;
    }
    case 'response.output_text.annotation.added':
      partAt(response, event, 'output_text').annotations.push(event.annotation);
      return response;
    case 'response.refusal.delta':
      partAt(response, event, 'refusal').refusal += event.delta;
      return response;
    case 'response.reasoning_text.delta':
      addTo(partAt(response, event, 'reasoning_text'), event.delta);
      return response;
    case 'response.reasoning_summary_part.added':
      itemOf(response, event.output_index, 'reasoning').summary.push({ ...event.part });
      return response;
    case 'response.reasoning_summary_text.delta': {
      const part = itemOf(response, event.output_index, 'reasoning').summary[event.summary_index];
      if (part === undefined) throw new RangeError('there is no such summary part');
      addTo(part, event.delta);
      return response;
    }
    case 'response.function_call_arguments.delta': {
      const call = itemOf(response, event.output_index, 'function_call');
      call.arguments = appendText(call.arguments, event.delta);
      return response;
    }
    case 'response.custom_tool_call_input.delta':
      itemOf(response, event.output_index, 'custom_tool_call').input += event.delta;
      return response;
    // These repeat the deltas. An error is applied by the `response.failed` after it.
    case 'response.content_part.done':
    case 'response.output_text.done':
    case 'response.refusal.done':
    case 'response.reasoning_text.done':
    case 'response.reasoning_summary_part.done':
    case 'response.reasoning_summary_text.done':
    case 'response.function_call_arguments.done':
    case 'response.custom_tool_call_input.done':
    case 'error':
      return response;
    default:
      return unreachable(event);
  }
}

function addTo(part: { text: string }, delta: string): void {
  part.text = appendText(part.text, delta);
}

/** A structured clone costs more than the rest of the fold. Only these items have lists that grow. */
function copyOf(item: OutputItem): OutputItem {
  if (item.type === 'message' && item.content.length === 0) return { ...item, content: [] };
  return item.type === 'message' || item.type === 'reasoning' ? structuredClone(item) : { ...item };
}

function addPart(item: OutputItem, part: ContentPart): void {
  if (item.type === 'message' && part.type === 'output_text') {
    item.content.push({ ...part, annotations: [...part.annotations], logprobs: [...part.logprobs] });
  } else if (item.type === 'message' && part.type === 'refusal') {
    item.content.push({ ...part });
  } else if (item.type === 'reasoning' && part.type === 'reasoning_text') {
    item.content = [...(item.content ?? []), { ...part }];
  } else {
    throw new RangeError(`a ${item.type} has no ${part.type} part`);
  }
}

function itemAt(response: ResponseResource, outputIndex: number): OutputItem {
  const item = response.output[outputIndex];
  if (item === undefined) throw new RangeError('there is no such output item');
  return item;
}

function itemOf<Type extends OutputItem['type']>(
  response: ResponseResource,
  outputIndex: number,
  type: Type,
): Extract<OutputItem, { type: Type }> {
  const item = itemAt(response, outputIndex);
  if (!isOfType(item, type)) throw new RangeError(`the output item is not a ${type}`);
  return item;
}

function partAt<Type extends ContentPart['type']>(
  response: ResponseResource,
  { output_index: outputIndex, content_index: contentIndex }: { output_index: number; content_index: number },
  type: Type,
): Extract<ContentPart, { type: Type }> {
  const item = itemAt(response, outputIndex);
  const part: ContentPart | undefined = 'content' in item ? item.content?.[contentIndex] : undefined;
  if (part === undefined || !isOfType(part, type)) throw new RangeError(`there is no such ${type} part`);
  return part;
}

/** Narrows an item or a part to this type. */
export function isOfType<Value extends { type: string }, Type extends Value['type']>(
  value: Value,
  type: Type,
): value is Extract<Value, { type: Type }> {
  return value.type === type;
}
