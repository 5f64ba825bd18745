import { CUT_SHORT } from './prompt.ts';
import { ApiError } from '../errors.ts';
import type { UniquePart } from '../ids.ts';
import { initialResponse } from '../reply/initial-response.ts';
import { planTools } from '../request/tools.ts';
import type { ThinkTags } from '../reply/think-tags.ts';
import { createTranslator, type Translator } from '../reply/translator.ts';

export interface SummaryOptions {
  readonly model: string;
  readonly unique: UniquePart;
  readonly thinkTags: ThinkTags;
  readonly nowS: () => number;
}

/** Opens a translator that reads the summary. Its events are not sent. */
export function readSummary({ model, unique, thinkTags, nowS }: SummaryOptions): Translator {
  const request = { model, input: '' };
  const tools = planTools(request, 'drop');
  return createTranslator({
    response: initialResponse(request, tools, { unique, createdAtS: nowS() }),
    unique,
    tools,
    usedCallIds: new Set(),
    reasoningOutput: 'hidden',
    thinkTags,
    logprobs: false,
    maxToolCalls: null,
    nowS,
  });
}

/** Returns the text of a summary. Throws ApiError when it failed, was filtered or is empty. */
export function summaryOf({ response, failure }: Translator): string {
  if (failure !== null) throw failure;
  const reason = response.incomplete_details?.reason;
  const text = response.output_text.trim();
  if (reason === 'content_filter') throw noSummary("The backend's content filter stopped the summary.");
  if (text === '') throw noSummary(reason === undefined ? SAID_NOTHING : NO_ROOM);
  return reason === undefined ? text : `${text}\n${CUT_SHORT}`;
}

const SAID_NOTHING = 'The backend was asked for a summary and wrote none.';
const NO_ROOM =
  'The backend reached the limit of the summary before it wrote a word of it, perhaps by thinking. ' +
  'The operator of the gateway can set a COMPACTION_MODEL that thinks less.';

function noSummary(message: string): ApiError {
  return new ApiError('upstream_invalid_response', { message });
}
