import type { UnknownItem } from '../../contract/types.ts';
import type { ChatPart } from '../chat.ts';
import { isObject, listOf } from '../json.ts';
import { readBoundedJson } from '../json-size.ts';
import { toShownImage, type PartForms } from './parts.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a call was for, what came of it, and the URLs of images that it made. */
interface HostedCall {
  readonly inputs: readonly unknown[];
  readonly found?: readonly unknown[];
  readonly images?: readonly unknown[];
}

/** These items are calls that another server executed. Their shapes are those of the `openai` package. */
const HOSTED_CALLS: Readonly<Record<string, { readonly name: string; readonly read: (item: Fields) => HostedCall }>> = {
  web_search_call: {
    name: 'Web search',
    read({ action, results }) {
      const { query, queries, pattern, url, sources } = fieldsOf(action);
      const inputs = listOf(queries).length > 0 ? listOf(queries) : [query];
      return { inputs: [...inputs, pattern, url], found: [...listOf(results), ...listOf(sources)].map(toPhrase) };
    },
  },
  file_search_call: {
    name: 'File search',
    read: ({ queries, results }) => ({
      inputs: listOf(queries),
      found: listOf(results)
        .map(fieldsOf)
        .map(({ filename, text }) => toPhrase({ filename, text })),
    }),
  },
  code_interpreter_call: {
    name: 'Code interpreter',
    read({ code, outputs }) {
      const made = listOf(outputs).map(fieldsOf);
      return { inputs: [code], found: made.map(({ logs }) => logs), images: made.map(({ url }) => url) };
    },
  },
  mcp_call: {
    name: 'Tool of an MCP server',
    read: ({ server_label: server, name, arguments: given, output, error }) => ({
      inputs: [name, server, toPhrase(typeof given === 'string' ? (readBoundedJson(given) ?? given) : given)],
      found: [output, toPhrase(error)],
    }),
  },
  computer_call: {
    name: 'Use of the computer',
    read: ({ action, actions }) => ({ inputs: [action, ...listOf(actions)].map(toPhrase) }),
  },
  computer_call_output: {
    name: 'Screen of the computer',
    read: ({ output }) => ({ inputs: [], images: [fieldsOf(output)['image_url']] }),
  },
  image_generation_call: {
    name: 'Image generation',
    read: ({ revised_prompt: prompt, result, output_format: format, error }) => ({
      inputs: [prompt],
      found: [toPhrase(fieldsOf(error)['message'])],
      images: [isText(result) ? `data:image/${isText(format) ? format : 'png'};base64,${result}` : undefined],
    }),
  },
};

/** Whether items of this type are calls that another server executed. */
export function isHostedCallType(type: string): boolean {
  return Object.hasOwn(HOSTED_CALLS, type);
}

/**
 * Returns what the model is told of a call that another server executed, or undefined for an item
 * of another type. The text is at most 2 KiB long.
 */
export function toHostedCall(
  item: UnknownItem,
  forms: PartForms,
): { readonly text: string; readonly media: readonly ChatPart[] } | undefined {
  const type: string = item.type;
  const kind = isHostedCallType(type) ? HOSTED_CALLS[type] : undefined;
  if (kind === undefined) return undefined;
  const fields: Fields = { ...item };
  const { inputs, found = [], images = [] } = kind.read(fields);
  const given = images.filter(isText);
  const media = given.flatMap((url) => toShownImage(url, forms) ?? []);
  const sentences = [
    [kind.name, joined(inputs, MAX_INPUTS_LENGTH)].filter(isText).join(': '),
    fields['status'] === 'failed' ? 'It failed' : '',
    media.length < given.length ? 'An image of it cannot be shown' : '',
    media.length > 0 ? 'The image follows' : '',
    joined(found, MAX_BYTES),
  ];
  const text = toProse(sentences.filter(isText).join('. '));
  const label: ChatPart = { type: 'text', text: `${kind.name}:` };
  return { text: `[${withinBytes(text, MAX_BYTES - 2)}]`, media: media.length === 0 ? [] : [label, ...media] };
}

const MAX_BYTES = 2048;
/** Leaves room for the result. */
const MAX_INPUTS_LENGTH = 512;

function joined(values: readonly unknown[], maxLength: number): string {
  return values.filter(isText).join('; ').slice(0, maxLength);
}

/** A model must not take it for a call, so tags and the mark of Mistral's calls are broken up. */
function toProse(text: string): string {
  return text.replaceAll(/<(?=[\w/|｜])/g, '‹').replaceAll(/\[(?=TOOL_)/g, '(');
}

/** JSON could be taken for a call. Looks no further than the text of a call may reach. */
function toPhrase(value: unknown): string {
  return phraseOf(value, 0);
}

function phraseOf(value: unknown, depth: number): string {
  if (isText(value)) return value.slice(0, MAX_BYTES);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null || depth === MAX_PHRASE_DEPTH) return '';
  let phrase = '';
  for (const [name, inner] of Object.entries(value)) {
    const inWords = phraseOf(inner, depth + 1);
    if (inWords === '') continue;
    phrase = `${phrase}${phrase === '' ? '' : ', '}${name} ${inWords}`;
    if (phrase.length > MAX_BYTES) break;
  }
  return phrase.slice(0, MAX_BYTES);
}

/** JSON in a string may be nested deeper than a body. */
const MAX_PHRASE_DEPTH = 16;

function withinBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes + 1));
  if (bytes.length <= maxBytes) return bytes.toString();
  const cut = bytes.subarray(0, maxBytes - ELLIPSIS_BYTES).toString();
  return `${cut.replace(/\uFFFD$/, '')}…`;
}

const ELLIPSIS_BYTES = 3;

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
