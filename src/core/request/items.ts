import type { InputItem, InputPart, KnownItem } from '../../contract/types.ts';
import type { ChatPart } from '../chat.ts';
import { mediaOf, refusalOf, textOf, toUserContent, type PartForms } from './parts.ts';
import { isList, isObject } from '../json.ts';
import { objectInString, readBoundedJson } from '../json-size.ts';
import { toContext, UNREADABLE_SUMMARY } from '../compaction/prompt.ts';
import { INPUT_PARAMETER } from '../reply/custom-input.ts';
import { ApiError, unreachable } from '../errors.ts';
import { toWellFormedJson } from '../well-formed.ts';
import { uniqueOfItem } from '../ids.ts';
import { readReplyState, type ReplyState, type StateOrigin } from '../reply/reply-state.ts';
import { isHostedCallType, toHostedCall } from './hosted-calls.ts';
import { nameOf, type ToolRef } from './tool-names.ts';
import { clientToolsOf } from './tools.ts';

export type Piece =
  | { readonly kind: 'system'; readonly role: 'system' | 'developer'; readonly text: string }
  | { readonly kind: 'user'; readonly content: string | readonly ChatPart[] }
  | AssistantPiece
  | ReasoningPiece
  | { readonly kind: 'call'; readonly callId: string; readonly name: string; readonly arguments: string }
  | { readonly kind: 'output'; readonly callId: string; readonly text: string; readonly media: readonly ChatPart[] };

export interface AssistantPiece {
  readonly kind: 'assistant';
  readonly text: string;
  readonly refusal: string;
  readonly media?: readonly ChatPart[];
}

export interface ReasoningPiece {
  readonly kind: 'reasoning';
  readonly text: string;
  readonly reply?: string;
  readonly state?: ReplyState;
  /** Its state belongs to another backend or model. */
  readonly lacksState?: true;
  /** Another backend or model has thought it, as far as anybody can say. */
  readonly isForeign?: true;
}

/** A `left out` item has no place in the chat format. The caller sees it in a header. */
export type NoPiece = 'folded' | 'left out';

type ItemType = KnownItem['type'];
type ItemOf<Type extends ItemType> = Extract<KnownItem, { type: Type }>;
type ToPiece<Type extends ItemType> = (item: ItemOf<Type>, context: ItemContext) => Piece | NoPiece;

export interface ItemContext {
  readonly path: string;
  readonly nameTowardsBackend: (tool: ToolRef) => string;
  readonly forms: PartForms;
  readonly openSeal?: OpenSeal | undefined;
  /** The state of a reply from another backend or model is not sent. */
  readonly origin: StateOrigin;
  readonly openCompaction?: OpenSeal | undefined;
}

/** Returns undefined for a seal that is foreign or damaged. */
export type OpenSeal = (sealed: string) => string | undefined;

const ITEMS: { readonly [Type in ItemType]: ToPiece<Type> } = {
  message(item, { path, forms }) {
    switch (item.role) {
      case 'user':
        return { kind: 'user', content: toUserContent(item.content, `${path}.content`, forms) };
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
    return { kind: 'call', callId: item.call_id, name, arguments: toArguments(item.arguments) };
  },
  function_call_output: (item, context) =>
    item.call_id === undefined ? toUserOutput(item, context) : toOutput(item.call_id, item, context),
  custom_tool_call(item, { nameTowardsBackend }) {
    const name = nameTowardsBackend({ kind: 'custom', ...nameOf(item) });
    return { kind: 'call', callId: item.call_id, name, arguments: JSON.stringify({ [INPUT_PARAMETER]: item.input }) };
  },
  custom_tool_call_output: (item, context) => toOutput(item.call_id, item, context),
  tool_search_call(item, { nameTowardsBackend }) {
    // Without a call id the server did the search, not the client.
    if (item.call_id === undefined) return 'left out';
    const name = nameTowardsBackend({ kind: 'tool_search' });
    // Some clients keep the arguments as text.
    const given = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments ?? {});
    return { kind: 'call', callId: item.call_id, name, arguments: toArguments(given) };
  },
  tool_search_output(item, { nameTowardsBackend }) {
    if (item.call_id === undefined) return 'left out';
    const names = clientToolsOf(item.tools).map(nameTowardsBackend);
    const text = names.length === 0 ? 'No tool was found.' : `Found, and ready to be called: ${names.join(', ')}`;
    return { kind: 'output', callId: item.call_id, text, media: [] };
  },
  local_shell_call(item, { nameTowardsBackend }) {
    const callId = item.call_id ?? item.id;
    if (callId === undefined) return 'left out';
    const { type: _exec, env = {}, ...action } = item.action;
    const given = Object.keys(env).length > 0 ? { ...action, env } : action;
    const name = nameTowardsBackend({ kind: 'local_shell' });
    return { kind: 'call', callId, name, arguments: JSON.stringify(given) };
  },
  local_shell_call_output(item, context) {
    const callId = item.call_id ?? item.id;
    return callId === undefined ? toUserOutput(item, context) : toOutput(callId, item, context);
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
  // Its tools are offered together with `tools`.
  additional_tools: () => 'folded',
  reasoning(item, { openSeal, origin }) {
    const sealed = item.encrypted_content === undefined ? undefined : openSeal?.(item.encrypted_content);
    const state = sealed === undefined ? undefined : readReplyState(sealed);
    if (sealed !== undefined && state === undefined) return { kind: 'reasoning', text: sealed };
    if (state?.dialect === origin.dialect && state.model === origin.model)
      return { kind: 'reasoning', text: state.thoughts, reply: state.reply, state };
    const reply = item.id === undefined ? undefined : uniqueOfItem(item.id);
    return {
      kind: 'reasoning',
      text: thoughtsIn(item.content) || thoughtsIn(item.summary),
      ...(reply !== undefined && { reply }),
      ...(state !== undefined && { lacksState: true }),
      ...((state !== undefined || reply === undefined) && { isForeign: true }),
    };
  },
  compaction(item, { forms, openCompaction }) {
    const summary = openCompaction?.(item.encrypted_content);
    if (summary === undefined) forms.leaveOut?.(item.type);
    return { kind: 'user', content: summary === undefined ? UNREADABLE_SUMMARY : toContext(summary) };
  },
  compaction_trigger: () => 'folded',
  configuration_update: () => 'folded',
  agent_message(item, { path, forms }) {
    // This gateway encrypts no arguments, so the payload is the plain text of the model.
    const parts = item.content.map((part) =>
      part.type === 'encrypted_content' ? ({ type: 'input_text', text: part.encrypted_content } as const) : part,
    );
    return { kind: 'user', content: toUserContent(parts, `${path}.content`, forms) };
  },
  item_reference(_item, { path }) {
    throw new ApiError('unsupported_parameter', {
      param: path,
      message:
        `${path} is an item_reference, but this gateway stores no items. Send the full items instead: set "store": false ` +
        '(in the AI SDK: providerOptions: { openai: { store: false } }). ' +
        'The operator of the gateway can set ITEM_MEMORY_TTL_S, which makes it remember items for that many seconds.',
    });
  },
};

/** Throws ApiError for items that no chat backend understands and that must not be left out. */
export function toPiece(item: InputItem, context: ItemContext): Piece | NoPiece {
  if (isKnown(item)) return convert(item.type, item, context);
  const hosted = toHostedCall(item, context.forms);
  if (hosted === undefined) return 'left out';
  const { text, media } = hosted;
  const { type }: { readonly type: string } = item;
  if (!type.endsWith('_output')) return { kind: 'assistant', text, refusal: '', media };
  // The client has sent it, so that what the model says next is an answer to it.
  return { kind: 'user', content: media.length === 0 ? text : [{ type: 'text', text }, ...media] };
}

/** Whether the model is told of items of this type. Others are left out. */
export function isTranslatedType(type: string): boolean {
  return isKnownType(type) || isHostedCallType(type);
}

/** Whether items of this type have a shape here. */
export function isKnownType(type: string): boolean {
  return Object.hasOwn(ITEMS, type);
}

function isKnown(item: InputItem): item is KnownItem {
  return isKnownType(item.type);
}

function convert<Type extends ItemType>(type: Type, item: ItemOf<Type>, context: ItemContext): Piece | NoPiece {
  return ITEMS[type](item, context);
}

/** No model needs its thoughts back as readable text, so what is no text is left out. */
function thoughtsIn(given: unknown): string {
  const parts = isList(given) ? given : [given];
  const texts = parts.map((part) => (isObject(part) ? part['text'] : part));
  return texts.filter((text) => typeof text === 'string').join('\n');
}

function toOutput(
  callId: string,
  { output }: { readonly output: string | InputPart[] },
  { path, forms }: ItemContext,
): Extract<Piece, { kind: 'output' }> {
  return { kind: 'output', callId, text: textOf(output, '\n'), media: mediaOf(output, `${path}.output`, forms) };
}

/** Codex Desktop sends outputs without a call id (openai/codex#43296). */
function toUserOutput(
  { name, output }: Pick<ItemOf<'function_call_output'>, 'name' | 'output'>,
  { path, forms }: ItemContext,
): Piece {
  const media = mediaOf(output, `${path}.output`, forms);
  const text = `Output of ${name === undefined ? 'an earlier tool call' : `the tool ${name}`}:\n${textOf(output, '\n')}`;
  return { kind: 'user', content: media.length === 0 ? text : [{ type: 'text', text }, ...media] };
}

/** Only user messages hold images and files in the chat format. */
function refuseMedia(content: string | readonly InputPart[], path: string): void {
  if (typeof content === 'string') return;
  const index = content.findIndex(
    (part) => !('text' in part) && part.type !== 'refusal' && part.type !== 'encrypted_content',
  );
  if (index < 0) return;
  const param = `${path}.content[${index}]`;
  throw new ApiError('unsupported_parameter', {
    param,
    message: `${param} is not supported: only messages of the user and tool outputs may hold images, files and audio.`,
  });
}

/**
 * vLLM and Ollama refuse a whole history when the arguments of one call are not JSON. Some clients
 * write them twice (JetBrains/koog#2095).
 */
function toArguments(text: string): string {
  if (text === '') return '{}';
  const given = isObject(readBoundedJson(text)) ? text : objectInString(text);
  return given === undefined ? JSON.stringify({ [UNREADABLE]: text }) : toWellFormedJson(given);
}

const UNREADABLE = 'unreadable_arguments';
