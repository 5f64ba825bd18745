/** The translator as the gateway opens it for a request, with ids and times that are the same in every run. */

import type { ChatChunk, ChatRequest } from '../../src/core/chat.ts';
import { DIALECTS, type Dialect, type DialectName } from '../../src/core/dialects.ts';
import type { ApiError } from '../../src/core/errors.ts';
import { toUniquePart } from '../../src/core/ids.ts';
import { toChatRequest, wantsLogprobs, wantsSealedReasoning } from '../../src/core/request/request.ts';
import { maxCallsOf } from '../../src/core/request/tool-choice.ts';
import { initialResponse } from '../../src/core/reply/initial-response.ts';
import { thinkTagsFor } from '../../src/core/reply/think-tags.ts';
import type { ThoughtsForm } from '../../src/core/reply/reply-state.ts';
import { createTranslator, type Translator } from '../../src/core/reply/translator.ts';
import type { CreateResponse, ResponseEvent } from '../../src/contract/types.ts';
import type { ReasoningOutput } from '../../src/contract/settings-types.ts';

export interface MachineSettings {
  readonly dialect?: DialectName;
  readonly thinkTags?: Dialect['thinkTags'];
  readonly reasoningOutput?: ReasoningOutput;
  /** Whether anything is sealed; it is, in a seal that shows what is in it. */
  readonly seals?: boolean;
  readonly maxSealedLength?: number;
  readonly onLeftOut?: () => void;
  /** The field in which the model has sent thoughts before. */
  readonly usedField?: ThoughtsForm;
  readonly openCompaction?: (sealed: string) => string | undefined;
}

export const TEST_UNIQUE = toUniquePart('0123456789abcdef0123456789abcdef');
export const PLAIN_REQUEST: CreateResponse = { model: 'test-model', input: 'Hello' };

/** The machine, and what the backend would have been asked. */
export function openMachine(
  request: CreateResponse = PLAIN_REQUEST,
  {
    dialect = 'generic',
    thinkTags = DIALECTS[dialect].thinkTags,
    reasoningOutput = 'summary',
    seals = true,
    maxSealedLength = Infinity,
    onLeftOut = () => undefined,
    usedField,
    openCompaction = () => undefined,
  }: MachineSettings = {},
): Translator & { readonly chat: ChatRequest } {
  const { chat, tools, usedCallIds } = toChatRequest(request, {
    dialect: DIALECTS[dialect],
    upstreamDialect: dialect,
    modelAliases: new Map(),
    hostedTools: 'drop',
    openCompaction,
    usedFields: { of: () => usedField },
    ...(seals && { openSeal: (sealed) => sealed }),
  });
  const translator = createTranslator({
    response: initialResponse(request, tools, { unique: TEST_UNIQUE, createdAtS: 1_790_000_000 }),
    unique: TEST_UNIQUE,
    tools,
    usedCallIds,
    reasoningOutput,
    thinkTags: thinkTagsFor(thinkTags, chat),
    ...(seals && {
      state: {
        dialect,
        model: chat.model,
        seal: (state) => (state.length > maxSealedLength ? undefined : state),
        onLeftOut,
        isAskedFor: wantsSealedReasoning(request),
        reasoningField: DIALECTS[dialect].reasoningField,
      },
    }),
    logprobs: wantsLogprobs(request),
    maxToolCalls: maxCallsOf(request),
    nowS: () => 1_790_000_005,
  });
  // Not a copy, in which the fields would stay as they are now.
  return Object.defineProperty(translator, 'chat', { value: chat }) as Translator & { readonly chat: ChatRequest };
}

/** What a backend's answer comes to, once it has been read. */
export interface Answer {
  readonly chunks: readonly ChatChunk[];
  /** `[DONE]` was in it. */
  readonly done: boolean;
  readonly failure?: ApiError | undefined;
}

/** All events of one answer. */
export function translate(answer: Answer, request?: CreateResponse, settings?: MachineSettings): ResponseEvent[] {
  const machine = openMachine(request, settings);
  const batches = [machine.start(), machine.feed(answer.chunks)];
  batches.push(answer.failure === undefined ? machine.end(answer.done) : machine.fail(answer.failure));
  return batches.flat();
}

/** A chunk whose only choice has this delta. */
export function chunkOf(delta: unknown, finishReason: string | null = null): ChatChunk {
  return { choices: [{ index: 0, delta, finish_reason: finishReason }] };
}
