/** The client sends the sealed summary instead of the items that it summarizes. */

import type { CreateResponse, InputItem } from '../../contract/types.ts';
import type { ChatRequest } from '../chat.ts';
import type { ModelFinder } from '../models.ts';
import { settle } from '../request/model-settings.ts';
import { toPrompt } from './prompt.ts';
import { toChatRequest, type TranslationOptions } from '../request/request.ts';
import { currentTurnOf, keptLengthFor, leavesOut } from '../request/kept-input.ts';

type WithInput = Pick<CreateResponse, 'input'>;

export interface CompactionPlan {
  readonly chat: ChatRequest;
  /** Adds the compaction item to the input. It is absent when only the summary is asked for. */
  readonly resume?: (encryptedContent: string) => CreateResponse;
}

export interface CompactionOptions extends TranslationOptions, CompactionSettings {}

export interface CompactionSettings {
  readonly compactionModel: string | null;
  readonly compactionMaxOutputTokens: number;
  readonly models: { readonly present: ModelFinder | null };
}

/** Whether the request asks for a compaction instead of an answer. */
export function asksForCompaction({ input }: WithInput): boolean {
  return typeof input !== 'string' && input.at(-1)?.type === 'compaction_trigger';
}

/** Plans a compaction instead of an answer. Throws as `toChatRequest` does. */
export function planCompaction(request: CreateResponse, options: CompactionOptions): CompactionPlan {
  return { chat: askForSummary(request, options) };
}

/** Returns undefined when a compaction of all but the current turn would leave nothing out. */
export function planCompactionOnTheWay(
  request: CreateResponse,
  threshold: number,
  options: CompactionOptions,
): CompactionPlan | undefined {
  const { input } = request;
  if (typeof input === 'string') return undefined;
  const start = currentTurnOf(input);
  if (!leavesOut(input, start, keptLengthFor(threshold), options.openCompaction)) return undefined;
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

/**
 * Keeps the wording of the conversation, and the tools where the backend calls none when it is told
 * so. The backend has both in its prompt cache.
 */
function askForSummary(request: CreateResponse, options: CompactionOptions): ChatRequest {
  const { compactionModel, compactionMaxOutputTokens, modelAliases, models } = options;
  const model = compactionModel ?? request.model;
  const asked: CreateResponse = {
    ...pick(request, ['instructions', 'tools', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'user']),
    // An effort of the request's model may not be one of the compaction model.
    ...(compactionModel === null && pick(request, ['reasoning'])),
    model,
    input: [
      ...inputToCompact(request),
      { type: 'message', role: 'user', content: toPrompt(compactionMaxOutputTokens) },
    ],
    // A stream shows that a backend which needs minutes is still working.
    stream: true,
  };
  const settled = settle(asked, models.present?.find(model, modelAliases.get(model) ?? model)).request;
  const fixed = { tool_choice: 'none', max_output_tokens: compactionMaxOutputTokens } as const;
  const { chat } = toChatRequest({ ...settled, ...fixed }, options);
  const { toolChoice } = options.dialect;
  if (compactionModel === null && (toolChoice === 'allowed' || toolChoice === 'named')) return chat;
  // The tools were needed to name the calls of the history.
  const { tools: _tools, tool_choice: _choice, parallel_tool_calls: _parallel, ...asking } = chat;
  return asking;
}

/** Returns the items to summarize, without the compaction trigger. */
export function inputToCompact({ input }: WithInput): readonly InputItem[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return input.filter(({ type }) => type !== 'compaction_trigger');
}

function pick(request: CreateResponse, names: readonly (keyof CreateResponse)[]): Partial<CreateResponse> {
  return Object.fromEntries(names.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]])));
}
