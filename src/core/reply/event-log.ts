import type { OutputItem, ResponseEvent, ResponseResource } from '../../contract/types.ts';
import { ApiError } from '../errors.ts';
import { foldEvent, isOfType } from './fold.ts';
import type { ItemId } from '../../contract/ids.ts';
import { toItemId, type ItemIdPrefix, type UniquePart } from '../ids.ts';
import type { Writable } from '../writable.ts';

type Unnumbered = ResponseEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, 'sequence_number'>
    : never
  : never;

export interface ItemPosition {
  readonly item_id: ItemId;
  readonly output_index: number;
}

export interface EventLog {
  readonly unique: UniquePart;
  readonly snapshot: ResponseResource;
  /** Numbers the event in place and folds it into the snapshot. */
  emit(event: Unnumbered): void;
  addItem(prefix: ItemIdPrefix, toItem: (id: ItemId) => OutputItem): ItemPosition;
  closeItem(position: ItemPosition, item: OutputItem): void;
  itemAt<Type extends OutputItem['type']>(position: ItemPosition, type: Type): Extract<OutputItem, { type: Type }>;
  /** Must be called before something is kept. Throws ApiError when the total is too large. */
  grow(weight: number): void;
  hasRoom(weight: number): boolean;
  isLarge(): boolean;
  take(): readonly ResponseEvent[];
  /** Gives the numbers of the last so many events again, which were taken and are not sent. */
  retract(count: number): void;
}

/** A larger answer would hold the process for more than 0.1 s at a time. */
const MAX_WEIGHT = 8 * 1024 * 1024;
/** The weight of a character that is written, which several events repeat. */
export const TEXT_WEIGHT = 2;
const LARGE_WEIGHT = TEXT_WEIGHT * 256 * 1024;
/** The weight of an item or a part without its text. */
export const POSITION_WEIGHT = 4096;
/** The weight of a piece of state without its text. */
export const DETAIL_WEIGHT = 16;

/** Starts with a response without output, which becomes the snapshot and is changed. */
export function createEventLog(response: ResponseResource, unique: UniquePart): EventLog {
  const log: Writable<EventLog> = {
    unique,
    snapshot: response,
    emit,
    grow,
    hasRoom: (by) => weight + by <= MAX_WEIGHT,
    isLarge: () => weight > LARGE_WEIGHT,
    addItem,
    closeItem,
    itemAt,
    take,
    retract,
  };
  let events: ResponseEvent[] = [];
  let sequenceNumber = 0;
  let weight = 0;

  function emit(event: Unnumbered): void {
    number(event, sequenceNumber);
    sequenceNumber += 1;
    log.snapshot = foldEvent(log.snapshot, event);
    events.push(event);
  }

  function grow(by: number): void {
    weight += by;
    if (weight > MAX_WEIGHT) throw tooMuch();
  }

  function addItem(prefix: ItemIdPrefix, toItem: (id: ItemId) => OutputItem): ItemPosition {
    grow(POSITION_WEIGHT);
    const outputIndex = log.snapshot.output.length;
    const id = toItemId(prefix, unique, outputIndex);
    emit({ type: 'response.output_item.added', output_index: outputIndex, item: toItem(id) });
    return { item_id: id, output_index: outputIndex };
  }

  function closeItem(position: ItemPosition, item: OutputItem): void {
    emit({ type: 'response.output_item.done', output_index: position.output_index, item });
  }

  function itemAt<Type extends OutputItem['type']>(
    position: ItemPosition,
    type: Type,
  ): Extract<OutputItem, { type: Type }> {
    const item = log.snapshot.output[position.output_index];
    if (item === undefined || !isOfType(item, type)) throw new RangeError(`there is no ${type} at this position`);
    return item;
  }

  function take(): readonly ResponseEvent[] {
    const taken = events;
    events = [];
    return taken;
  }

  function retract(count: number): void {
    sequenceNumber -= count;
  }

  return log;
}

/** In place, because a copy would be the most expensive part of an event. */
function number(
  event: Unnumbered & { sequence_number?: number },
  sequenceNumber: number,
): asserts event is ResponseEvent {
  event.sequence_number = sequenceNumber;
}

/** Returns the error for a backend that sends without end. */
export function tooMuch(): ApiError {
  return new ApiError('upstream_invalid_response', { message: 'The backend sent more than this gateway takes.' });
}
