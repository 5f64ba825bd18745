/**
 * What a backend attaches to its answer and wants back with the next request, although nobody here reads it: signatures of
 * thoughts (Gemini answers 400 without them), encrypted reasoning, and the thoughts under the name under which they came. The
 * client carries it, sealed, in the `encrypted_content` of a reasoning item.
 */

import type { CallState, ChatChunk, MessageState } from '../chat.ts';
import { callStateOf, messageStateOf, thoughtsFormOf, toJson } from './chunk.ts';
import type { Dialect } from '../dialects.ts';
import { DETAIL_WEIGHT, type EventLog } from './event-log.ts';
import { isList, isObject, readJson } from '../json.ts';
import type { ReasoningOptions } from './reasoning-writer.ts';

/** Who sent it, and alone gets it back: to another backend or model it means nothing. */
export interface StateOrigin {
  /** The name of the kind of backend. */
  readonly dialect: string;
  /** As the backend knows it. */
  readonly model: string;
}

type ThoughtsForm = NonNullable<Dialect['reasoningField']>;

/** All that a reply has attached when it is sealed. */
export interface ReplyState extends StateOrigin {
  /** Marks the reply: of several states of one reply the last says all that the others say. */
  readonly reply: string;
  /** As they came, in one piece; empty where `reasoning_details` alone hold them. */
  readonly thoughts: string;
  /** Null for a `<think>` block, which can go back in any form. */
  readonly thoughtsForm: ThoughtsForm | null;
  readonly message: MessageState;
  /** The calls of the reply, also those without a state: they tell which message all of this belongs to. */
  readonly calls: readonly CallOfReply[];
}

export interface CallOfReply extends CallState {
  /** As the client knows it. */
  readonly call_id: string;
}

const VERSION = 1;
const FORMS: readonly unknown[] = ['reasoning_content', 'reasoning', 'thinking-part'] satisfies ThoughtsForm[];

function isForm(value: unknown): value is ThoughtsForm {
  return FORMS.includes(value);
}

/** Undefined for a text that is no state: what was sealed before there were states is the thoughts alone. */
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
  /** Makes the `encrypted_content` that the client gives back next time; undefined for a state that is too long. */
  readonly seal: (state: string) => string | undefined;
  /** The caller wants thoughts sealed too, although they go back without that. */
  readonly isAskedFor: boolean;
  /** Where thoughts go back without a seal. */
  readonly reasoningField: Dialect['reasoningField'];
}

/** Collects the state of a reply while it comes in. */
export interface StateCollector {
  /** Takes what is attached to the message. Throws ApiError when it is too much. */
  readDelta(delta: ChatChunk): void;
  addThoughts(text: string): void;
  /** All that has come so far, as `encrypted_content`; undefined where nothing has to be sealed. The calls are those told of. */
  seal(calls: readonly CallOfReply[]): string | undefined;
  /** The same; undefined also where the last seal holds everything that no plain text can carry. */
  sealRest(calls: readonly CallOfReply[]): string | undefined;
}

/** Begins before the first chunk. */
export function createStateCollector(
  log: EventLog,
  options: StateOptions & Pick<ReasoningOptions, 'reasoningOutput'>,
): StateCollector {
  const { dialect, model, reasoningField, isAskedFor, reasoningOutput } = options;
  /** No item says the thoughts that the backend takes back. */
  const areThoughtsOpaque = reasoningOutput === 'hidden' && reasoningField !== null;
  const message: CollectedState = {};
  let thoughts = '';
  let thoughtsForm: ThoughtsForm | null = null;
  let lastForm: ReturnType<typeof thoughtsFormOf>;
  let sealedOpaque = NOTHING;
  let isTooLong = false;

  /** What no plain text can carry, as one text to compare. */
  function opaqueOf(calls: readonly CallOfReply[]): string {
    const stated = calls.filter(({ extra_content: extra }) => extra !== undefined);
    return JSON.stringify([message, stated, areThoughtsOpaque ? thoughts : '']);
  }

  function seal(calls: readonly CallOfReply[]): string | undefined {
    const opaque = opaqueOf(calls);
    // Plain text goes back in the dialect's own form, so another one has to be kept.
    const hasOtherForm = thoughtsForm !== null && reasoningField !== null && thoughtsForm !== reasoningField;
    if (isTooLong || (opaque === NOTHING && !hasOtherForm && !(isAskedFor && thoughts !== ''))) return undefined;
    sealedOpaque = opaque;
    const state = { version: VERSION, dialect, model, reply: log.unique, thoughts, thoughts_form: thoughtsForm };
    const sealed = options.seal(JSON.stringify({ ...state, message, calls }));
    // It only grows, so the next one would be too long as well.
    isTooLong = sealed === undefined;
    log.grow(sealed?.length ?? 0);
    return sealed;
  }

  return {
    readDelta(delta) {
      lastForm = thoughtsFormOf(delta) ?? lastForm;
      const { extra_content: extra, reasoning_details: details, thinking_blocks: blocks } = messageStateOf(delta);
      for (const attached of [extra, details, blocks]) if (attached !== undefined) growBy(log, attached);
      if (extra !== undefined) message.extra_content = mergeExtra(message.extra_content, extra);
      if (details !== undefined) joinPieces((message.reasoning_details ??= []), details);
      if (blocks !== undefined) joinPieces((message.thinking_blocks ??= []), blocks);
    },
    addThoughts(text) {
      // These go back as they are.
      if (lastForm === 'reasoning_details') return;
      thoughts += text;
      thoughtsForm = lastForm ?? null;
    },
    seal,
    sealRest: (calls) => (opaqueOf(calls) === sealedOpaque ? undefined : seal(calls)),
  };
}

const NOTHING = JSON.stringify([{}, [], '']);

type MutableFields = Record<string, unknown>;

interface CollectedState {
  extra_content?: MutableFields;
  reasoning_details?: unknown[];
  thinking_blocks?: unknown[];
}

/** To be called before it is kept. Throws ApiError when all that is kept would be too much. */
export function growBy(log: EventLog, attached: object): void {
  log.grow(toJson(attached).length + DETAIL_WEIGHT);
}

/** Takes over what a further chunk says, provider by provider: Google tells of a thought and of its signature in two. */
export function mergeExtra(kept: MutableFields | undefined, extra: ChatChunk): MutableFields {
  // Without a prototype a field may have any name.
  const merged: MutableFields = kept ?? { __proto__: null };
  for (const [provider, fields] of Object.entries(extra)) {
    const before = merged[provider];
    merged[provider] = isObject(fields)
      ? Object.assign(isObject(before) ? before : { __proto__: null }, fields)
      : fields;
  }
  return merged;
}

/** Streams cut a thought into pieces, and send its signature as one more of them: together they are what JSON replies hold. */
function joinPieces(kept: unknown[], pieces: readonly unknown[]): void {
  for (const [index, piece] of pieces.entries()) {
    const last = kept.at(-1);
    if (index === 0 && isObject(last) && isObject(piece) && continues(last, piece)) join(last, piece);
    else kept.push(isObject(piece) ? { ...piece } : piece);
  }
}

/** Two pieces in one list are two thoughts. Encrypted ones come whole, and after its signature a thought is over. */
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
