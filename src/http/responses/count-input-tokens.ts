import type { RequestHandler, Response } from 'express';
import type { Admission } from '../../accounts/admission.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { countedInputOf } from '../../core/tokens/counted-input.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import { inputSizeOf } from '../../core/tokens/input-size.ts';
import { toChatRequest } from '../../core/request/request.ts';
import type { Tokenizer } from '../../tokenizer/tokenizer.ts';
import { vocabularyOf } from '../../tokenizer/vocabulary.ts';
import type { InputTokens } from '../../contract/types.ts';
import { callerOf } from '../access/authenticate.ts';
import { readJsonBody } from '../body/body.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { validateCreateResponse } from '../../requests/validate.ts';
import type { ItemMemory } from '../../requests/item-memory.ts';
import { translationOptionsFor, type TranslationSettings } from '../../requests/prepare.ts';
import { nameLeftOut } from '../../requests/left-out.ts';

export interface CountInputTokensOptions extends TranslationSettings {
  readonly tokenizer: Tokenizer;
  readonly estimator: Pick<TokenEstimator, 'estimateInput'>;
  readonly admission: Pick<Admission, 'admitFree'>;
  readonly itemMemory: ItemMemory;
  readonly maxBodyBytes: number;
}

/**
 * Estimates the tokens of a request, and refuses what a create request refuses. The backend is not
 * asked, so there is no record and no cost.
 */
export function countInputTokens(options: CountInputTokensOptions): RequestHandler {
  return async (req, res) => {
    const { identity, key } = callerOf(res);
    const { value } = await readJsonBody(req, { maxBytes: options.maxBodyBytes });
    options.itemMemory.resolve(identity, value);
    const request = validateCreateResponse(value);
    const facts = factsOf(res);
    facts.model = request.model;
    const translation = toChatRequest(request, translationOptionsFor(identity, options));
    const { chat } = translation;
    const headers = await options.admission.admitFree(key, { model: request.model, backendModel: chat.model });
    const counted = await count(chat, { caller: identity[0], signal: whenGone(res) }, options);
    nameLeftOut({ facts, setHeader: (name, value) => res.setHeader(name, value) }, translation);
    res.set(headers).json({ object: 'response.input_tokens', estimated: true, ...counted } satisfies InputTokens);
  };
}

async function count(
  chat: ChatRequest,
  { caller, signal }: { readonly caller: string; readonly signal: AbortSignal },
  { tokenizer, estimator }: CountInputTokensOptions,
): Promise<Pick<InputTokens, 'input_tokens' | 'estimated_by'>> {
  const { texts, otherTokens } = countedInputOf(chat);
  const vocabulary = vocabularyOf(chat.model);
  const tokens = await tokenizer.count(texts, { vocabulary, signal });
  return tokens === undefined
    ? { input_tokens: arithmetic(), estimated_by: 'arithmetic' }
    : { input_tokens: tokens + otherTokens, estimated_by: vocabulary };

  function arithmetic(): number {
    return estimator.estimateInput({ model: chat.model, caller, inputSize: inputSizeOf(chat) });
  }
}

function whenGone(res: Response): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return gone.signal;
}
