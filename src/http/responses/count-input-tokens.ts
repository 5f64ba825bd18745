import type { RequestHandler, Response } from 'express';
import type { Admission } from '../../accounts/admission.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { countedInputOf } from '../../core/counted-input.ts';
import { inputSizeOf, type InputSize, type TokenEstimator } from '../../core/estimate.ts';
import { toChatRequest } from '../../core/request.ts';
import type { Tokenizer } from '../../tokenizer/tokenizer.ts';
import { vocabularyOf } from '../../tokenizer/vocabulary.ts';
import type { InputTokens } from '../../types/contract.ts';
import { callerOf } from '../access/authenticate.ts';
import { readJsonBody } from '../body/body.ts';
import { factsOf } from '../telemetry/request-facts.ts';
import { validateCreateResponse } from '../validate.ts';
import { holdsCompaction, sizeOfChat } from './compaction.ts';
import type { ItemMemory } from './item-memory.ts';
import { translationOptionsFor, type TranslationSettings } from './translation-options.ts';

export interface CountInputTokensOptions extends TranslationSettings {
  readonly tokenizer: Tokenizer;
  readonly estimator: Pick<TokenEstimator, 'estimateInput'>;
  readonly admission: Pick<Admission, 'admitFree'>;
  readonly itemMemory: ItemMemory;
  readonly maxBodyBytes: number;
}

/**
 * `POST /api/v1/responses/input_tokens`: about how many tokens the backend would get for this request. It takes what a create
 * request takes, and refuses what that one would. The backend is not asked, so there is no record and no cost.
 */
export function countInputTokens(options: CountInputTokensOptions): RequestHandler {
  return async (req, res) => {
    const { identity, key } = callerOf(res);
    const { bytes, value } = await readJsonBody(req, { maxBytes: options.maxBodyBytes });
    const bytesRemembered = options.itemMemory.resolve(identity, value);
    const request = validateCreateResponse(value);
    factsOf(res).model = request.model;
    const { chat } = toChatRequest(request, translationOptionsFor(identity, options));
    const headers = await options.admission.admitFree(key, { model: request.model, backendModel: chat.model });
    const size = (): InputSize =>
      holdsCompaction(request) ? sizeOfChat(chat) : inputSizeOf(chat, bytes.length + bytesRemembered);
    const counted = await count(chat, { size, signal: whenGone(res) }, options);
    res.set(headers).json({ object: 'response.input_tokens', estimated: true, ...counted } satisfies InputTokens);
  };
}

async function count(
  chat: ChatRequest,
  { size, signal }: { readonly size: () => InputSize; readonly signal: AbortSignal },
  { tokenizer, estimator }: CountInputTokensOptions,
): Promise<Pick<InputTokens, 'input_tokens' | 'estimated_by'>> {
  const { texts, otherTokens } = countedInputOf(chat);
  const vocabulary = vocabularyOf(chat.model);
  const tokens = await tokenizer.count(texts, { vocabulary, signal });
  return tokens === undefined
    ? { input_tokens: estimator.estimateInput(chat.model, size()), estimated_by: 'arithmetic' }
    : { input_tokens: tokens + otherTokens, estimated_by: vocabulary };
}

function whenGone(res: Response): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return gone.signal;
}
