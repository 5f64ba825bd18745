import type { OutputItem, ResponseEvent, ResponseResource } from '../../contract/types.ts';
import { ApiError } from '../errors.ts';
import { foldEvent, isOfType } from './fold.ts';
import type { ItemId } from '../../contract/ids.ts';
import { toItemId, type ItemIdPrefix, type UniquePart } from '../ids.ts';
import type { Writable } from '../writable.ts';

/** An event before it has its number. */
type Unnumbered = ResponseEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, 'sequence_number'>
    : never
  : never;

/** Where an item stands, as its events name it. */
export interface ItemPlace {
  readonly item_id: ItemId;
  readonly output_index: number;
}

/** The events of one response and the snapshot which they make. Writers of items tell their events here. */
export interface EventLog {
  readonly unique: UniquePart;
  /** The fold of all events so far. */
  readonly snapshot: ResponseResource;
  /** Takes an event over, numbers it and folds it into the snapshot. Nothing else does either. */
  emit(event: Unnumbered): void;
  /** Begins an item at the next output index. */
  addItem(prefix: ItemIdPrefix, toItem: (id: ItemId) => OutputItem): ItemPlace;
  /** Ends an item, with what it has become. */
  closeItem(place: ItemPlace, item: OutputItem): void;
  /** The item as it stands. Throws a RangeError when it is of another type. */
  itemAt<Type extends OutputItem['type']>(place: ItemPlace, type: Type): Extract<OutputItem, { type: Type }>;
  /** To be called before anything is kept, with its size. Throws ApiError when all of it would be too much. */
  grow(weight: number): void;
  /** The events since the last time. */
  take(): readonly ResponseEvent[];
}

/** UTF-16 code units of text, reasoning and arguments, and what stands beside them, weighed in the same unit. */
const MAX_WEIGHT = 32 * 1024 * 1024;
/** An item or a part of one: what its objects and events take besides their text. */
export const PLACE_WEIGHT = 4096;
/** One log probability or one citation. */
export const DETAIL_WEIGHT = 16;

/** Begins with a response that has no output yet. It becomes the snapshot and is changed. */
export function createEventLog(response: ResponseResource, unique: UniquePart): EventLog {
  const log: Writable<EventLog> = { unique, snapshot: response, emit, grow, addItem, closeItem, itemAt, take };
  let events: ResponseEvent[] = [];
  let sequenceNumber = 0;
  let weight = 0;

  function emit(unnumbered: Unnumbered): void {
    // In place: a copy of each event would be the dearest part of it.
    const event: ResponseEvent = Object.assign(unnumbered, { sequence_number: sequenceNumber });
    sequenceNumber += 1;
    log.snapshot = foldEvent(log.snapshot, event);
    events.push(event);
  }

  function grow(by: number): void {
    weight += by;
    if (weight > MAX_WEIGHT) throw tooMuch();
  }

  function addItem(prefix: ItemIdPrefix, toItem: (id: ItemId) => OutputItem): ItemPlace {
    grow(PLACE_WEIGHT);
    const outputIndex = log.snapshot.output.length;
    const id = toItemId(prefix, unique, outputIndex);
    emit({ type: 'response.output_item.added', output_index: outputIndex, item: toItem(id) });
    return { item_id: id, output_index: outputIndex };
  }

  function closeItem(place: ItemPlace, item: OutputItem): void {
    emit({ type: 'response.output_item.done', output_index: place.output_index, item });
  }

  function itemAt<Type extends OutputItem['type']>(place: ItemPlace, type: Type): Extract<OutputItem, { type: Type }> {
    const item = log.snapshot.output[place.output_index];
    if (item === undefined || !isOfType(item, type)) throw new RangeError(`there is no ${type} at this place`);
    return item;
  }

  function take(): readonly ResponseEvent[] {
    const taken = events;
    events = [];
    return taken;
  }

  return log;
}

/** The error for a backend that sends without end. */
export function tooMuch(): ApiError {
  return new ApiError('upstream_invalid_response', { message: 'The backend sent more than this gateway takes.' });
}
