import type { ModelMedia } from '../../contract/settings-types.ts';
import { isObject, listOf } from '../json.ts';
import { foldCase } from '../request/bounded-fields.ts';
import { isUrl, kindOf, tokensOfMedium, type MediumKind } from './media.ts';

export interface InputSize {
  /** Counts UTF-8 bytes of what the model reads, without images and files. */
  readonly textBytes: number;
  /** Is by what the operator says of the model, else a guess. */
  readonly mediaTokens: number;
  /** The path of the first part of which nobody can say how many tokens it has. */
  readonly uncounted?: string;
}

/** Chat templates write the role and some marks around each message. */
const BYTES_AROUND_MESSAGE = 16;
/** A longer role, which some templates write as it is, counts too. */
const ORDINARY_ROLE_BYTES = 16;
/** Templates that write the ids of calls write short ones. */
const ORDINARY_CALL_ID_BYTES = 64;

/**
 * The model, or its chat template, reads these fields whole (vLLM has the last four). LiteLLM merges
 * `extra_body` into the request.
 */
const READ_AS_JSON = [
  'extra_body',
  'tools',
  'functions',
  'response_format',
  'prediction',
  'documents',
  'chat_template',
  'chat_template_kwargs',
  'mm_processor_kwargs',
] as const;

/**
 * Returns the size of what the model reads. Nothing else in the request has a weight. `media` is what
 * the operator says of the model.
 */
export function inputSizeOf(chat: { readonly [name: string]: unknown } | object, media?: ModelMedia): InputSize {
  const fields: Readonly<Record<string, unknown>> = { ...chat };
  const size: Sum = { textBytes: 0, mediaTokens: 0 };
  for (const [index, message] of listOf(fields['messages']).entries()) {
    size.textBytes += BYTES_AROUND_MESSAGE;
    if (isObject(message)) weighMessage(message, { size, media, path: `messages[${index}]` });
  }
  for (const name of READ_AS_JSON) size.textBytes += weightOf(fields[name]);
  return size;
}

interface Sum {
  textBytes: number;
  mediaTokens: number;
  uncounted?: string;
}

interface Weighing {
  readonly size: Sum;
  readonly media: ModelMedia | undefined;
  readonly path: string;
}

/** OpenRouter repeats the images that a model has made in the second one. */
const LISTS_OF_PARTS = new Set(['content', 'images']);

/** All texts of a message count, because backends differ in the names of its fields. */
function weighMessage(message: Readonly<Record<string, unknown>>, weighing: Weighing): void {
  const { size } = weighing;
  for (const [name, value] of Object.entries(message)) {
    const path = `${weighing.path}.${name}`;
    if (name === 'role') size.textBytes += Math.max(0, weightOf(value) - ORDINARY_ROLE_BYTES);
    else if (name === 'tool_call_id') size.textBytes += Math.max(0, weightOf(value) - ORDINARY_CALL_ID_BYTES);
    else if (LISTS_OF_PARTS.has(name) && Array.isArray(value)) {
      for (const [index, part] of value.entries()) weighPart(part, { ...weighing, path: `${path}[${index}]` });
    } else {
      size.textBytes += weightOf(value);
      // Go reads the names of fields in any letters.
      if (typeof value === 'object' && value !== null && LISTS_OF_PARTS.has(foldCase(name))) size.uncounted ??= path;
    }
  }
}

/** Backends read images, sounds and files in these fields of a part. */
const MEDIA_FIELDS: Readonly<Record<string, MediumKind>> = {
  image_url: 'image',
  image: 'image',
  input_image: 'image',
  input_audio: 'audio',
  audio_url: 'audio',
  video_url: 'video',
  file: 'file',
  document_url: 'file',
  source: 'file',
};
const DATA_FIELDS = new Set(['url', 'data', 'file_data', 'file_id']);
/** Any other field of a part may be a medium to some backend. */
const WORD_FIELDS = new Set(['type', 'text', 'refusal', 'thinking', 'signature', 'cache_control']);
const FIELDS_BESIDE_DATA = new Set(['type', 'detail', 'filename', 'media_type', 'text']);

/** Some templates write a list of parts as JSON, so that all of it counts. */
function weighPart(part: unknown, weighing: Weighing): void {
  const { size } = weighing;
  if (!isObject(part)) {
    size.textBytes += weightOf(part);
    return;
  }
  size.textBytes += BRACKET;
  for (const [name, value] of Object.entries(part)) {
    const path = `${weighing.path}.${name}`;
    const kind = Object.hasOwn(MEDIA_FIELDS, name) ? MEDIA_FIELDS[name] : undefined;
    size.textBytes += jsonBytesOf(name) + COLON_AND_COMMA;
    if (kind === undefined) {
      size.textBytes += partBytesOf(value);
      if (!WORD_FIELDS.has(name) && hasText(value)) size.uncounted ??= path;
    } else if (isObject(value)) {
      size.textBytes += BRACKET;
      for (const [inner, text] of Object.entries(value)) {
        size.textBytes += jsonBytesOf(inner) + COLON_AND_COMMA;
        weighField(text, { ...weighing, path: `${path}.${inner}`, kind, name: inner, detail: value['detail'] });
      }
    } else weighField(value, { ...weighing, path, kind, name: 'data' });
  }
}

function hasText(value: unknown): boolean {
  if (typeof value === 'string') return value !== '';
  return typeof value === 'object' && value !== null && Object.values(value).some(hasText);
}

/** Most parts hold long texts, in which nothing is looked for. */
function partBytesOf(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) + QUOTES : jsonBytesOf(value);
}

interface MediumField extends Weighing {
  readonly kind: MediumKind;
  readonly name: string;
  readonly detail?: unknown;
}

/** What is no medium for certain counts as words too, and what is a text counts as nothing else. */
function weighField(value: unknown, { size, media, path, kind, name, detail }: MediumField): void {
  const isData = typeof value === 'string' && DATA_FIELDS.has(name);
  const guess = isData ? guessOf(value, { isImage: kind === 'image', isFile: name === 'file_data' }) : 0;
  if (guess === 0) size.textBytes += partBytesOf(value);
  // LiteLLM reads an image or a file as a film if its format says so.
  if (
    isData
      ? kind === 'file' && isTextFile(value)
      : FIELDS_BESIDE_DATA.has(name) || (name === 'format' && kind === 'audio')
  )
    return;
  const tokens = isData ? tokensOfMedium({ kind: kindOf(value, kind), text: value, detail }, media) : undefined;
  if (tokens === undefined) size.uncounted ??= path;
  size.mediaTokens += tokens ?? guess;
}

const TEXT_START = /^data:(?:text\/|[^;,]*(?:json|xml|yaml|csv|script))[^,]*;base64,/i;
/** A text file is read as text. */
const DATA_START = /^data:(?!text\/|[^;,]*(?:json|xml|yaml|csv|script))[^;,\s]*(?:;[^;,\s]*)*;base64,[\w+/=-]*$/i;
const IMAGE_START = /^data:image\//i;
const BASE64_START = /^[\w+/-]{4,}={0,2}$/;
/** Of base64 of a document or a sound: some ten seconds of speech, or some pages of a scan. */
const BYTES_OF_ONE_MEDIUM = 128 * 1024;
const TOKENS_OF_ONE_MEDIUM = 1000;

/** A document that is only called a text may have any number of pages. */
function isTextFile(text: string): boolean {
  const [start] = TEXT_START.exec(text.slice(0, 128)) ?? [];
  if (start === undefined) return false;
  const bytes = Buffer.from(text.slice(start.length, start.length + 2048), 'base64');
  return !bytes.includes('%PDF') && !bytes.includes('PK\x03\x04');
}

/** A text that only claims to be media would have no weight, and bare base64 of a file may be text. */
function guessOf(text: string, { isImage, isFile }: { readonly isImage: boolean; readonly isFile: boolean }): number {
  const start = text.slice(0, 128);
  if (isUrl(start)) return TOKENS_OF_ONE_MEDIUM;
  const isData = DATA_START.test(start);
  if (!isData && (isFile || !BASE64_START.test(start))) return 0;
  if (isData ? IMAGE_START.test(start) : isImage) return TOKENS_OF_ONE_MEDIUM;
  return Math.ceil(text.length / BYTES_OF_ONE_MEDIUM) * TOKENS_OF_ONE_MEDIUM;
}

const QUOTES = 2;
/** The other bracket stands in the place of the last comma. */
const BRACKET = 1;
const COMMA = 1;
const COLON_AND_COMMA = 2;
/** Python writes an integer whole that has as many digits as this, where here it is infinite. */
const LONGEST_INTEGER = 4300;
/** JavaScript writes larger numbers with an exponent. */
const LARGEST_WRITTEN_WHOLE = 1e21;

/** A text is read as it is, and anything else as JSON. */
function weightOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'string' ? Buffer.byteLength(value) : jsonBytesOf(value);
}

/** Counts the bytes of the JSON, but a quote or the end of a line within a text as one. */
function jsonBytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + QUOTES + escapeBytesOf(value);
  if (typeof value === 'number') return digitsOf(value);
  if (typeof value !== 'object' || value === null) return String(value).length;
  let bytes = BRACKET;
  if (Array.isArray(value)) for (const inner of value) bytes += jsonBytesOf(inner) + COMMA;
  else {
    for (const [name, inner] of Object.entries(value)) {
      bytes += jsonBytesOf(name) + jsonBytesOf(inner) + COLON_AND_COMMA;
    }
  }
  return Math.max(bytes, 2 * BRACKET);
}

/** JSON writes six characters for a control character that is neither of these: \b \t \n \f \r. */
function escapeBytesOf(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 && (code < 0x08 || code > 0x0d || code === 0x0b)) bytes += 5;
  }
  return bytes;
}

function digitsOf(value: number): number {
  const size = Math.abs(value);
  if (size < LARGEST_WRITTEN_WHOLE) return String(value).length;
  return size === Infinity ? LONGEST_INTEGER : Math.ceil(Math.log10(size)) + 1;
}
