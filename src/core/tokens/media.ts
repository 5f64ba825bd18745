import type { MediumTokens, ModelMedia } from '../../contract/settings-types.ts';
import { imageSizeOf, secondsOf } from './media-headers.ts';

export type MediumKind = keyof ModelMedia;

/** An image, a sound, a film or a file, as a part of a message has it. */
export interface Medium {
  readonly kind: MediumKind;
  /** A URL, which may be a `data:` URL, or base64. */
  readonly text: string;
  readonly detail?: unknown;
}

/** Returns the most tokens of input that a medium counts by what the operator says; undefined where nobody can say. */
export function tokensOfMedium({ kind, text, detail }: Medium, media: ModelMedia | undefined): number | undefined {
  const rates = media?.[kind];
  if (rates === undefined) return undefined;
  const { base_tokens = 0, unit_tokens, max_units = Infinity, low_detail_tokens } = rates;
  if (detail === 'low' && low_detail_tokens !== undefined) return low_detail_tokens;
  const units = Math.min(unitsOf(kind, dataOf(text), rates) ?? Infinity, max_units);
  return units === Infinity ? undefined : Math.ceil(base_tokens + unit_tokens * units);
}

/** How many pages a file has and how long a film is cannot be told without its decoder. */
function unitsOf(kind: MediumKind, data: string | undefined, { unit_pixels }: MediumTokens): number | undefined {
  if (kind === 'image' && unit_pixels === undefined) return 1;
  if (data === undefined) return undefined;
  if (kind === 'audio') return secondsOf(data);
  const size = kind === 'image' ? imageSizeOf(data) : undefined;
  return size && Math.ceil(size.width / (unit_pixels ?? 1)) * Math.ceil(size.height / (unit_pixels ?? 1));
}

function dataOf(text: string): string | undefined {
  const start = /^data:[^,]{0,128};base64,/i.exec(text);
  if (start !== null) return text.slice(start[0].length);
  return isUrl(text) ? undefined : text;
}

/** Whether a backend would fetch what the text names. */
export function isUrl(text: string): boolean {
  return /^(?:https?|gs|s3|file):\/\/\S/i.test(text.slice(0, 128));
}

/** Backends such as LiteLLM look at the end of the name in a URL. */
const BY_END: readonly (readonly [MediumKind, RegExp])[] = [
  ['video', /\.(?:mp4|m4v|mov|webm|mkv|avi|wmv|flv|mpe?g|3gpp?)(?![a-z0-9])/i],
  ['audio', /\.(?:mp3|wav|ogg|oga|opus|flac|aac|m4a|aiff?)(?![a-z0-9])/i],
  ['file', /\.(?:pdf|docx?|xlsx?|pptx?)(?![a-z0-9])/i],
];

/** Returns what a text in a field for this kind is: backends believe the type of a `data:` URL. */
export function kindOf(text: string, kind: MediumKind): MediumKind {
  const [, type] = /^data:(\w+)\//i.exec(text.slice(0, 128)) ?? [];
  if (type === undefined) return (isUrl(text) ? BY_END.find(([, end]) => end.test(text))?.[0] : undefined) ?? kind;
  const named = type.toLowerCase();
  return named === 'image' || named === 'audio' || named === 'video' ? named : 'file';
}
