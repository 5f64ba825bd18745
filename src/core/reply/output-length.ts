import type { ChatChunk } from '../chat.ts';
import { isList, isObject } from '../json.ts';
import { onlyWordsOf } from './chunk.ts';

/** A small image costs Gemini 1,290 tokens of output (ai.google.dev/gemini-api/docs/pricing). */
const IMAGE_LENGTH = 5 * 1024;
/** Backends are not trusted, and JSON can be nested deeper than the stack allows. */
const MAX_DEPTH = 16;

/** Backends send the same thoughts in several of these fields (OpenRouter, vLLM, LiteLLM). */
const THOUGHTS = setOf(
  'reasoning_content reasoning reasoning_text reasoning_details thinking_blocks reasoning_items thinking',
);

/** These say who or what something is, are opaque, or are what a search has found. */
const NOT_WRITTEN = setOf(
  'role id type index format detail extra_content provider_specific_fields signature thought_signature data encrypted_content reasoning_opaque ' +
    'annotations citations search_results context',
);

function setOf(names: string): ReadonlySet<string> {
  return new Set(names.split(' '));
}

/**
 * Returns how long the output of the model in the delta is, in UTF-16 code units. All strings count
 * that are not known to be something else, because the model may be paid for them.
 */
export function outputLengthOf(delta: ChatChunk): number {
  return onlyWordsOf(delta)?.text.length ?? mixedLengthOf(delta);
}

/** As `outputLengthOf`, of a delta that `onlyWordsOf` knows to have more than words. */
export function mixedLengthOf(delta: ChatChunk): number {
  let thoughts = 0;
  let others = 0;
  for (const name in delta) {
    const value = delta[name];
    if (THOUGHTS.has(name)) thoughts = Math.max(thoughts, lengthOf(value, 0));
    else others += lengthOfField(name, value, 0);
  }
  return thoughts + others;
}

function lengthOfField(name: string, value: unknown, depth: number): number {
  if (value === '' || NOT_WRITTEN.has(name)) return 0;
  if (typeof value === 'string') return name === 'url' || name === 'image_url' ? IMAGE_LENGTH : value.length;
  if ((name === 'arguments' || name === 'input') && isObject(value)) return jsonLengthOf(value);
  return lengthOf(value, depth);
}

function lengthOf(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length;
  if (depth > MAX_DEPTH) return 0;
  let length = 0;
  if (isList(value)) for (const one of value) length += lengthOf(one, depth + 1);
  else if (isObject(value)) for (const name in value) length += lengthOfField(name, value[name], depth + 1);
  return length;
}

/** What is nested too deep to be measured still reaches the client. */
function jsonLengthOf(value: object): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return 0;
  }
}
