import type { RequestId } from '../../src/contract/ids.ts';
import { type Identity, toRequestId } from '../../src/core/ids.ts';
import { newUniquePartAt } from '../../src/identity/unique-part.ts';
import type { Outcome, RecordDraft } from '../../src/core/books/store.ts';
import type { Usage } from '../../src/contract/types.ts';

export const CALLER: Identity = ['caller'];

export const USAGE: Usage = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  output_tokens: 22,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 33,
};

export function newRequestId(): RequestId {
  return toRequestId(newUniquePartAt(Date.now()));
}

export function newDraft(overrides: Partial<RecordDraft> = {}): RecordDraft {
  return {
    requestId: newRequestId(),
    caller: CALLER,
    endpoint: 'responses',
    model: 'some-model',
    stream: false,
    createdAtMs: Date.now(),
    estimatedInputTokens: 7,
    ...overrides,
  };
}

/** A draft that repeats every other one with the same key and body. */
export function newKeyedDraft(key = 'key', overrides: Partial<RecordDraft> = {}): RecordDraft {
  return newDraft({ idempotency: { key: [key], body: ['body'] }, ...overrides });
}

export function newOutcome(overrides: Partial<Outcome> = {}): Outcome {
  return {
    status: 'succeeded',
    completedAtMs: Date.now(),
    usage: USAGE,
    usageEstimated: false,
    costMicro: null,
    incompleteReason: null,
    errorCode: null,
    upstream: null,
    promptTurn: null,
    savedMicro: null,
    freesIdempotencyKey: false,
    ...overrides,
  };
}
