import type { InputPart } from '../../contract/types.ts';
import type { ChatPart } from '../chat.ts';
import type { Dialect } from '../dialects.ts';
import { ApiError, unreachable } from '../errors.ts';
import { unpricedMedium } from './bounded-fields.ts';

/** Returns why the backend may not fetch a URL, as the end of a sentence; undefined if it may. */
export type UrlFault = (text: string) => string | undefined;

export interface PartForms extends Pick<Dialect, 'imageForm' | 'fileForm' | 'audioForm'> {
  readonly urlFault?: UrlFault | undefined;
  /** Whether nobody can say what a part costs whose cost must be known. */
  readonly isUnpriced?: ((part: ChatPart) => boolean) | undefined;
  /**
   * Called with the type of an image that is left out, since nobody can show it. It is set for what a
   * client cannot mend any more, since a refusal would come again with every later turn.
   */
  readonly leaveOut?: ((type: string) => void) | undefined;
  /** Whether a part that this backend has no form for is left out too, since the model has answered to it before. */
  readonly isAnswered?: boolean;
}

/** Throws ApiError for parts that the backend has no form for. `path` is where they stand. */
export function toUserContent(
  content: string | readonly InputPart[],
  path: string,
  forms: PartForms,
): string | readonly ChatPart[] {
  if (typeof content === 'string') return content;
  // Text goes as a string, because backends without vision take nothing else.
  if (content.every((part) => 'text' in part || part.type === 'encrypted_content')) return textOf(content, '\n');
  const parts = content
    .map((part, index) => toChatPart(part, `${path}[${index}]`, forms))
    .filter((part) => part !== undefined);
  return parts.length === 0 ? '' : parts;
}

/** Returns the parts of an output that are not text. Throws as `toUserContent` does. */
export function mediaOf(content: string | readonly InputPart[], path: string, forms: PartForms): readonly ChatPart[] {
  if (typeof content === 'string') return [];
  return content.flatMap((part, index) => {
    const chatPart = 'text' in part ? undefined : toChatPart(withUrl(part), `${path}[${index}]`, forms);
    return chatPart === undefined ? [] : [chatPart];
  });
}

/** Tools write paths, `sandbox:` and bare base64 there (openai/codex#33011), which no backend can show. */
function withUrl(part: InputPart): InputPart {
  if (part.type !== 'input_image' || /^(?:data:|https?:)/i.test(part.image_url ?? '')) return part;
  return { ...part, image_url: '' };
}

/** Joins the texts of the parts and skips other parts. */
export function textOf(content: string | readonly InputPart[], separator: string): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => ('text' in part ? [part.text] : [])).join(separator);
}

/** Joins the refusals of the parts. */
export function refusalOf(content: string | readonly InputPart[]): string {
  if (typeof content === 'string') return '';
  return content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : [])).join('');
}

/** Returns the part for an image of a history, or undefined where the backend cannot be shown it. */
export function toShownImage(url: string, { imageForm, urlFault, isUnpriced }: PartForms): ChatPart | undefined {
  if (!url.startsWith('data:') && (imageForm === 'data' || !/^https?:/.test(url))) return undefined;
  const part: ChatPart = { type: 'image_url', image_url: { url } };
  return urlFault?.(url) === undefined && isUnpriced?.(part) !== true ? part : undefined;
}

function toChatPart(part: InputPart, path: string, forms: PartForms): ChatPart | undefined {
  try {
    const made = toPart(part, path, forms);
    if (made !== undefined && forms.isUnpriced?.(made) === true) throw unpricedMedium(path);
    return made;
  } catch (error) {
    if (forms.isAnswered !== true || !(error instanceof ApiError)) throw error;
    forms.leaveOut?.(part.type);
    return undefined;
  }
}

function toPart(part: InputPart, path: string, forms: PartForms): ChatPart | undefined {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      // Backends refuse empty text parts.
      return part.text === '' ? undefined : { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'input_image':
      if (forms.leaveOut === undefined || (part.image_url ?? '') !== '') return toImage(part, path, forms);
      forms.leaveOut(part.type);
      return undefined;
    case 'input_file':
      return toFile(part, path, forms);
    case 'encrypted_content':
      return undefined;
    case 'input_audio':
      return toAudio(part.input_audio, path, forms);
    default:
      return unreachable(part);
  }
}

type PartOf<Type extends InputPart['type']> = Extract<InputPart, { type: Type }>;

function toImage(
  { image_url: url, file_id: id, detail }: PartOf<'input_image'>,
  path: string,
  { imageForm, urlFault }: PartForms,
): ChatPart {
  if (url === undefined && id === undefined) throw missing(`${path}.image_url`);
  if (url === '') throw empty(`${path}.image_url`);
  if (url === undefined) throw notStored(`${path}.file_id`, 'image_url');
  if (imageForm === 'data' && !url.startsWith('data:')) {
    throw unsupported(`${path}.image_url`, 'the backend fetches no images. Send the image itself, as a data: URL.');
  }
  checkUrl(url, `${path}.image_url`, urlFault);
  return { type: 'image_url', image_url: { url, ...imageDetail(detail) } };
}

/** The chat format has no `original`; `high` comes nearest. */
function imageDetail(detail: PartOf<'input_image'>['detail']): { readonly detail?: string } {
  if (detail === undefined) return {};
  return { detail: detail === 'original' ? 'high' : detail };
}

function toFile(part: PartOf<'input_file'>, path: string, { fileForm, urlFault }: PartForms): ChatPart {
  const { filename, file_data: data, file_url: url, file_id: id } = part;
  if (data === undefined && url === undefined && id === undefined) throw missing(`${path}.file_data`);
  if (fileForm === 'none')
    throw unsupported(path, 'the backend takes no files. Send their text as input_text instead.');
  if (data === undefined && url === undefined) throw notStored(`${path}.file_id`, 'file_data');
  if (data === undefined && fileForm === 'data') throw notStored(`${path}.file_url`, 'file_data');
  const content = data ?? url ?? '';
  // Some backends also take a URL as the data.
  checkUrl(content, `${path}.${data === undefined ? 'file_url' : 'file_data'}`, urlFault);
  if (fileForm === 'document-url') return { type: 'document_url', document_url: content };
  return { type: 'file', file: { ...(filename !== undefined && { filename }), file_data: content } };
}

function toAudio(
  { data, format }: PartOf<'input_audio'>['input_audio'],
  path: string,
  { audioForm, urlFault }: PartForms,
): ChatPart {
  // The format wants base64 here. Some backends also take the path of a file, unless it gets a prefix.
  if (urlFault !== undefined && (!/^[\w+/=\s-]*$/.test(data) || (audioForm !== 'url' && mayBePath(data))))
    checkUrl(data, `${path}.input_audio.data`, urlFault);
  switch (audioForm) {
    case 'object':
      return { type: 'input_audio', input_audio: { data, format } };
    case 'text':
      return { type: 'input_audio', input_audio: data };
    case 'url':
      return { type: 'audio_url', audio_url: { url: `data:audio/${format};base64,${data}` } };
    default:
      return unreachable(audioForm);
  }
}

/** No system opens a path of so many characters. */
const TOO_LONG_FOR_PATH = 4096;

/** Base64 of audio may also begin with slashes, as most MP3 does, so only its length tells it from a path. */
export function mayBePath(base64: string): boolean {
  let length = 0;
  for (let at = 0; at < base64.length && length < TOO_LONG_FOR_PATH; at += 1) {
    // Programs trim paths, and take many slashes for one.
    if (!/[\s/]/.test(base64.charAt(at))) length += 1;
  }
  return length < TOO_LONG_FOR_PATH;
}

/** Throws ApiError for a URL that the backend may not fetch. `param` is where it stands. */
export function checkUrl(text: string, param: string, urlFault: UrlFault | undefined): void {
  const fault = urlFault?.(text);
  if (fault !== undefined) throw new ApiError('invalid_request', { param, message: `${param} ${fault}.` });
}

function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', { param, message: `${param} is missing.` });
}

function empty(param: string): ApiError {
  return new ApiError('invalid_request', { param, message: `${param} must not be empty.` });
}

function notStored(param: string, instead: string): ApiError {
  return unsupported(param, `this gateway stores and fetches no files. Send ${instead} instead.`);
}

function unsupported(param: string, why: string): ApiError {
  return new ApiError('unsupported_parameter', { param, message: `${param} is not supported: ${why}` });
}
