import type { BegunAnswer } from '../backend/chat.ts';
import type { Translation } from '../core/request/request.ts';
import type { ReplyHead, RequestFacts } from '../telemetry/facts.ts';
import type { LeftOut } from './plan.ts';

const IGNORED = 'x-ignored-parameters';

const LISTS: readonly (readonly [header: string, namesOf: (translation: Translation) => readonly string[]])[] = [
  ['x-dropped-tools', ({ tools }) => tools.dropped],
  ['x-dropped-items', ({ droppedItems }) => droppedItems],
  [IGNORED, ({ parameters }) => parameters.ignored],
];

export function leftOutOf(translation: Translation): LeftOut {
  const leftOut: Record<string, string> = {};
  for (const [header, namesOf] of LISTS) {
    const names = namesOf(translation);
    if (names.length > 0) leftOut[header] = toHeaderList(names);
  }
  return leftOut;
}

/** Names what was left out in headers of the reply, unless it has begun, and in the log line. */
export function nameLeftOut({ facts, setHeader, hasReplyBegun }: ReplyHead, leftOut: LeftOut): void {
  for (const [header, list] of Object.entries(leftOut)) {
    if (!hasReplyBegun()) setHeader(header, list);
    facts.leftOut = { ...facts.leftOut, [header]: list };
  }
}

/** The parameters of the caller by the chat fields that carry them. Others are not the caller's. */
const PARAMETERS: Readonly<Partial<Record<BegunAnswer['leftOut'][number], string>>> = {
  reasoning_effort: 'reasoning.effort',
  reasoning: 'reasoning.effort',
  thinking: 'reasoning.effort',
  chat_template_kwargs: 'reasoning.effort',
  verbosity: 'text.verbosity',
  logprobs: 'top_logprobs',
  parallel_tool_calls: 'parallel_tool_calls',
  service_tier: 'service_tier',
  prompt_cache_key: 'prompt_cache_key',
  safety_identifier: 'safety_identifier',
  'messages.reasoning_content': 'input.reasoning',
  'messages.reasoning': 'input.reasoning',
  'messages.reasoning_details': 'input.reasoning',
  'messages.thinking_blocks': 'input.reasoning',
  'messages.reasoning_items': 'input.reasoning',
  'messages.reasoning_text': 'input.reasoning',
  'messages.reasoning_opaque': 'input.reasoning',
  'messages.extra_content': 'input.reasoning',
  'messages.provider_specific_fields': 'input.reasoning',
  'messages.past_images': 'input.input_image',
  'tools.strict': 'tools.strict',
  'tools.description': 'tools.description',
  'tools.parameters': 'tools.parameters',
};

export function nameRefused(reply: ReplyHead, fields: BegunAnswer['leftOut']): void {
  const before = reply.facts.leftOut?.[IGNORED]?.split(', ') ?? [];
  const list = toHeaderList([...before, ...fields.flatMap((field) => PARAMETERS[field] ?? [])]);
  if (list !== '') nameLeftOut(reply, { [IGNORED]: list });
}

/** Names state that the backend wants back and that is too long for a client to carry. */
export function nameUnsealed(facts: RequestFacts): void {
  facts.leftOut = { ...facts.leftOut, encrypted_content: 'too long' };
}

/** Many clients accept at most 16 KiB of headers, and lose a reply with more. */
const MAX_NAMES = 32;
const MAX_LOOKED_AT = 1000;
const MAX_NAME_LENGTH = 64;
const MAX_LENGTH = 2048;

const INSTEAD = / \(use [\w.]{1,64}\)$/;

/**
 * Replaces characters that a header may not have, because the names come from the request. Keeps
 * what stands behind a name, as in `max_tokens (use max_output_tokens)`.
 */
export function toHeaderList(names: readonly string[]): string {
  const listed = new Set<string>();
  let list = '';
  for (const name of names.slice(0, MAX_LOOKED_AT)) {
    const instead = INSTEAD.exec(name)?.[0] ?? '';
    const plain = name.slice(0, name.length - instead.length).slice(0, MAX_NAME_LENGTH);
    const shown = plain.replaceAll(/[^\w.:-]/g, '_') + instead;
    if (listed.has(shown)) continue;
    const longer = list === '' ? shown : `${list}, ${shown}`;
    if (listed.size === MAX_NAMES || longer.length > MAX_LENGTH) break;
    listed.add(shown);
    list = longer;
  }
  return list;
}
