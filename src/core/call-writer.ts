import type { OutputItem, ResponseEvent } from '../types/contract.ts';
import { toBuiltInCall } from './built-in-calls.ts';
import { createCustomInputReader } from './custom-input.ts';
import { toItemId, type CallId, type ItemIdPrefix, type UniquePart } from './ids.ts';
import type { BuiltInKind, ToolRef } from './tool-names.ts';
import { unreachable } from './unreachable.ts';

/** Tells the client of one call, in the item type of its tool. */
export interface CallWriter {
  /** Takes a piece of the arguments. */
  write(delta: string): void;
  /** The arguments are over. */
  close(status: OutputItem['status']): void;
}

/** What a writer needs of the translator. */
export interface CallOutput {
  readonly unique: UniquePart;
  nextOutputIndex(): number;
  itemAt(outputIndex: number): OutputItem | undefined;
  emit(event: Unnumbered): void;
  addItem(item: OutputItem): void;
  closeItem(outputIndex: number, status: OutputItem['status']): void;
}

/** An event before the translator has numbered it. */
export type Unnumbered = ResponseEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, 'sequence_number'>
    : never
  : never;

/** Begins the item of a call: at once where its arguments are streamed, at its end where the item holds them as a whole. */
export function openCallWriter(tool: ToolRef, callId: CallId, output: CallOutput): CallWriter {
  switch (tool.kind) {
    case 'function':
      return writeFunctionCall(tool, callId, output);
    case 'custom':
      return writeCustomCall(tool, callId, output);
    case 'tool_search':
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
      return writeBuiltInCall(tool.kind, callId, output);
    default:
      return unreachable(tool);
  }
}

type NamedTool = Extract<ToolRef, { name: string }>;

function writeFunctionCall(
  tool: Pick<NamedTool, 'name' | 'namespace'>,
  callId: CallId,
  output: CallOutput,
): CallWriter {
  const place = openItem('fc', output, (id) => ({
    type: 'function_call',
    id,
    call_id: callId,
    ...nameOf(tool),
    arguments: '',
    status: 'in_progress',
  }));
  let wrote = false;

  function write(delta: string): void {
    wrote = true;
    output.emit({ type: 'response.function_call_arguments.delta', ...place, delta });
  }
  return {
    write,
    close(status) {
      // A call without arguments is sent as "" by some backends; clients parse the field as JSON.
      if (!wrote && status === 'completed') write('{}');
      const item = output.itemAt(place.output_index);
      if (item?.type !== 'function_call') throw new RangeError('the open call is not in the snapshot');
      const { name, arguments: whole } = item;
      output.emit({ type: 'response.function_call_arguments.done', ...place, name, arguments: whole });
      output.closeItem(place.output_index, status);
    },
  };
}

function writeCustomCall(tool: NamedTool, callId: CallId, output: CallOutput): CallWriter {
  const reader = createCustomInputReader();
  const place = openItem('ctc', output, (id) => ({
    type: 'custom_tool_call',
    id,
    call_id: callId,
    ...nameOf(tool),
    input: '',
    status: 'in_progress',
  }));

  function emitText(delta: string): void {
    if (delta !== '') output.emit({ type: 'response.custom_tool_call_input.delta', ...place, delta });
  }
  return {
    write: (delta) => emitText(reader.feed(delta)),
    close(status) {
      emitText(reader.end());
      const item = output.itemAt(place.output_index);
      if (item?.type !== 'custom_tool_call') throw new RangeError('the open call is not in the snapshot');
      output.emit({ type: 'response.custom_tool_call_input.done', ...place, input: item.input });
      output.closeItem(place.output_index, status);
    },
  };
}

const BUILT_IN_PREFIXES: { readonly [Kind in BuiltInKind]: ItemIdPrefix } = {
  tool_search: 'tsc',
  local_shell: 'lsh',
  shell: 'sh',
  apply_patch: 'apc',
};

/** These items have no events of their own in every client's list, so they are added when they are whole. */
function writeBuiltInCall(kind: BuiltInKind, callId: CallId, output: CallOutput): CallWriter {
  let whole = '';
  return {
    write(delta) {
      whole += delta;
    },
    close(status) {
      const call = toBuiltInCall(kind, whole);
      if (call === undefined) {
        // Not what the tool takes, or cut: the client is shown what the model wrote, as a call it can refuse.
        const writer = writeFunctionCall({ name: kind }, callId, output);
        if (whole !== '') writer.write(whole);
        writer.close(status);
        return;
      }
      const place = openItem(BUILT_IN_PREFIXES[kind], output, (id) => ({
        ...call,
        id,
        call_id: callId,
        status: 'in_progress',
      }));
      output.closeItem(place.output_index, status);
    },
  };
}

function openItem(prefix: ItemIdPrefix, output: CallOutput, toItem: (id: OutputItem['id']) => OutputItem) {
  const outputIndex = output.nextOutputIndex();
  const id = toItemId(prefix, output.unique, outputIndex);
  output.addItem(toItem(id));
  return { item_id: id, output_index: outputIndex };
}

function nameOf({ name, namespace }: Pick<NamedTool, 'name' | 'namespace'>) {
  return namespace === undefined ? { name } : { name, namespace };
}
