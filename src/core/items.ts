import type { InputItem, InputPart } from '../types/contract.ts';
import type { ChatPart } from './chat.ts';
import { INPUT_PARAMETER } from './custom-input.ts';
import { ApiError } from './errors.ts';
import type { ToolRef } from './tool-names.ts';
import { clientToolsOf } from './tools.ts';
import { unreachable } from './unreachable.ts';

/** What one input item says, before `turns.ts` puts all of them into the order which strict backends want. */
export type Piece =
  | { readonly kind: 'system'; readonly role: 'system' | 'developer'; readonly text: string }
  | { readonly kind: 'user'; readonly content: string | readonly ChatPart[] }
  | { readonly kind: 'assistant'; readonly text: string; readonly refusal: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'call'; readonly callId: string; readonly name: string; readonly arguments: string }
  | { readonly kind: 'output'; readonly callId: string; readonly text: string; readonly media: readonly ChatPart[] };

type ItemOf<Type extends InputItem['type']> = Extract<InputItem, { type: Type }>;
type ToPiece<Type extends InputItem['type']> = (item: ItemOf<Type>, place: ItemPlace) => Piece | undefined;

export interface ItemPlace {
  /** Where the item stands in the request, for errors: `input[2]`. */
  readonly path: string;
  readonly nameTowardsBackend: (tool: ToolRef) => string;
  /** The reasoning in an `encrypted_content` of ours; undefined for a foreign or damaged one. */
  readonly openSeal?: ((sealed: string) => string | undefined) | undefined;
}

/** One entry per item type; a new type fails to compile here until it has one. */
const ITEMS: { readonly [Type in InputItem['type']]: ToPiece<Type> } = {
  message(item, { path }) {
    switch (item.role) {
      case 'user':
        return { kind: 'user', content: toUserContent(item.content, `${path}.content`) };
      case 'assistant':
        refuseMedia(item.content, path);
        return { kind: 'assistant', text: textOf(item.content, ''), refusal: refusalOf(item.content) };
      case 'system':
      case 'developer':
        refuseMedia(item.content, path);
        return { kind: 'system', role: item.role, text: textOf(item.content, '\n') };
      default:
        return unreachable(item.role);
    }
  },
  function_call(item, { nameTowardsBackend }) {
    const name = nameTowardsBackend({ kind: 'function', ...nameOf(item) });
    // Clients replay a call without arguments as they got it; backends parse the field as JSON.
    return { kind: 'call', callId: item.call_id, name, arguments: item.arguments || '{}' };
  },
  function_call_output: toOutput,
  custom_tool_call(item, { nameTowardsBackend }) {
    const name = nameTowardsBackend({ kind: 'custom', ...nameOf(item) });
    return { kind: 'call', callId: item.call_id, name, arguments: JSON.stringify({ [INPUT_PARAMETER]: item.input }) };
  },
  custom_tool_call_output: toOutput,
  tool_search_call(item, { nameTowardsBackend }) {
    const name = nameTowardsBackend({ kind: 'tool_search' });
    // Some clients keep the arguments as the text they were.
    const given = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments);
    return { kind: 'call', callId: item.call_id, name, arguments: given };
  },
  tool_search_output(item, { nameTowardsBackend }) {
    const names = clientToolsOf(item.tools).map(nameTowardsBackend);
    const text = names.length === 0 ? 'No tool was found.' : `Found, and ready to be called: ${names.join(', ')}`;
    return { kind: 'output', callId: item.call_id, text, media: [] };
  },
  local_shell_call(item, { nameTowardsBackend }) {
    const { type: _exec, env = {}, ...action } = item.action;
    const given = Object.keys(env).length > 0 ? { ...action, env } : action;
    const name = nameTowardsBackend({ kind: 'local_shell' });
    return { kind: 'call', callId: item.call_id, name, arguments: JSON.stringify(given) };
  },
  local_shell_call_output(item, { path }) {
    const callId = item.call_id ?? item.id;
    if (callId === undefined) throw missing(`${path}.call_id`);
    return { kind: 'output', callId, text: item.output, media: [] };
  },
  shell_call(item, { nameTowardsBackend }) {
    const name = nameTowardsBackend({ kind: 'shell' });
    return { kind: 'call', callId: item.call_id, name, arguments: JSON.stringify(item.action) };
  },
  shell_call_output(item) {
    const text = typeof item.output === 'string' ? item.output : JSON.stringify(item.output);
    return { kind: 'output', callId: item.call_id, text, media: [] };
  },
  apply_patch_call(item, { nameTowardsBackend }) {
    const name = nameTowardsBackend({ kind: 'apply_patch' });
    return { kind: 'call', callId: item.call_id, name, arguments: JSON.stringify(item.operation) };
  },
  apply_patch_call_output(item) {
    const result = item.status === 'failed' ? 'The patch could not be applied.' : 'The patch was applied.';
    const text = item.output === undefined || item.output === '' ? result : `${result}\n${item.output}`;
    return { kind: 'output', callId: item.call_id, text, media: [] };
  },
  // Its tools are offered beside those of `tools`; it says nothing itself.
  additional_tools: () => undefined,
  reasoning(item, { openSeal }) {
    const sealed = item.encrypted_content === undefined ? undefined : openSeal?.(item.encrypted_content);
    if (sealed !== undefined) return { kind: 'reasoning', text: sealed };
    const parts = item.content !== undefined && item.content.length > 0 ? item.content : (item.summary ?? []);
    return { kind: 'reasoning', text: parts.map((part) => part.text).join('\n') };
  },
  compaction_trigger(_item, { path }) {
    throw new ApiError('unsupported_parameter', {
      param: path,
      message: `${path} asks for a compaction, which this gateway does not do. Compact the history at the client.`,
    });
  },
  agent_message(item, { path }) {
    // A server that runs such agents would have encrypted the payload. The model's words were left as they are here.
    const parts = item.content.map((part) =>
      part.type === 'encrypted_content' ? ({ type: 'input_text', text: part.encrypted_content } as const) : part,
    );
    return { kind: 'user', content: toUserContent(parts, `${path}.content`) };
  },
  item_reference(_item, { path }) {
    throw new ApiError('unsupported_parameter', {
      param: path,
      message:
        `${path} is an item_reference, but this gateway stores no items. Send the full items instead: set "store": false ` +
        '(in the AI SDK: providerOptions: { openai: { store: false } }).',
    });
  },
};

/** What an input item says; undefined when it is nothing for the messages. Throws ApiError for what no chat backend can be told. */
export function toPiece(item: InputItem, place: ItemPlace): Piece | undefined {
  return convert(item.type, item, place);
}

/** Generic, so that the compiler sees that the entry and the item are of one type. */
function convert<Type extends InputItem['type']>(type: Type, item: ItemOf<Type>, place: ItemPlace): Piece | undefined {
  return ITEMS[type](item, place);
}

function nameOf({ name, namespace }: { name: string; namespace?: string }): { name: string; namespace?: string } {
  return namespace === undefined ? { name } : { name, namespace };
}

function toOutput(
  item: { readonly call_id: string; readonly output: string | InputPart[] },
  { path }: ItemPlace,
): Extract<Piece, { kind: 'output' }> {
  return { kind: 'output', callId: item.call_id, text: textOf(item.output, '\n'), media: mediaOf(item.output, path) };
}

function toUserContent(content: string | readonly InputPart[], path: string): string | readonly ChatPart[] {
  if (typeof content === 'string') return content;
  // Plain text goes as a string, which also backends without vision take.
  if (content.every((part) => 'text' in part)) return textOf(content, '\n');
  return content.map((part, index) => toChatPart(part, `${path}[${index}]`)).filter((part) => part !== undefined);
}

function toChatPart(part: InputPart, path: string): ChatPart | undefined {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      // Backends refuse empty text parts.
      return part.text === '' ? undefined : { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'input_image':
      if (part.image_url === undefined) {
        if (part.file_id === undefined) throw missing(`${path}.image_url`);
        throw unsupportedPart(`${path}.file_id`, 'image_url');
      }
      return { type: 'image_url', image_url: { url: part.image_url, ...imageDetail(part.detail) } };
    case 'input_file':
      if (part.file_data === undefined) {
        if (part.file_url === undefined && part.file_id === undefined) throw missing(`${path}.file_data`);
        throw unsupportedPart(`${path}.${part.file_url === undefined ? 'file_id' : 'file_url'}`, 'file_data');
      }
      return {
        type: 'file',
        file: { ...(part.filename !== undefined && { filename: part.filename }), file_data: part.file_data },
      };
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio };
    default:
      return unreachable(part);
  }
}

function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', { param, message: `${param} is missing.` });
}

function unsupportedPart(param: string, instead: string): ApiError {
  return new ApiError('unsupported_parameter', {
    param,
    message: `${param} is not supported: this gateway stores and fetches no files. Send ${instead} instead.`,
  });
}

/** The chat format does not know `original`; `high` comes nearest. */
function imageDetail(detail: 'low' | 'high' | 'auto' | 'original' | undefined): { readonly detail?: string } {
  if (detail === undefined) return {};
  return { detail: detail === 'original' ? 'high' : detail };
}

function textOf(content: string | readonly InputPart[], separator: string): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => ('text' in part ? [part.text] : [])).join(separator);
}

/** In the chat format only the user shows images and files; leaving them out in silence would change what was said. */
function refuseMedia(content: string | readonly InputPart[], path: string): void {
  if (typeof content === 'string') return;
  const index = content.findIndex((part) => !('text' in part) && part.type !== 'refusal');
  if (index < 0) return;
  const param = `${path}.content[${index}]`;
  throw new ApiError('unsupported_parameter', {
    param,
    message: `${param} is not supported: only messages of the user and tool outputs may hold images, files and audio.`,
  });
}

function refusalOf(content: string | readonly InputPart[]): string {
  if (typeof content === 'string') return '';
  return content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : [])).join('');
}

function mediaOf(content: string | readonly InputPart[], path: string): readonly ChatPart[] {
  if (typeof content === 'string') return [];
  return content.flatMap((part, index) => {
    const chatPart = 'text' in part ? undefined : toChatPart(part, `${path}.output[${index}]`);
    return chatPart === undefined ? [] : [chatPart];
  });
}
