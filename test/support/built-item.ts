/**
 * The life of one output item as its events tell it. It is a fold of its own, so that the item at the end is checked against
 * something other than `src/core/reply/fold.ts`.
 */

import { AssertionError, expect } from 'chai';
import type { LogProb, OutputItem, ResponseEvent, UrlCitation } from '../../src/contract/types.ts';

/** The events that speak of an item which was added before. */
export type ItemEvent =
  | Extract<ResponseEvent, { item_id: unknown }>
  | Extract<ResponseEvent, { type: 'response.output_item.done' }>;

export interface BuiltItem {
  readonly added: OutputItem;
  /** The item as its `output_item.done` shows it; undefined while it is open. */
  readonly done: OutputItem | undefined;
  /** The item as its events so far make it, open or done. */
  soFar(): OutputItem;
  take(event: ItemEvent): void;
}

type PartType = 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text';

interface BuiltPart {
  readonly type: PartType;
  text: string;
  readonly annotations: UrlCitation[];
  readonly logprobs: LogProb[];
  /** Its text was said to be complete. */
  said: boolean;
  done: boolean;
}

const ID_PREFIX: Readonly<Record<OutputItem['type'], string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
  tool_search_call: 'tsc_',
  local_shell_call: 'lsh_',
  shell_call: 'sh_',
  apply_patch_call: 'apc_',
  image_generation_call: 'ig_',
  compaction: 'cmp_',
};
const PARTS_OF: Partial<Record<OutputItem['type'], readonly PartType[]>> = {
  message: ['output_text', 'refusal'],
  reasoning: ['reasoning_text'],
};

/** Throws an AssertionError saying which promise is broken. */
export function must(condition: boolean, promise: string): asserts condition {
  if (!condition) throw new AssertionError(promise);
}

/** Whether the item is a call of a tool. Calls may be open beside each other. */
export function isCall(item: OutputItem): item is Extract<OutputItem, { call_id: unknown }> {
  return 'call_id' in item;
}

/** What no event but the last tells. */
function toldAtEnd(item: OutputItem): Partial<OutputItem> {
  if ('encrypted_content' in item) return { encrypted_content: item.encrypted_content };
  if (item.type !== 'image_generation_call') return {};
  return { result: item.result, ...(item.output_format !== undefined && { output_format: item.output_format }) };
}

/** Begins with the item of an `output_item.added`, which has to be empty, except for a call that is told as a whole. */
export function buildItem(item: OutputItem): BuiltItem {
  expectEmpty(item);
  const added = structuredClone(item);
  const content: BuiltPart[] = [];
  const summary: BuiltPart[] = [];
  /** What a call is told in pieces: its arguments, or the input of a custom tool. */
  let written = '';
  let writtenSaid = false;
  let done: OutputItem | undefined;

  return {
    added,
    get done() {
      return done;
    },
    soFar: () => done ?? built('in_progress'),
    take(event) {
      must(done === undefined, 'nothing is said of an item after its output_item.done');
      if (event.type === 'response.output_item.done') {
        finish(event.item);
        return;
      }
      must(event.item_id === added.id, 'item_id is the id of the item at output_index');
      takeContent(event);
    },
  };

  function takeContent(event: Extract<ResponseEvent, { item_id: unknown }>): void {
    switch (event.type) {
      case 'response.content_part.added':
        addPart(content, event.content_index, event.part.type);
        must(PARTS_OF[added.type]?.includes(event.part.type) === true, 'a part is of a type that its item has');
        expect(event.part, 'a part begins empty').to.deep.equal(toPart(last(content)));
        return;
      case 'response.output_text.delta': {
        const part = openPart(content, event.content_index, 'output_text');
        part.text += event.delta;
        part.logprobs.push(...event.logprobs);
        return;
      }
      case 'response.refusal.delta':
        openPart(content, event.content_index, 'refusal').text += event.delta;
        return;
      case 'response.reasoning_text.delta':
        openPart(content, event.content_index, 'reasoning_text').text += event.delta;
        return;
      case 'response.output_text.annotation.added': {
        const { annotations } = openPart(content, event.content_index, 'output_text');
        must(event.annotation_index === annotations.length, 'annotation_index counts the annotations of a part');
        annotations.push(event.annotation);
        return;
      }
      case 'response.output_text.done': {
        const part = openPart(content, event.content_index, 'output_text');
        expect(event.logprobs, 'the logprobs of the deltas are those of output_text.done').to.deep.equal(part.logprobs);
        sayWhole(part, event.text);
        return;
      }
      case 'response.refusal.done':
        sayWhole(openPart(content, event.content_index, 'refusal'), event.refusal);
        return;
      case 'response.reasoning_text.done':
        sayWhole(openPart(content, event.content_index, 'reasoning_text'), event.text);
        return;
      case 'response.content_part.done':
        closePart(content, event.content_index, event.part);
        return;
      case 'response.reasoning_summary_part.added':
        must(added.type === 'reasoning', 'only a reasoning item has a summary');
        addPart(summary, event.summary_index, event.part.type);
        expect(event.part, 'a summary part begins empty').to.deep.equal(toPart(last(summary)));
        return;
      case 'response.reasoning_summary_text.delta':
        openPart(summary, event.summary_index, 'summary_text').text += event.delta;
        return;
      case 'response.reasoning_summary_text.done':
        sayWhole(openPart(summary, event.summary_index, 'summary_text'), event.text);
        return;
      case 'response.reasoning_summary_part.done':
        closePart(summary, event.summary_index, event.part);
        return;
      case 'response.function_call_arguments.delta':
        must(added.type === 'function_call' && !writtenSaid, 'arguments come before function_call_arguments.done');
        written += event.delta;
        return;
      case 'response.function_call_arguments.done':
        must(added.type === 'function_call' && !writtenSaid, 'function_call_arguments.done comes once');
        must(event.arguments === written, 'the arguments at their end are the deltas put together');
        must(event.name === added.name, 'function_call_arguments.done names the called function');
        writtenSaid = true;
        return;
      case 'response.custom_tool_call_input.delta':
        must(added.type === 'custom_tool_call' && !writtenSaid, 'input comes before custom_tool_call_input.done');
        written += event.delta;
        return;
      case 'response.custom_tool_call_input.done':
        must(added.type === 'custom_tool_call' && !writtenSaid, 'custom_tool_call_input.done comes once');
        must(event.input === written, 'the input at its end is the deltas put together');
        writtenSaid = true;
        return;
      default:
        throw new AssertionError(`${(event as ResponseEvent).type} is an event of the Responses format`);
    }
  }

  function finish(item: OutputItem): void {
    must(item.status === 'completed' || item.status === 'incomplete', 'an item ends completed or incomplete');
    must(
      [...content, ...summary].every((part) => part.done),
      'all parts of an item are done before it is',
    );
    const inPieces = added.type === 'function_call' || added.type === 'custom_tool_call';
    must(!inPieces || writtenSaid, 'a call is done after function_call_arguments.done');
    const whole = built(item.status);
    expect(item, 'an item at its end is what its events said').to.deep.equal({ ...whole, ...toldAtEnd(item) });
    done = structuredClone(item);
  }

  function built(status: OutputItem['status']): OutputItem {
    switch (added.type) {
      case 'message':
        return { ...added, status, content: content.map(toPart) } as OutputItem;
      case 'reasoning': {
        const shown = content.length > 0 ? { content: content.map(toPart) } : {};
        return { ...added, status, summary: summary.map(toPart), ...shown } as OutputItem;
      }
      case 'function_call':
        return { ...added, status, arguments: written };
      case 'custom_tool_call':
        return { ...added, status, input: written };
      default:
        return { ...added, status };
    }
  }
}

function expectEmpty(item: OutputItem): void {
  must(item.status === 'in_progress', 'an item is in progress when it is added');
  must(item.id.startsWith(ID_PREFIX[item.type]), 'the id of an item begins with the prefix of its type');
  if (item.type === 'message') expect(item.content, 'a message begins without parts').to.deep.equal([]);
  if (item.type === 'reasoning') {
    expect(item.summary, 'reasoning begins without a summary').to.deep.equal([]);
    must(item.content === undefined, 'reasoning begins without content');
  }
  if (item.type === 'function_call') must(item.arguments === '', 'a call begins without arguments');
  if (item.type === 'compaction') must(item.encrypted_content === '', 'a compaction begins without content');
  if (item.type === 'custom_tool_call') must(item.input === '', 'a custom tool call begins without input');
  if (isCall(item)) {
    must(item.call_id !== '', 'a call has its call_id from the beginning');
    must(!('name' in item) || item.name !== '', 'a call has its name from the beginning');
  }
}

function addPart(parts: BuiltPart[], index: number, type: PartType): void {
  must(index === parts.length, 'parts are numbered from 0 without a gap');
  must(
    parts.every((part) => part.done),
    'a part is done before the next begins',
  );
  parts.push({ type, text: '', annotations: [], logprobs: [], said: false, done: false });
}

function openPart(parts: readonly BuiltPart[], index: number, type: PartType): BuiltPart {
  const part = parts[index];
  must(part !== undefined && part.type === type, `a delta of ${type} belongs to an added part of that type`);
  must(!part.said && !part.done, 'nothing is added to a part after its text is said to be complete');
  return part;
}

function sayWhole(part: BuiltPart, text: string): void {
  must(part.text === text, 'the text at its end is the deltas put together');
  part.said = true;
}

function closePart(parts: readonly BuiltPart[], index: number, shown: unknown): void {
  const part = parts[index];
  must(part !== undefined && part.said && !part.done, 'a part is done once, and after its text is');
  expect(shown, 'a part at its end is what its events said').to.deep.equal(toPart(part));
  part.done = true;
}

function toPart({ type, text, annotations, logprobs }: BuiltPart): object {
  if (type === 'output_text') return { type, text, annotations, logprobs };
  return type === 'refusal' ? { type, refusal: text } : { type, text };
}

function last(parts: readonly BuiltPart[]): BuiltPart {
  const part = parts.at(-1);
  must(part !== undefined, 'a part was added');
  return part;
}
