import { isObject, listOf } from '../../core/json.ts';
import { checkUrl, mayBePath, type UrlFault } from '../../core/request/parts.ts';
import { URL_FAULTS } from './image-urls.ts';
import type { TranslationSettings as Settings } from './response.ts';

/** A backend that checks keys itself knows for whom it fetches what, so that nothing is refused there. */
export function chatUrlFaultOf({
  authMode,
  imageUrls,
}: Pick<Settings, 'authMode' | 'imageUrls'>): UrlFault | undefined {
  return authMode === 'passthrough' ? undefined : URL_FAULTS[imageUrls];
}

/** Throws ApiError for the first URL in the parts of the messages that the backend may not fetch. */
export function checkUrls(messages: unknown, urlFault: UrlFault): void {
  for (const [index, message] of listOf(messages).entries()) {
    if (!isObject(message)) continue;
    for (const [name, parts] of Object.entries(message)) {
      const isList = typeof parts !== 'string' && /^(?:content|images)$/i.test(name);
      if (isList) checkIn(parts, `messages[${index}].${name}`, { name, urlFault });
    }
  }
}

interface Field {
  readonly name: string;
  readonly urlFault: UrlFault;
}

function checkIn(value: unknown, path: string, { name, urlFault }: Field): void {
  if (typeof value === 'string') {
    if (mayBeFetched(value, name.toLowerCase())) checkUrl(value, path, urlFault);
  } else if (Array.isArray(value)) {
    for (const [index, inner] of value.entries()) checkIn(inner, `${path}[${index}]`, { name, urlFault });
  } else if (isObject(value)) {
    for (const [inner, field] of Object.entries(value)) checkIn(field, `${path}.${inner}`, { name: inner, urlFault });
  }
}

/** Backends may take any of these for a URL or the path of a file, in any letters. */
const FETCHED = /^(?:url|\w*_url|file_data|file_id|image|input_image|input_audio|audio|video|images|data)$/;
/** They are words for the model, or names. */
const WORDS = new Set(['text', 'content', 'refusal', 'thinking', 'reasoning', 'type', 'detail', 'format', 'filename']);

function mayBeFetched(text: string, name: string): boolean {
  if (WORDS.has(name)) return false;
  if (!FETCHED.test(name)) return /^\s*[a-z][a-z\d+.-]*:[/\\]/i.test(text.slice(0, 128));
  const isSound = (name === 'data' || name === 'input_audio') && /^[\w+/=\s-]*$/.test(text);
  const isId = name === 'file_id' && /^[\w-]+$/.test(text);
  return !isId && !(isSound && !mayBePath(text));
}
