/**
 * State that a backend needs back with the next request: signatures (Gemini answers 400 without
 * them), encrypted reasoning, and the thoughts with the name of their field. The gateway does not
 * interpret it. The client carries it, sealed, in the `encrypted_content` of a reasoning item.
 */

import type { CallState, ChatChunk, MessageState } from '../chat.ts';
import { callStateOf, hasState, messageStateOf, thoughtsFormOf, toJson } from './chunk.ts';
import { plainFieldOf, type Dialect } from '../dialects.ts';
import { DETAIL_WEIGHT, type EventLog } from './event-log.ts';
import { appendText } from './growing-text.ts';
import { isList, isObject, readJson } from '../json.ts';
import type { ReasoningForm } from './reasoning-writer.ts';

/** Only the same backend and model get a state back, because it means nothing to others. */
export interface StateOrigin {
  readonly dialect: string;
  readonly model: string;
}

export type ThoughtsForm = Exclude<Dialect['reasoningField'], 'as-sent' | 'as-used' | null>;

export interface ReplyState extends StateOrigin {
  /** The last state of a reply contains the earlier ones. */
  readonly reply: string;
  readonly thoughts: string;
  /** This is null for a `<think>` block, which can go back in any form. */
  readonly thoughtsForm: ThoughtsForm | null;
  readonly message: MessageState;
  /** Calls without state are listed too, because the calls identify the message. */
  readonly calls: readonly CallOfReply[];
}

export interface CallOfReply extends CallState {
  readonly call_id: string;
}

const VERSION = 1;
const FORMS: readonly unknown[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking-part',
] satisfies ThoughtsForm[];

function isForm(value: unknown): value is ThoughtsForm {
  return FORMS.includes(value);
}

/** Returns undefined for other texts, because older versions sealed only the thoughts. */
export function readReplyState(text: string): ReplyState | undefined {
  const value = readJson(text);
  if (!isObject(value) || value['version'] !== VERSION) return undefined;
  const { dialect, model, reply, thoughts, thoughts_form: form, message, calls } = value;
  if (typeof dialect !== 'string' || typeof model !== 'string' || typeof reply !== 'string') return undefined;
  if (typeof thoughts !== 'string' || !isObject(message) || !isList(calls)) return undefined;
  return {
    dialect,
    model,
    reply,
    thoughts,
    thoughtsForm: isForm(form) ? form : null,
    message: messageStateOf(message),
    calls: calls.filter(isObject).map((call) => ({ call_id: String(call['call_id']), ...callStateOf(call) })),
  };
}

export interface StateOptions extends StateOrigin {
  /** Returns undefined for a state that is too long. */
  readonly seal: (state: string) => string | undefined;
  /** Called when the state is left out, because it or the reply is too long. */
  readonly onLeftOut: () => void;
  /** Whether the caller asks for sealed thoughts, even when plain text could carry them. */
  readonly isAskedFor: boolean;
  readonly reasoningField: Dialect['reasoningField'];
  /** Called with the field in which the model sends its thoughts. */
  readonly onThoughts?: (form: ThoughtsForm) => void;
}

export interface StateCollector {
  /** `isWhole` says that it repeats the deltas before it. */
  readDelta(delta: ChatChunk, isWhole: boolean): void;
  addThoughts(text: string): void;
  /** Returns undefined when nothing needs to be sealed. `calls` are those sent to the client. */
  seal(calls: readonly CallOfReply[]): string | undefined;
  /** Also returns undefined when the last seal contains all opaque state. */
  sealRest(calls: readonly CallOfReply[]): string | undefined;
}

export function createStateCollector(log: EventLog, options: StateOptions & ReasoningForm): StateCollector {
  const { dialect, model, reasoningField, isAskedFor, reasoningOutput } = options;
  const message: CollectedMessageState = {};
  /** Absent when the message has changed: it can have thousands of pieces, which are not written for each seal. */
  let messageJson: string | undefined = '{}';
  let thoughts = '';
  let thoughtsForm: ThoughtsForm | null = null;
  let lastForm: ReturnType<typeof thoughtsFormOf>;
  let sealedOpaque = NOTHING;
  let isTooLong = false;

  function opaqueOf(calls: readonly CallOfReply[]): string {
    const stated = calls.filter(hasState);
    const hidden = reasoningOutput === 'hidden' && goBack() ? thoughts : '';
    return `[${writeMessage()},${JSON.stringify(stated)},${JSON.stringify(hidden)}]`;
  }

  function writeMessage(): string {
    return (messageJson ??= JSON.stringify(message));
  }

  /** Hidden thoughts are in no item, so only the seal can carry them back. */
  function goBack(): boolean {
    return reasoningField === 'as-sent' ? thoughtsForm !== null : reasoningField !== null;
  }

  function seal(calls: readonly CallOfReply[]): string | undefined {
    if (isTooLong) return undefined;
    const opaque = opaqueOf(calls);
    // Plain thoughts go back in the dialect's field, so any other field must be sealed.
    const plainField = plainFieldOf(reasoningField);
    const hasOtherForm = thoughtsForm !== null && plainField !== null && thoughtsForm !== plainField;
    if (opaque === NOTHING && !hasOtherForm && !(isAskedFor && thoughts !== '')) return undefined;
    sealedOpaque = opaque;
    const state = { version: VERSION, dialect, model, reply: log.unique, thoughts, thoughts_form: thoughtsForm };
    const ofMessage = `"message":${writeMessage()},"calls":${JSON.stringify(calls)}`;
    const sealed = options.seal(`${JSON.stringify(state).slice(0, -1)},${ofMessage}}`);
    if (sealed === undefined || !log.hasRoom(sealed.length)) {
      // The state only grows, so the next one would be too long as well.
      isTooLong = true;
      options.onLeftOut();
      return undefined;
    }
    log.grow(sealed.length);
    return sealed;
  }

  return {
    readDelta(delta, isWhole) {
      lastForm = thoughtsFormOf(delta) ?? lastForm;
      const state = messageStateOf(delta);
      if (Object.keys(state).length > 0) messageJson = undefined;
      collectState(log, message, state);
      for (const field of LISTS) {
        const attached = state[field];
        if (attached === undefined) continue;
        growBy(log, attached);
        message[field] = joined(isWhole ? [] : message[field], attached);
      }
      if (state.reasoning_opaque !== undefined) {
        growBy(log, [state.reasoning_opaque]);
        message.reasoning_opaque = state.reasoning_opaque;
      }
    },
    addThoughts(text) {
      // `reasoning_details` go back unchanged and contain these thoughts.
      if (lastForm === 'reasoning_details') return;
      thoughts = appendText(thoughts, text);
      if (lastForm !== undefined && thoughtsForm !== lastForm) options.onThoughts?.(lastForm);
      thoughtsForm = lastForm ?? null;
    },
    seal,
    sealRest: (calls) => (isTooLong || opaqueOf(calls) === sealedOpaque ? undefined : seal(calls)),
  };
}

const NOTHING = JSON.stringify([{}, [], '']);

type MutableFields = Record<string, unknown>;

export interface CollectedState {
  extra_content?: MutableFields;
  provider_specific_fields?: MutableFields;
}

const LISTS = ['reasoning_details', 'thinking_blocks', 'reasoning_items'] as const;

type CollectedMessageState = CollectedState & { [Field in (typeof LISTS)[number]]?: unknown[] } & {
  reasoning_opaque?: string;
};

/** Adds what came with a piece. Throws ApiError when the reply becomes too large. */
export function collectState(log: EventLog, kept: CollectedState, state: CallState): void {
  for (const field of ['extra_content', 'provider_specific_fields'] as const) {
    const attached = state[field];
    if (attached === undefined) continue;
    growBy(log, attached);
    kept[field] = merge(kept[field], attached);
  }
}

function growBy(log: EventLog, attached: object): void {
  log.grow(toJson(attached).length + DETAIL_WEIGHT);
}

/** Google sends a thought and its signature in two chunks, so states merge by provider. */
function merge(kept: MutableFields | undefined, attached: ChatChunk): MutableFields {
  // Without a prototype any field name is safe.
  const merged: MutableFields = kept ?? { __proto__: null };
  for (const [name, value] of Object.entries(attached)) {
    const before = merged[name];
    if (Array.isArray(value)) merged[name] = append(Array.isArray(before) ? before : [], value);
    else if (isObject(value)) merged[name] = Object.assign(isObject(before) ? before : { __proto__: null }, value);
    else merged[name] = value;
  }
  return merged;
}

/** In place, because a stream may bring many short lists. */
function append(list: unknown[], more: readonly unknown[]): unknown[] {
  for (const value of more) list.push(value);
  return list;
}

/** A stream splits a thought and sends its signature as a further piece; a JSON reply does not. */
function joined(kept: unknown[] = [], pieces: readonly unknown[]): unknown[] {
  for (const [index, piece] of pieces.entries()) {
    const last = kept.at(-1);
    if (index === 0 && isObject(last) && isObject(piece) && continues(last, piece)) join(last, piece);
    else kept.push(isObject(piece) ? { ...piece } : piece);
  }
  return kept;
}

/**
 * Two pieces in one list are two thoughts. Encrypted thoughts come whole, and a signature ends a
 * thought.
 */
function continues(last: ChatChunk, piece: ChatChunk): boolean {
  const areOneThought = ['type', 'index'].every((name) => last[name] === piece[name]);
  const isOver = Boolean(last['signature']) || 'data' in last || 'data' in piece;
  return areOneThought && !isOver && (last['id'] ?? piece['id']) === (piece['id'] ?? last['id']);
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'summary', 'thinking']);

function join(last: MutableFields, piece: ChatChunk): void {
  for (const [name, value] of Object.entries(piece)) {
    const before = last[name];
    if (TEXTS.has(name) && typeof before === 'string' && typeof value === 'string') last[name] = before + value;
    else if (before === undefined || (value !== null && value !== '')) last[name] = value;
  }
}
