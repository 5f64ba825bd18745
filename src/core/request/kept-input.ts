/**
 * What of a long input is still told to the backend. A compaction item stands for all that is before it: of that only the
 * standing instructions and the latest words of the user are told beside it, whether the client has left the rest out or not.
 */

import type { CreateResponse, InputItem, InputMessage, KeptMessage } from '../../contract/types.ts';
import { toItemId, type UniquePart } from '../ids.ts';
import { isKnownType } from './items.ts';

/** What is kept of the user's messages, in UTF-16 code units: whole ones, the newest first. The summary speaks of the others. */
const MAX_KEPT_LENGTH = 64 * 1024;
const MIN_KEPT_LENGTH = 4 * 1024;
/** What an image or a file counts for, however large it is. */
const MEDIA_LENGTH = 4 * 1024;

/** How many tokens of input are too many, as the request says; undefined when it does not. */
export function compactThresholdOf({ context_management: entries = [] }: CreateResponse): number | undefined {
  return entries.find(({ type }) => type === 'compaction')?.compact_threshold;
}

/** How much of the user's messages is kept where so many tokens are too many: a quarter of them, at about four units a token. */
export function keptLengthFor(threshold: number | undefined): number {
  return Math.min(MAX_KEPT_LENGTH, threshold ?? MAX_KEPT_LENGTH);
}

/** Says of each item, by its index, whether the backend is told of it: of all of them where no compaction is among them. */
export function inForceOf(items: readonly InputItem[], maxKeptLength: number): (index: number) => boolean {
  const compaction = items.findLastIndex(({ type }) => type === 'compaction');
  if (compaction < 0) return () => true;
  const kept = keptBefore(items, compaction, maxKeptLength);
  return (index) => index >= compaction || kept.has(index);
}

/**
 * Where the turn begins in which the conversation is: what the model said and called last, with what came back and was said
 * since. It is told as it is, since a call waits for its output and a question for its answer.
 */
export function currentTurnOf(items: readonly InputItem[]): number {
  let start = items.length;
  while (is(items[start - 1], (item) => !isOfModel(item) && item.type !== 'compaction')) start -= 1;
  while (is(items[start - 1], (item) => isOfModel(item) || isSilent(item))) start -= 1;
  return start;
}

/** Whether a compaction in front of the item at this index would leave anything out that is told now. */
export function leavesOut(items: readonly InputItem[], start: number, maxKeptLength: number): boolean {
  const isInForce = inForceOf(items, maxKeptLength);
  const kept = keptBefore(items, start, maxKeptLength);
  return items.slice(0, start).some((item, index) => isInForce(index) && saysSomething(item) && !kept.has(index));
}

/**
 * The messages that stand before the compaction item in the place of a window of this length, without their images and
 * files. Those of the user take a quarter of it at most, so that a long window becomes a shorter one.
 */
export function keptMessages(items: readonly InputItem[], inputLength: number, unique: UniquePart): KeptMessage[] {
  const maxKeptLength = Math.min(MAX_KEPT_LENGTH, Math.max(MIN_KEPT_LENGTH, Math.floor(inputLength / 4)));
  const kept = keptBefore(items, items.length, maxKeptLength, LEFT_OUT.length);
  return items.flatMap((item, index) => {
    if (!kept.has(index) || item.type !== 'message' || item.role === 'assistant') return [];
    const content = toTexts(item.content);
    if (content.length === 0) return [];
    const id = item.id ?? toItemId('msg', unique, index);
    return [{ type: 'message', id, status: 'completed', role: item.role, content }];
  });
}

/** The indexes of what is kept of the items before this one. */
function keptBefore(
  items: readonly InputItem[],
  end: number,
  maxKeptLength: number,
  mediaLength = MEDIA_LENGTH,
): ReadonlySet<number> {
  const kept = new Set<number>();
  let room = maxKeptLength;
  for (let index = end - 1; index >= 0; index -= 1) {
    const item = items[index];
    if (item?.type !== 'message' || item.role === 'assistant') continue;
    if (item.role === 'user') room -= lengthOf(item, mediaLength);
    if (item.role !== 'user' || room >= 0) kept.add(index);
  }
  return kept;
}

function lengthOf({ content }: InputMessage, mediaLength: number): number {
  if (typeof content === 'string') return content.length;
  return content.reduce((sum, part) => sum + ('text' in part ? part.text.length : mediaLength), 0);
}

function toTexts(content: InputMessage['content']): KeptMessage['content'] {
  if (typeof content === 'string') return toText(content);
  return content.flatMap((part) => toText('text' in part ? part.text : LEFT_OUT));
}

function toText(text: string): KeptMessage['content'] {
  return text === '' ? [] : [{ type: 'input_text', text }];
}

const LEFT_OUT = '[What was attached here is not shown any more. The summary says what mattered of it.]';

/** A compaction is summed up by the next one. */
function saysSomething(item: InputItem): boolean {
  return item.type !== 'compaction' && !isSilent(item);
}

/** Tools are offered, and updates hold, wherever they stand. */
function isSilent({ type }: InputItem): boolean {
  return type === 'additional_tools' || type === 'configuration_update' || !isKnownType(type);
}

const OF_MODEL = new Set<InputItem['type']>([
  'reasoning',
  'function_call',
  'custom_tool_call',
  'tool_search_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
]);

function isOfModel(item: InputItem): boolean {
  return item.type === 'message' ? item.role === 'assistant' : OF_MODEL.has(item.type);
}

function is(item: InputItem | undefined, kind: (item: InputItem) => boolean): boolean {
  return item !== undefined && kind(item);
}
