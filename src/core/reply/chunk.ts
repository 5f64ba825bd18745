/** Backends are not trusted: a field of the wrong type counts as absent. */

import type { LogProb, TopLogProb, UrlCitation } from '../../contract/types.ts';
import type { CallState, ChatChunk, MessageState } from '../chat.ts';
import { ApiError } from '../errors.ts';
import { endOf } from './finish-reason.ts';
import { toDelta } from './completion.ts';
import { isList, isObject, listOf } from '../json.ts';

/** Returns the choice with index 0. Most answers have no other. */
export function choiceOf(chunk: ChatChunk): ChatChunk | undefined {
  return listOf(chunk['choices']).find(
    (choice, position): choice is ChatChunk => isObject(choice) && indexOf(choice, position) === 0,
  );
}

/** Backends are not trusted, and each choice takes memory. */
export const MAX_CHOICES = 1024;

export interface IndexedChoice {
  readonly index: number;
  readonly choice: ChatChunk;
}

/** Returns all choices by their indexes. One without an index has that of its position. */
export function choicesOf(chunk: ChatChunk): IndexedChoice[] {
  const choices: IndexedChoice[] = [];
  const given = listOf(chunk['choices']);
  // This runs for every chunk, where `flatMap` would take longer than all else.
  for (let position = 0; position < given.length; position += 1) {
    const choice = given[position];
    if (isObject(choice)) choices.push({ index: indexOf(choice, position), choice });
  }
  return choices.length < 2 ? choices : choices.toSorted((one, other) => one.index - other.index);
}

function indexOf(choice: ChatChunk, position: number): number {
  return typeof choice['index'] === 'number' ? choice['index'] : position;
}

/** Returns the delta. Some backends send a `message` instead. */
export function deltaOf(choice: ChatChunk): ChatChunk {
  const { delta } = choice;
  return messageOf(choice) ?? (isObject(delta) ? delta : {});
}

/** Returns the message in the place of a delta; undefined where there is a delta. */
export function messageOf(choice: ChatChunk): ChatChunk | undefined {
  const { message } = choice;
  if (!isObject(message)) return undefined;
  const { delta } = choice;
  return isObject(delta) && Object.keys(delta).length > 0 ? undefined : toDelta(message);
}

/**
 * Returns the reason in lower case. Some backends send null, "", "null" (DashScope) or "None" (early
 * SGLang, vercel/ai#2548) in all chunks but the last.
 */
export function finishReasonOf(choice: ChatChunk): string | undefined {
  const reason = reasonIn(choice['finish_reason']);
  if (reason === undefined) return undefined;
  // OpenRouter says `stop` where the provider has failed (OleksandrChekhovskyi/hax PR#15).
  const native = reasonIn(choice['native_finish_reason']);
  return native !== undefined && endOf(native) === 'failed' ? native : reason;
}

function reasonIn(value: unknown): string | undefined {
  return typeof value === 'string' && !NO_REASON.has(value) ? value.toLowerCase() : undefined;
}

const NO_REASON: ReadonlySet<string> = new Set(['', 'null', 'None']);

interface Words {
  readonly kind: 'text' | 'reasoning';
  readonly text: string;
}

const WORDS_FIELDS: ReadonlyMap<string, Words['kind']> = new Map([
  ['content', 'text'],
  ['reasoning_content', 'reasoning'],
  ['reasoning', 'reasoning'],
  ['reasoning_text', 'reasoning'],
]);

/**
 * Returns the words if the delta says nothing else. Most deltas are so, and one look at their few
 * fields takes the place of a look for each of those that a delta may have.
 */
export function onlyWordsOf(delta: ChatChunk): Words | undefined {
  let field = '';
  for (const name in delta) {
    if (name === 'role' || isEmpty(delta[name])) continue;
    if (field !== '') return undefined;
    field = name;
  }
  const kind = WORDS_FIELDS.get(field);
  const words = delta[field];
  return kind === undefined || typeof words !== 'string' ? undefined : { kind, text: words };
}

/** Whether the value counts as absent in every field of a delta. */
function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (isList(value) && value.length === 0);
}

/** Whether the chunk says at most who speaks, as the first one of most backends does. */
export function isWithoutOutput(chunk: ChatChunk): boolean {
  return choicesOf(chunk).every(
    ({ choice }) =>
      finishReasonOf(choice) === undefined &&
      Object.entries(deltaOf(choice)).every(([name, value]) => name === 'role' || isEmpty(value)),
  );
}

/** That of Copilot comes last (earendil-works/pi PR#1502). */
const THOUGHTS_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

export type TextPiece = { readonly kind: 'text' | 'reasoning' | 'refusal'; readonly text: string };

/**
 * Returns reasoning, text and refusal in this order. OpenRouter sends the same reasoning in two
 * fields, so only the first field with text counts.
 */
export function textPiecesOf(delta: ChatChunk): TextPiece[] {
  const pieces: TextPiece[] = [];
  const field = thoughtsFieldOf(delta);
  const reasoning = field === undefined ? reasoningDetailsText(delta['reasoning_details']) : thoughtIn(delta[field]);
  if (reasoning !== '') pieces.push({ kind: 'reasoning', text: reasoning });
  const content = delta['content'];
  if (typeof content === 'string') {
    if (content !== '') pieces.push({ kind: 'text', text: content });
  } else if (Array.isArray(content)) {
    for (const part of content) pushContentPart(part, pieces);
  }
  const refusal = text(delta['refusal']);
  if (refusal !== '') pieces.push({ kind: 'refusal', text: refusal });
  return pieces;
}

/** Returns the field in which `textPiecesOf` finds reasoning; undefined when it finds none. */
export function thoughtsFormOf(
  delta: ChatChunk,
): (typeof THOUGHTS_FIELDS)[number] | 'reasoning_details' | 'thinking-part' | undefined {
  const field = thoughtsFieldOf(delta);
  if (field !== undefined) return field;
  if (reasoningDetailsText(delta['reasoning_details']) !== '') return 'reasoning_details';
  return listOf(delta['content']).some((part) => isObject(part) && 'thinking' in part) ? 'thinking-part' : undefined;
}

function thoughtsFieldOf(delta: ChatChunk): (typeof THOUGHTS_FIELDS)[number] | undefined {
  return THOUGHTS_FIELDS.find((field) => thoughtIn(delta[field]) !== '');
}

/** Envoy's gateway sends those of Bedrock as an object (envoyproxy/ai-gateway PR#1222). */
function thoughtIn(value: unknown): string {
  return text(isObject(value) ? value['text'] : value);
}

/** Returns the state of the message. Empty lists and objects count as absent. */
export function messageStateOf(delta: ChatChunk): MessageState {
  const details = listOf(delta['reasoning_details']);
  const blocks = listOf(delta['thinking_blocks']);
  // LiteLLM has the sealed thoughts of OpenAI's models here (BerriAI/litellm PR#24690).
  const items = listOf(delta['reasoning_items']);
  const opaque = text(delta['reasoning_opaque']);
  return {
    ...callStateOf(delta),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(blocks.length > 0 && { thinking_blocks: blocks }),
    ...(items.length > 0 && { reasoning_items: items }),
    ...(opaque !== '' && { reasoning_opaque: opaque }),
  };
}

export function callStateOf({ extra_content: extra, provider_specific_fields: own }: ChatChunk): CallState {
  const signatures = isObject(own) ? Object.entries(own).filter(([name]) => SIGNATURES.has(name)) : [];
  return {
    ...(isObject(extra) && Object.keys(extra).length > 0 && { extra_content: extra }),
    ...(signatures.length > 0 && { provider_specific_fields: Object.fromEntries(signatures) }),
  };
}

/**
 * LiteLLM has Gemini's signatures here (docs.litellm.ai/blog/gemini_3). Others of these fields are
 * refused when they come back (HolmesGPT/holmesgpt PR#1943).
 */
const SIGNATURES: ReadonlySet<string> = new Set(['thought_signature', 'thought_signatures']);

/** Returns the URLs of the images that the model made (OpenRouter and LiteLLM). */
export function imagesOf(delta: ChatChunk): string[] {
  return listOf(delta['images'])
    .map((image) => (isObject(image) && isObject(image['image_url']) ? text(image['image_url']['url']) : ''))
    .filter((url) => url !== '');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The encrypted details of OpenRouter have no text. */
function reasoningDetailsText(details: unknown): string {
  if (!Array.isArray(details)) return '';
  return details.map((detail) => (isObject(detail) ? text(detail['text']) || text(detail['summary']) : '')).join('');
}

/**
 * Mistral sends a list of parts, and a `thinking` part has a list of text parts in turn. So has a
 * `reasoning` part of Databricks (tidyverse/ellmer#822).
 */
function pushContentPart(part: unknown, pieces: TextPiece[]): void {
  if (!isObject(part)) return;
  const thinking = part['type'] === 'reasoning' ? part['summary'] : part['thinking'];
  if (Array.isArray(thinking)) {
    const thought = thinking.map((inner) => (isObject(inner) ? text(inner['text']) : '')).join('');
    if (thought !== '') pieces.push({ kind: 'reasoning', text: thought });
  } else if (text(thinking) !== '') {
    pieces.push({ kind: 'reasoning', text: text(thinking) });
  } else if (text(part['refusal']) !== '') {
    pieces.push({ kind: 'refusal', text: text(part['refusal']) });
  } else if (text(part['text']) !== '') {
    pieces.push({ kind: 'text', text: text(part['text']) });
  }
}

export interface CallPiece extends CallState {
  /** The index of the choice that has the piece. */
  readonly choice: number;
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Keeps the old `function_call`, which has no index, apart from every call in `tool_calls`. */
const LEGACY_INDEX = -1;

/**
 * Returns the pieces of calls in a delta of the choice with this index. Throws ApiError for arguments
 * that are nested too deep.
 */
export function callPiecesOf(delta: ChatChunk, choice = 0): CallPiece[] {
  const pieces: CallPiece[] = [];
  const calls = delta['tool_calls'];
  if (Array.isArray(calls)) {
    for (const call of calls)
      if (isObject(call)) pieces.push(toCallPiece(choice, call, call['function'], call['index']));
  }
  if (isObject(delta['function_call'])) pieces.push(toCallPiece(choice, {}, delta['function_call'], LEGACY_INDEX));
  return pieces.filter((piece) => piece.id !== '' || piece.name !== '' || piece.arguments !== '' || hasState(piece));
}

export function hasState({ extra_content: extra, provider_specific_fields: own }: CallState): boolean {
  return extra !== undefined || own !== undefined;
}

function toCallPiece(choice: number, call: ChatChunk, called: unknown, index: unknown): CallPiece {
  const fields = isObject(called) ? called : {};
  const given = fields['arguments'];
  return {
    choice,
    index: toIndex(index),
    id: text(call['id']),
    name: text(fields['name']),
    arguments: isObject(given) ? toJson(given) : text(given),
    ...callStateOf(call),
  };
}

/** Some backends send it as a string (microsoft/autogen#4878). */
function toIndex(given: unknown): number | undefined {
  if (typeof given === 'string' && /^\d+$/.test(given)) return Number(given);
  return typeof given === 'number' ? given : undefined;
}

/** Returns the JSON of the object. Throws ApiError when it is nested too deep. */
export function toJson(given: object): string {
  try {
    return JSON.stringify(given);
  } catch (cause) {
    throw new ApiError('upstream_invalid_response', {
      message: 'The backend sent JSON that is nested too deeply.',
      cause,
    });
  }
}

/**
 * Returns the log probabilities of a choice, with at most so many alternatives each. Absent fields
 * are empty, or 0.
 */
export function logprobsOf(choice: ChatChunk, maxAlternatives: number): LogProb[] {
  const content = isObject(choice['logprobs']) ? listOf(choice['logprobs']['content']) : [];
  return content.filter(isObject).map((entry) => {
    const alternatives = listOf(entry['top_logprobs']).filter(isObject);
    // llama.cpp sends 20 where none were asked for.
    const topLogprobs = alternatives.slice(0, maxAlternatives).map(toTopLogprob);
    return Object.assign(toTopLogprob(entry), { top_logprobs: topLogprobs });
  });
}

function toTopLogprob(entry: ChatChunk): TopLogProb {
  return {
    token: text(entry['token']).toWellFormed(),
    // JSON can hold 1e999, which parses as infinity and cannot be written again.
    logprob: Number.isFinite(entry['logprob']) ? Number(entry['logprob']) : 0,
    bytes: listOf(entry['bytes']).filter((byte): byte is number => Number.isInteger(byte)),
  };
}

/** Returns the `url_citation` annotations in the flat form of the Responses format. */
export function citationsOf(delta: ChatChunk): UrlCitation[] {
  const { annotations } = delta;
  if (!isList(annotations)) return [];
  return annotations.flatMap((annotation) => {
    const fields =
      isObject(annotation) && isObject(annotation['url_citation']) ? annotation['url_citation'] : annotation;
    if (!isObject(fields) || text(fields['url']) === '') return [];
    const start = position(fields['start_index']);
    return [
      {
        type: 'url_citation',
        url: text(fields['url']),
        title: text(fields['title']),
        start_index: start,
        end_index: Math.max(start, position(fields['end_index'])),
      },
    ];
  });
}

function position(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** A page that the text refers to as `[1]`, `[2]`, … (Perplexity). */
export interface Source {
  readonly url: string;
  readonly title: string;
}

/** Returns the numbered sources; undefined when the chunk has none. */
export function sourcesOf(chunk: ChatChunk): Source[] | undefined {
  const results = listOf(chunk['search_results']);
  const citations = isList(chunk['citations']) ? chunk['citations'] : results;
  if (citations.length === 0) return undefined;
  return citations.map((citation, index) => {
    const result = results[index];
    const { url, title } = isObject(citation) ? citation : isObject(result) ? result : {};
    return { url: text(citation) || text(url), title: text(title) };
  });
}
