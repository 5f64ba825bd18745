/**
 * Compaction (spec-digest, section 6): the backend writes a summary of a conversation, which the client carries, sealed, in
 * the place of what it sums up.
 */

import type { CreateResponse, InputItem } from '../../contract/types.ts';
import type { ChatRequest } from '../chat.ts';
import { toPrompt } from './prompt.ts';
import { toChatRequest, type TranslationOptions } from '../request/request.ts';
import { currentTurnOf, keptLengthFor, leavesOut } from '../request/kept-input.ts';

/** What is left of a request when the compaction it asks for has been done. */
export interface CompactionPlan {
  /** What the backend is asked for the summary. */
  readonly chat: ChatRequest;
  /** The request as it goes on with the compaction in it; undefined when the summary is all that was asked for. */
  readonly resume?: (encryptedContent: string) => CreateResponse;
}

export interface CompactionOptions extends TranslationOptions {
  /** As callers name it; null for the model of the request. */
  readonly compactionModel: string | null;
  readonly compactionMaxOutputTokens: number;
}

/** Whether the request asks for a compaction in the place of an answer. */
export function asksForCompaction({ input }: Pick<CreateResponse, 'input'>): boolean {
  return typeof input !== 'string' && input.at(-1)?.type === 'compaction_trigger';
}

/** A compaction in the place of an answer. Throws as `toChatRequest` does. */
export function planCompaction(request: CreateResponse, options: CompactionOptions): CompactionPlan {
  return { chat: askForSummary(request, options) };
}

/**
 * A compaction before the answer, which everything but the current turn gives way to. Undefined when that would leave nothing
 * out, since the same would be too long again at once.
 */
export function planCompactionOnTheWay(
  request: CreateResponse,
  threshold: number,
  options: CompactionOptions,
): CompactionPlan | undefined {
  const { input } = request;
  if (typeof input === 'string') return undefined;
  const start = currentTurnOf(input);
  if (!leavesOut(input, start, keptLengthFor(threshold))) return undefined;
  return {
    chat: askForSummary(request, options),
    resume: (encryptedContent) => ({
      ...request,
      input: [
        ...input.slice(0, start),
        { type: 'compaction', encrypted_content: encryptedContent },
        ...input.slice(start),
      ],
    }),
  };
}

/** As the conversation goes on, in the same words, so that a backend that has read it before need not read it again. */
function askForSummary(request: CreateResponse, options: CompactionOptions): ChatRequest {
  const { compactionModel, compactionMaxOutputTokens } = options;
  const asked: CreateResponse = {
    ...pick(request, ['instructions', 'tools', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'user']),
    // What one model knows of efforts, another need not.
    ...(compactionModel === null && pick(request, ['reasoning'])),
    model: compactionModel ?? request.model,
    input: [
      ...inputToCompact(request),
      { type: 'message', role: 'user', content: toPrompt(compactionMaxOutputTokens) },
    ],
    max_output_tokens: compactionMaxOutputTokens,
    // A backend that takes minutes to write it shows that it is still there.
    stream: true,
  };
  // The tools give the calls of the history their names; to be called they are not offered.
  const {
    tools: _tools,
    tool_choice: _choice,
    parallel_tool_calls: _parallel,
    ...chat
  } = toChatRequest(asked, options).chat;
  return chat;
}

/** The items of the input, without the one that asks for the compaction. */
export function inputToCompact({ input }: Pick<CreateResponse, 'input'>): readonly InputItem[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return input.filter(({ type }) => type !== 'compaction_trigger');
}

function pick(request: CreateResponse, names: readonly (keyof CreateResponse)[]): Partial<CreateResponse> {
  return Object.fromEntries(names.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]])));
}
