import { isObject, listOf } from '../json.ts';

export interface InputSize {
  /** Counts UTF-8 bytes of what the model reads, without images and files. */
  readonly textBytes: number;
  /** Counts images; a file or a sound counts as several of them if it is large. */
  readonly media: number;
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

/** Returns the size of what the model reads. Nothing else in the request has a weight. */
export function inputSizeOf(chat: { readonly [name: string]: unknown } | object): InputSize {
  const fields: Readonly<Record<string, unknown>> = { ...chat };
  const size = { textBytes: 0, media: 0 };
  for (const message of listOf(fields['messages'])) {
    size.textBytes += BYTES_AROUND_MESSAGE;
    if (isObject(message)) weighMessage(message, size);
  }
  for (const name of READ_AS_JSON) size.textBytes += weightOf(fields[name]);
  return size;
}

interface Sum {
  textBytes: number;
  media: number;
}

/** All texts of a message count, because backends differ in the names of its fields. */
function weighMessage(message: Readonly<Record<string, unknown>>, size: Sum): void {
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role') size.textBytes += Math.max(0, weightOf(value) - ORDINARY_ROLE_BYTES);
    else if (name === 'tool_call_id') size.textBytes += Math.max(0, weightOf(value) - ORDINARY_CALL_ID_BYTES);
    else if (name === 'content' && Array.isArray(value)) for (const part of value) weighPart(part, size);
    else size.textBytes += weightOf(value);
  }
}

/** Backends read images, sounds and files in these fields of a part. */
const MEDIA_FIELDS = new Set([
  'image_url',
  'input_audio',
  'audio_url',
  'video_url',
  'file',
  'document_url',
  'image',
  'input_image',
  'source',
]);
const DATA_FIELDS = new Set(['url', 'data', 'file_data', 'file_id']);
const IMAGE_FIELDS = new Set(['image_url', 'image', 'input_image']);

/** Some templates write a list of parts as JSON, so that all of it counts. */
function weighPart(part: unknown, size: Sum): void {
  if (!isObject(part)) {
    size.textBytes += weightOf(part);
    return;
  }
  size.textBytes += BRACKET;
  for (const [name, value] of Object.entries(part)) {
    size.textBytes += jsonBytesOf(name) + COLON_AND_COMMA;
    if (!MEDIA_FIELDS.has(name)) size.textBytes += partBytesOf(value);
    else if (isObject(value)) {
      size.textBytes += BRACKET;
      for (const [inner, text] of Object.entries(value)) {
        size.textBytes += jsonBytesOf(inner) + COLON_AND_COMMA;
        weighMedia(text, size, { field: name, name: inner });
      }
    } else weighMedia(value, size, { field: name, name: 'data' });
  }
}

/** Most parts hold long texts, in which nothing is looked for. */
function partBytesOf(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) + QUOTES : jsonBytesOf(value);
}

interface Place {
  readonly field: string;
  readonly name: string;
}

function weighMedia(value: unknown, size: Sum, { field, name }: Place): void {
  const isData = typeof value === 'string' && DATA_FIELDS.has(name);
  const media = isData ? mediaIn(value, { isImage: IMAGE_FIELDS.has(field), isFile: name === 'file_data' }) : 0;
  if (media === 0) size.textBytes += partBytesOf(value);
  size.media += media;
}

const URL_START = /^(?:https?|gs|s3|file):\/\/\S/i;
/** A text file is read as text. */
const DATA_START = /^data:(?!text\/|[^;,]*(?:json|xml|yaml|csv|script))[^;,\s]*(?:;[^;,\s]*)*;base64,[\w+/=-]*$/i;
const IMAGE_START = /^data:image\//i;
const BASE64_START = /^[\w+/-]{4,}={0,2}$/;
/** Of base64 of a document or a sound: some ten seconds of speech, or some pages of a scan. */
const BYTES_OF_ONE_MEDIUM = 128 * 1024;

/** A text that only claims to be media would have no weight, and bare base64 of a file may be text. */
function mediaIn(text: string, { isImage, isFile }: { readonly isImage: boolean; readonly isFile: boolean }): number {
  const start = text.slice(0, 128);
  if (URL_START.test(start)) return 1;
  const isData = DATA_START.test(start);
  if (!isData && (isFile || !BASE64_START.test(start))) return 0;
  if (isData ? IMAGE_START.test(start) : isImage) return 1;
  return Math.ceil(text.length / BYTES_OF_ONE_MEDIUM);
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
