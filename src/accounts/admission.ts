import { formatAmount } from '../core/money/decimal.ts';
import { ApiError, unreachable } from '../core/errors.ts';
import { WHOLE_GATEWAY } from '../core/ids.ts';
import { matchesModel } from '../core/model-patterns.ts';
import { limitsSpending } from '../core/money/limits.ts';
import {
  costOf,
  costOfTokens,
  holdOf,
  lacksTier,
  type Expected,
  type Price,
  type Prices,
} from '../core/money/pricing.ts';
import type { Reported } from '../core/reply/usage.ts';
import { refusedField } from '../core/request/bounded-fields.ts';
import type { InputSize } from '../core/tokens/input-size.ts';
import type { AccountStore, Hold, StoredAccount, StoredKey } from '../core/books/keys.ts';
import type { RateStanding } from '../core/money/rates.ts';
import type { Acceptance } from '../core/books/store.ts';
import type { AccountId, GroupId } from '../contract/ids.ts';
import type { Usage } from '../contract/types.ts';
import { faultOf, faultOfGroup } from './keys.ts';
import { NO_RATE_CHARGE, type RateLimits, type RateCharge } from './rates.ts';
import { spendWindowsOf } from './spend.ts';

/** Decides by key and model whether a request may start. The store decides by rate and funds. */
export interface Admission {
  /**
   * Throws ApiError `model_not_found` or `forbidden`, and repeats a recent refusal of the store.
   */
  admit(key: StoredKey | undefined, ask: Ask): AdmissionTerms;
  /** Counts as a request only. Throws ApiError `model_not_found` or `rate_limit_exceeded`. */
  admitFree(key: StoredKey | undefined, ask: RequestedModel): Promise<RateLimitHeaders>;
  /** Throws ApiError `rate_limit_exceeded`, or `forbidden` if model or cost matter to the key. */
  admitUnmetered(key: StoredKey | undefined): Promise<RateLimitHeaders>;
  offers(key: StoredKey | undefined, model: string, backendModel: string): boolean;
}

type RateLimitHeaders = Readonly<Record<string, string>>;

export interface RequestedModel {
  readonly model: string;
  readonly backendModel: string;
}

export interface Ask extends RequestedModel {
  readonly estimatedInputTokens: number;
  /** Limits one choice; null when the request names no limit. */
  readonly maxOutputTokens: number | null;
  /** Is 1 except for chat completions with `n`. */
  readonly choices: number;
  readonly inputSize: Pick<InputSize, 'mediaTokens'>;
  readonly serviceTier?: string | undefined;
}

export interface AdmissionTerms {
  /** Is undefined where the gateway issues no keys. */
  readonly hold: Hold | undefined;
  /**
   * Returns millionths at the prices of the admission: those of the model asked for, or of the one
   * that answered if it costs more. Returns null when the model asked for has no price.
   */
  costOf(usage: Usage, answer: Pick<Reported, 'model' | 'pricedBy'>): number | null;
  /**
   * Lets the request go to a backend with another name for the model, whose price holds from now
   * on. Returns false if the key may not use that name, or if it may cost or use more than is held.
   */
  reroute(to: Ask): boolean;
  taken(rates: RateStanding | undefined): RateCharge;
  explain(refused: Refused): Promise<ApiError>;
}

type Refused = Extract<Acceptance, { readonly kind: 'refused' }>;

const FREE: AdmissionTerms = {
  hold: undefined,
  costOf: () => null,
  reroute: () => true,
  taken: () => NO_RATE_CHARGE,
  explain: ({ code }) => Promise.resolve(new ApiError(code)),
};

/** Serves gateways that issue no keys. */
export const ADMIT_ALL: Admission = {
  admit: () => FREE,
  admitFree: () => Promise.resolve(NO_RATE_CHARGE.headers),
  admitUnmetered: () => Promise.resolve(NO_RATE_CHARGE.headers),
  offers: () => true,
};

export interface AdmissionOptions {
  readonly accounts: Pick<AccountStore, 'findKey'>;
  readonly rateLimits: RateLimits;
  readonly prices: { readonly present: Prices | null };
  readonly defaultMaxOutputTokens: number;
  readonly nowMs: () => number;
  /** Is called when a request is refused because less is left than it may cost. */
  readonly onShort?: (accountId: AccountId, of: 'credits' | 'spend') => void;
}

/** Returns the admission for the keys that the gateway issues. */
export function createAdmission(options: AdmissionOptions): Admission {
  const { prices, rateLimits } = options;
  return {
    admit(key, ask) {
      assertKey(key);
      const inForce = prices.present;
      let price = inForce?.find(ask.model, ask.backendModel);
      let requested: RequestedModel = ask;
      checkModel(key, ask, price);
      const expected = expectedOf(ask);
      const { keyId } = key;
      const tokens = sumOf(expected);
      rateLimits.check(key, tokens);
      const hold = {
        keyId,
        tokens,
        heldMicro: price === undefined ? 0 : holdOf(price, expected),
        interruptedCostMicro: price === undefined ? null : costOfTokens(price, { ...expected, outputTokens: 0 }),
      };
      return {
        hold,
        reroute(to) {
          const { model, backendModel, estimatedInputTokens } = to;
          const other = inForce?.find(model, backendModel);
          const isMore = estimatedInputTokens > expected.inputTokens * TRANSLATION_SLACK;
          const inputTokens = isMore ? estimatedInputTokens : expected.inputTokens;
          const needed = { ...expectedOf(to), inputTokens };
          const isPaid = other !== undefined && holdOf(other, needed) <= hold.heldMicro;
          if (!mayUse(key, model, backendModel) || (paysPerUse(key) && !isPaid)) return false;
          if (isLimited(key) && lacksTier(other, to.serviceTier)) return false;
          if (hasTokensPerMinute(key) && sumOf(needed) > tokens) return false;
          price = other;
          requested = { model, backendModel };
          return true;
        },
        costOf(usage, answer) {
          if (price === undefined) return null;
          const { model: answeredBy } = answer;
          const other = answeredBy === null ? undefined : inForce?.findAnswered(answeredBy, requested);
          const costs = [price, other ?? price].map((one) => costOf(one, usage, answer, ask.serviceTier));
          return Math.max(...costs);
        },
        taken: (rates) => rateLimits.taken(keyId, tokens, rates),
        explain: ({ code, rates, ofGroup }) =>
          code === 'rate_limit_exceeded'
            ? Promise.resolve(rateLimits.explain(keyId, tokens, rates))
            : explain({ code, ofGroup }, hold, options),
      };
    },
    async admitFree(key, { model, backendModel }) {
      assertKey(key);
      if (!mayUse(key, model, backendModel)) throw modelNotFound();
      return (await rateLimits.take(key)).headers;
    },
    async admitUnmetered(key) {
      assertKey(key);
      if (paysPerUse(key) || accountsOf(key).some(({ models }) => models !== null)) {
        throw new ApiError('forbidden', { message: UNMETERED });
      }
      return (await rateLimits.take(key)).headers;
    },
    offers(key, model, backendModel) {
      assertKey(key);
      const isPaid = !paysPerUse(key) || prices.present?.find(model, backendModel) !== undefined;
      return isPaid && mayUse(key, model, backendModel);
    },
  };

  function expectedOf({ estimatedInputTokens, choices, maxOutputTokens, inputSize, serviceTier }: Ask): Expected {
    const outputTokens = choices * (maxOutputTokens ?? options.defaultMaxOutputTokens);
    return { inputTokens: estimatedInputTokens, outputTokens, hasMedia: inputSize.mediaTokens > 0, serviceTier };
  }
}

/** The same input is a little longer in the form of another backend, which must not keep it from there. */
const TRANSLATION_SLACK = 1.25;

function sumOf({ inputTokens, outputTokens }: Expected): number {
  return Math.min(inputTokens + outputTokens, Number.MAX_SAFE_INTEGER);
}

const UNMETERED =
  'The API key, its group or the whole gateway has credits, a spend limit or a list of models, and what a request to this path uses is not known here. ' +
  'Only keys without them can use it.';

function assertKey(key: StoredKey | undefined): asserts key is StoredKey {
  if (key === undefined) throw new Error('a caller was let in without a key');
}

/** Returns whether the key or its group has funds or any limit, which a request must not get around. */
export function isLimited(key: StoredKey | undefined): boolean {
  return (
    key !== undefined &&
    accountsOf(key).some(({ models, balanceMicro, limits }) => {
      return models !== null || balanceMicro !== null || Object.values(limits).some((limit) => limit !== null);
    })
  );
}

/** Returns whether a request of the key needs a limit of its output, which bounds what it may cost. */
export function needsOutputLimit(key: StoredKey | undefined): boolean {
  return key !== undefined && (paysPerUse(key) || hasTokensPerMinute(key));
}

function hasTokensPerMinute(key: StoredKey): boolean {
  return accountsOf(key).some(({ limits }) => limits.tokensPerMinute !== null);
}

/** All that such a key uses must have a price. */
function paysPerUse(key: StoredKey): boolean {
  return accountsOf(key).some(({ balanceMicro, limits }) => balanceMicro !== null || limitsSpending(limits));
}

/** Returns whether the lists of models of the key and of its group both have one of these names. */
export function mayUse(key: StoredKey, ...names: readonly string[]): boolean {
  return accountsOf(key).every(({ models }) => {
    return models === null || models.some((pattern) => names.some((name) => matchesModel(pattern, name)));
  });
}

function accountsOf(key: StoredKey): readonly StoredAccount[] {
  return [key, key.group, key.gateway].filter((account) => account !== null);
}

function checkModel(key: StoredKey, { model, backendModel, serviceTier }: Ask, price: Price | undefined): void {
  if (!mayUse(key, model, backendModel)) {
    throw modelNotFound();
  }
  if (isLimited(key) && lacksTier(price, serviceTier)) {
    throw refusedField('service_tier', 'the model has no price for this service tier');
  }
  if (price !== undefined || !paysPerUse(key)) return;
  throw new ApiError('forbidden', {
    param: 'model',
    message:
      'The model has no price here, and the API key, its group or the whole gateway has credits or a spend limit, which only priced models can use. ' +
      'See /docs/managed-keys#prices.',
  });
}

/** Hides whether the model exists from a key that may not use it. */
export function modelNotFound(): ApiError {
  const message = 'The model does not exist, or the API key may not use it.';
  return new ApiError('model_not_found', { param: 'model', message });
}

interface FundsRefusal {
  readonly code: Exclude<Refused['code'], 'rate_limit_exceeded'>;
  readonly ofGroup: GroupId | undefined;
}

async function explain(refusal: FundsRefusal, hold: Hold, options: AdmissionOptions): Promise<ApiError> {
  const { code, ofGroup } = refusal;
  const key = await options.accounts.findKey(hold.keyId);
  if (key === undefined) return new ApiError('invalid_api_key');
  if (code === 'invalid_api_key') {
    const message = ofGroup === undefined ? faultOf(key, options.nowMs()) : faultOfGroup(ofGroup);
    return new ApiError(code, { ...(message !== undefined && { message }) });
  }
  options.onShort?.(ofGroup ?? key.keyId, code === 'insufficient_credits' ? 'credits' : 'spend');
  const message = messageOf(code, {
    account: ofGroup === undefined ? key : ([key.group, key.gateway].find((each) => each?.groupId === ofGroup) ?? null),
    who: whoIs(ofGroup),
    hold,
    currency: options.prices.present?.currency ?? null,
  });
  return new ApiError(code, { ...(message !== undefined && { message }) });
}

function whoIs(ofGroup: GroupId | undefined): string {
  if (ofGroup === undefined) return 'the API key';
  return ofGroup === WHOLE_GATEWAY ? 'the whole gateway' : 'the group of the API key';
}

interface Shortage {
  /** Null when the key has been moved meanwhile. */
  readonly account: StoredAccount | null;
  readonly who: string;
  readonly hold: Hold;
  readonly currency: string | null;
}

function messageOf(
  code: 'insufficient_credits' | 'spend_limit_exceeded',
  { account, who, hold, currency }: Shortage,
): string | undefined {
  if (account === null) return undefined;
  const { heldMicro, interruptedCostMicro } = hold;
  const show = (micro: number): string => [formatAmount(micro), currency ?? 'credits'].join(' ');
  const cost = `The request may cost up to ${show(heldMicro)}`;
  /** What the input costs cannot be less. */
  const cureFor = (leftMicro: number): string =>
    leftMicro > (interruptedCostMicro ?? 0) ? ' Send a lower max_output_tokens to reserve less.' : '';
  switch (code) {
    case 'insufficient_credits': {
      const leftMicro = account.balanceMicro ?? 0;
      return `${cost}, and ${who} has ${show(leftMicro)} left.${cureFor(leftMicro)}`;
    }
    case 'spend_limit_exceeded': {
      const exceeded = spendWindowsOf(account).filter(({ leftMicro }) => leftMicro < heldMicro);
      // A week may end after its month.
      const window = exceeded.toSorted((one, other) => one.endsAtMs - other.endsAtMs).at(-1);
      if (window === undefined) return undefined;
      return (
        `${cost}. Of the ${show(window.limitMicro)} which ${who} may spend per ${window.per}, ` +
        `${show(Math.max(0, window.leftMicro))} is left until ${new Date(window.endsAtMs).toISOString()}.` +
        cureFor(window.leftMicro)
      );
    }
    default:
      return unreachable(code);
  }
}
