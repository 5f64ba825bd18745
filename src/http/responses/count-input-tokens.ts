import type { RequestHandler, Response } from 'express';
import type { Admission } from '../../accounts/admission.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { countedInputOf } from '../../core/counted-input.ts';
import { ApiError } from '../../core/errors.ts';
import { inputSizeOf, type InputSize, type TokenEstimator } from '../../core/estimate.ts';
import { toChatRequest } from '../../core/request.ts';
import type { Tokenizer } from '../../tokenizer/tokenizer.ts';
import { vocabularyOf } from '../../tokenizer/vocabulary.ts';
import type { InputTokens } from '../../types/contract.ts';
import { callerOf } from '../access/authenticate.ts';
import { readJsonBody } from '../body/body.ts';
import { factsOf } from '../telemetry/request-facts.ts';
import { validateCreateResponse } from '../validate.ts';
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
    const size = inputSizeOf(chat, bytes.length + bytesRemembered);
    res.set(headers).json(await count(chat, size, res, options));
  };
}

async function count(
  chat: ChatRequest,
  size: InputSize,
  res: Response,
  { tokenizer, estimator }: CountInputTokensOptions,
): Promise<InputTokens> {
  const { texts, otherTokens } = countedInputOf(chat);
  const vocabulary = vocabularyOf(chat.model);
  const tokens = await tokenizer.count(texts, { vocabulary, signal: whenGone(res) });
  if (res.closed) throw new ApiError('client_disconnected');
  const counted =
    tokens === undefined
      ? ({ input_tokens: estimator.estimateInput(chat.model, size), estimated_by: 'arithmetic' } as const)
      : ({ input_tokens: tokens + otherTokens, estimated_by: vocabulary } as const);
  return { object: 'response.input_tokens', estimated: true, ...counted };
}

function whenGone(res: Response): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return gone.signal;
}
