import { isObject, listOf } from '../json.ts';

export interface InputSize {
  /** Counts UTF-8 bytes of what the model reads, without images and files. */
  readonly textBytes: number;
  readonly media: number;
}

/** Chat templates write the role and some marks around each message. */
const BYTES_AROUND_MESSAGE = 16;
/** Quotes, colon and comma around a name in JSON. */
const BYTES_AROUND_NAME = 4;

/** The model, or its chat template, reads these fields whole (vLLM has the last four). */
const READ_AS_JSON = [
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
  for (const name of READ_AS_JSON) size.textBytes += weightOf(fields[name], BYTES_AROUND_NAME);
  return size;
}

interface Sum {
  textBytes: number;
  media: number;
}

/** All texts of a message count, because backends differ in the names of its fields. */
function weighMessage(message: Readonly<Record<string, unknown>>, size: Sum): void {
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' || name === 'tool_call_id') continue;
    if (name === 'content' && Array.isArray(value)) for (const part of value) weighPart(part, size);
    else size.textBytes += weightOf(value, 0);
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

function weighPart(part: unknown, size: Sum): void {
  if (!isObject(part)) {
    size.textBytes += weightOf(part, 0);
    return;
  }
  for (const [name, value] of Object.entries(part)) {
    if (name === 'type') continue;
    if (!MEDIA_FIELDS.has(name)) size.textBytes += weightOf(value, 0);
    else if (isObject(value)) for (const [inner, text] of Object.entries(value)) weighMedia(text, size, inner);
    else weighMedia(value, size, 'data');
  }
}

function weighMedia(value: unknown, size: Sum, name: string): void {
  if (typeof value === 'string' && DATA_FIELDS.has(name) && beginsAsMedia(value)) size.media += 1;
  else if (name !== 'detail' && name !== 'format') size.textBytes += weightOf(value, 0);
}

const URL_START = /^(?:https?|gs|s3|file):\/\/\S/i;
/** A text file is read as text. */
const DATA_START = /^data:(?!text\/|[^;,]*(?:json|xml|yaml|csv|script))[^;,\s]*(?:;[^;,\s]*)*;base64,[\w+/=-]*$/i;
const BASE64_START = /^[\w+/-]{4,}={0,2}$/;

/** A text that only claims to be media would have no weight. */
function beginsAsMedia(text: string): boolean {
  const start = text.slice(0, 128);
  return URL_START.test(start) || DATA_START.test(start) || BASE64_START.test(start);
}

/** Counts the bytes of all texts within, and of all names if they are read too. */
function weightOf(value: unknown, bytesAroundName: number): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number' || typeof value === 'boolean') return bytesAroundName;
  let bytes = 0;
  if (Array.isArray(value)) for (const inner of value) bytes += weightOf(inner, bytesAroundName);
  else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      bytes += weightOf(inner, bytesAroundName);
      if (bytesAroundName > 0) bytes += Buffer.byteLength(name) + bytesAroundName;
    }
  }
  return bytes;
}
