import type { CreateResponse, InputItem, InputMessage, KeptMessage } from '../../contract/types.ts';
import { toItemId, type UniquePart } from '../ids.ts';
import { isHostedCallType } from './hosted-calls.ts';
import { isTranslatedType, type OpenSeal } from './items.ts';

/** The limits count UTF-16 code units. Only whole messages are kept, the newest first. */
const MAX_KEPT_LENGTH = 64 * 1024;
const MIN_KEPT_LENGTH = 4 * 1024;
const MEDIA_LENGTH = 4 * 1024;

/** Returns the compaction threshold in input tokens; undefined when the request has none. */
export function compactThresholdOf({ context_management: entries = [] }: CreateResponse): number | undefined {
  return entries.find(({ type }) => type === 'compaction')?.compact_threshold;
}

/** Returns the length to keep: a quarter of the threshold, at about four code units per token. */
export function keptLengthFor(threshold: number | undefined): number {
  return Math.min(MAX_KEPT_LENGTH, threshold ?? MAX_KEPT_LENGTH);
}

/**
 * Returns a function that says, by the index of an item, whether the backend gets it. A compaction
 * that cannot be opened replaces nothing.
 */
export function inForceOf(
  items: readonly InputItem[],
  maxKeptLength: number,
  openCompaction: OpenSeal | undefined,
): (index: number) => boolean {
  const compaction = items.findLastIndex(
    (item) => item.type === 'compaction' && openCompaction?.(item.encrypted_content) !== undefined,
  );
  if (compaction < 0) return () => true;
  const kept = keptBefore(items, compaction, maxKeptLength);
  return (index) => index >= compaction || kept.has(index);
}

/**
 * Returns the index at which the current turn begins. The turn stays unchanged, because a call
 * needs its output and a question its answer.
 */
export function currentTurnOf(items: readonly InputItem[]): number {
  let start = items.length;
  // Some clients replay the thoughts of a turn after the outputs of its calls.
  while (items[start - 1]?.type === 'reasoning') start -= 1;
  while (is(items[start - 1], (item) => !isOfModel(item) && item.type !== 'compaction')) start -= 1;
  while (is(items[start - 1], (item) => isOfModel(item) || isSilent(item))) start -= 1;
  return start;
}

/** Whether a compaction before this index would leave out anything that the backend gets now. */
export function leavesOut(
  items: readonly InputItem[],
  start: number,
  maxKeptLength: number,
  openCompaction: OpenSeal | undefined,
): boolean {
  const isInForce = inForceOf(items, maxKeptLength, openCompaction);
  const kept = keptBefore(items, start, maxKeptLength);
  return items.slice(0, start).some((item, index) => isInForce(index) && hasContent(item) && !kept.has(index));
}

/**
 * Returns the messages to keep before a compaction, without media. User messages take at most a
 * quarter of the length, so that the result is shorter than the input.
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

/** The next compaction includes the summary of an earlier one. */
function hasContent(item: InputItem): boolean {
  return item.type !== 'compaction' && !isSilent(item);
}

/** Tools and updates hold wherever their items are. */
function isSilent({ type }: InputItem): boolean {
  return type === 'additional_tools' || type === 'configuration_update' || !isTranslatedType(type);
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
  return item.type === 'message' ? item.role === 'assistant' : OF_MODEL.has(item.type) || isHostedCallType(item.type);
}

function is(item: InputItem | undefined, kind: (item: InputItem) => boolean): boolean {
  return item !== undefined && kind(item);
}
