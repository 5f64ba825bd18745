import type { RequestHandler } from 'express';
import type { Admission } from '../../accounts/admission.ts';
import type { RoutedInputCounter } from '../../backend/backends.ts';
import { ApiError } from '../../core/errors.ts';
import type { ModelFinder } from '../../core/models.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { Tokenizer } from '../../tokenizer/tokenizer.ts';
import { vocabularyOf } from '../../tokenizer/vocabulary.ts';
import type { InputTokens } from '../../contract/types.ts';
import { callerOf } from '../../access/authenticate.ts';
import { readJsonBody } from '../../access/body.ts';
import { replyHeadOf } from '../incoming.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import type { Caller } from '../../accounts/caller.ts';
import type { InputToCount } from '../../requests/preparation/count.ts';
import type { Preparation } from '../../requests/preparation/preparation.ts';
import { nameLeftOut } from '../../requests/left-out.ts';
import { untilServed } from '../../wire/until-served.ts';

export interface CountInputTokensOptions {
  readonly inputCounter: RoutedInputCounter;
  readonly tokenizer: Tokenizer;
  readonly estimator: Pick<TokenEstimator, 'estimateInput'>;
  readonly admission: Admission;
  readonly models: { readonly present: ModelFinder | null };
  readonly preparation: Preparation;
  readonly maxBodyBytes: number;
}

/**
 * Counts the tokens of a request, and refuses what a create request refuses. Nothing is generated,
 * so there is no record and no cost.
 */
export function countInputTokens(options: CountInputTokensOptions): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res);
    const facts = factsOf(res);
    const bytes = await readJsonBody(req, { maxBytes: options.maxBodyBytes });
    const input = await options.preparation.count({ facts, caller, body: { bytes }, isServed: () => res.closed });
    // It has been counted as the client left.
    if (res.closed) throw new ApiError('client_disconnected');
    facts.model = input.model;
    const headers = await options.admission.admitFree(caller.key, input);
    const window = options.models.present?.find(input.model, input.backendModel)?.context_window;
    const counted = await count(input, { caller, signal: untilServed(res) }, options);
    nameLeftOut(replyHeadOf(res), input.leftOut);
    res.set(headers).json({
      object: 'response.input_tokens',
      ...counted,
      ...(window !== undefined && { context_window: window }),
    } satisfies InputTokens);
  };
}

type Counted = Omit<InputTokens, 'object'>;

interface Asking {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

async function count(input: InputToCount, asking: Asking, options: CountInputTokensOptions): Promise<Counted> {
  const exact = await countAtBackend(input, asking, options);
  return exact === undefined ? estimate(input, asking, options) : { estimated: false, input_tokens: exact };
}

/**
 * vLLM checks no key here, so strangers do not reach it, nor do keys without funds, whose counts are
 * free. Backends count images by other rules.
 */
async function countAtBackend(
  { chat, route, inputSize }: InputToCount,
  { caller, signal }: Asking,
  { inputCounter }: CountInputTokensOptions,
): Promise<number | undefined> {
  const isWithoutFunds = (caller.key?.balanceMicro ?? 1) <= 0;
  if (chat === undefined || inputSize.mediaTokens > 0 || isWithoutFunds || caller.holder().isStranger) return undefined;
  return inputCounter.count(chat, { headers: caller.backendHeaders, signal, route });
}

async function estimate(
  { backendModel: model, counted: { texts, otherTokens }, inputSize }: InputToCount,
  { caller, signal }: Asking,
  { tokenizer, estimator }: CountInputTokensOptions,
): Promise<Counted> {
  const vocabulary = vocabularyOf(model);
  const tokens = await tokenizer.count(texts, { vocabulary, signal });
  return tokens === undefined
    ? { estimated: true, input_tokens: arithmetic(), estimated_by: 'arithmetic' }
    : { estimated: true, input_tokens: tokens + otherTokens, estimated_by: vocabulary };

  function arithmetic(): number {
    const [name] = caller.identity;
    return estimator.estimateInput({ model, caller: name, inputSize });
  }
}
