import type { OutputItem } from '../../contract/types.ts';
import { toBuiltInCall } from './built-in-calls.ts';
import { createCustomInputReader, MAX_ARGUMENTS } from './custom-input.ts';
import type { EventLog } from './event-log.ts';
import type { CallId } from '../../contract/ids.ts';
import type { ItemIdPrefix } from '../ids.ts';
import { nameOf, type BuiltInKind, type ToolName, type ToolRef } from '../request/tool-names.ts';
import { unreachable } from '../errors.ts';
import { objectInString } from '../json-size.ts';
import { createPairReader, toWellFormedJson } from '../well-formed.ts';

export interface CallWriter {
  /** Whether the client has been told of the item before `close`. */
  readonly hasItem: boolean;
  write(delta: string): void;
  close(status: OutputItem['status']): void;
}

/** Begins the item of a call. `close` adds the item of a built-in tool as a whole. */
export function openCallWriter(tool: ToolRef, callId: CallId, log: EventLog): CallWriter {
  switch (tool.kind) {
    case 'function':
      return writeFunctionCall(tool, callId, log);
    case 'custom':
      return writeCustomCall(tool, callId, log);
    case 'tool_search':
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
      return writeBuiltInCall(tool.kind, callId, log);
    default:
      return unreachable(tool);
  }
}

type NamedTool = Extract<ToolRef, { name: string }>;

function writeFunctionCall(tool: ToolName, callId: CallId, log: EventLog): CallWriter {
  const position = log.addItem('fc', (id) => ({
    type: 'function_call',
    id,
    call_id: callId,
    ...nameOf(tool),
    arguments: '',
    status: 'in_progress',
  }));
  const pairs = createPairReader();
  let wrote = false;
  let quoted = '';

  function write(delta: string): void {
    if (delta === '') return;
    wrote = true;
    log.emit({ type: 'response.function_call_arguments.delta', ...position, delta });
  }

  /** Arguments in a string in a string are known at their end (quarkiverse/quarkus-langchain4j PR#2642). */
  function read(delta: string): void {
    if (!wrote && (quoted !== '' || delta.startsWith('"'))) quoted += delta;
    else write(delta);
  }
  return {
    hasItem: true,
    write: (delta) => read(pairs.feed(delta)),
    close(status) {
      read(pairs.end());
      write(objectInString(quoted) ?? quoted);
      // Some backends send "" for a call without arguments, but clients parse the field as JSON.
      if (!wrote && status === 'completed') write('{}');
      const item = log.itemAt(position, 'function_call');
      const { name, arguments: whole } = item;
      log.emit({ type: 'response.function_call_arguments.done', ...position, name, arguments: whole });
      log.closeItem(position, { ...item, status });
    },
  };
}

function writeCustomCall(tool: NamedTool, callId: CallId, log: EventLog): CallWriter {
  const reader = createCustomInputReader();
  const pairs = createPairReader();
  const position = log.addItem('ctc', (id) => ({
    type: 'custom_tool_call',
    id,
    call_id: callId,
    ...nameOf(tool),
    input: '',
    status: 'in_progress',
  }));

  function emitText(delta: string): void {
    if (delta !== '') log.emit({ type: 'response.custom_tool_call_input.delta', ...position, delta });
  }
  return {
    hasItem: true,
    write: (delta) => emitText(pairs.feed(reader.feed(delta))),
    close(status) {
      emitText(pairs.feed(reader.end()) + pairs.end());
      const item = log.itemAt(position, 'custom_tool_call');
      log.emit({ type: 'response.custom_tool_call_input.done', ...position, input: item.input });
      log.closeItem(position, { ...item, status });
    },
  };
}

const BUILT_IN_PREFIXES: { readonly [Kind in BuiltInKind]: ItemIdPrefix } = {
  tool_search: 'tsc',
  local_shell: 'lsh',
  shell: 'sh',
  apply_patch: 'apc',
};

/** Not every client knows events for these arguments, so the item comes when it is complete. */
function writeBuiltInCall(kind: BuiltInKind, callId: CallId, log: EventLog): CallWriter {
  let whole = '';
  return {
    hasItem: false,
    write(delta) {
      whole += delta;
    },
    close(status) {
      const isLong = whole.length > MAX_ARGUMENTS;
      const call = isLong ? undefined : toBuiltInCall(kind, toWellFormedJson(whole.toWellFormed()));
      if (call === undefined) {
        // Invalid, cut or very long arguments go out as a function call, which the client can refuse.
        const writer = writeFunctionCall({ name: kind }, callId, log);
        if (whole !== '') writer.write(whole);
        writer.close(status);
        return;
      }
      const prefix = BUILT_IN_PREFIXES[kind];
      const position = log.addItem(prefix, (id) => ({ ...call, id, call_id: callId, status: 'in_progress' }));
      log.closeItem(position, { ...call, id: position.item_id, call_id: callId, status });
    },
  };
}
