import type { KeyLimits } from '../../src/core/money/limits.ts';
import { UTC } from '../../src/core/time.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import { randomBytes } from 'node:crypto';
import type { GroupId, KeyId } from '../../src/contract/ids.ts';
import { toGroupId, toKeyId, toUniquePart } from '../../src/core/ids.ts';
import type { GroupDraft, Hold, KeyDraft, StoredGroup, StoredKey } from '../../src/core/books/keys.ts';

export const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  spendPerDayMicro: null,
  spendPerWeekMicro: null,
  spendPerMonthMicro: null,
};

export function newKeyId(): KeyId {
  return toKeyId(toUniquePart(randomBytes(16).toString('hex')));
}

/** A key without limits and without credits; its secret has an HMAC of its own. */
export function newKeyDraft(overrides: Partial<KeyDraft> = {}): KeyDraft {
  const keyId = newKeyId();
  return {
    keyId,
    groupId: null,
    secret: { hash: [`hash of ${keyId}`], prefix: 'sk-abc' },
    name: `the key ${keyId}`,
    createdAtMs: 5,
    expiresAtMs: null,
    models: null,
    limits: NO_LIMITS,
    creditsMicro: null,
    ...overrides,
  };
}

export function newGroupId(): GroupId {
  return toGroupId(toUniquePart(randomBytes(16).toString('hex')));
}

/** A group without limits and without credits. */
export function newGroupDraft(overrides: Partial<GroupDraft> = {}): GroupDraft {
  const groupId = newGroupId();
  return {
    groupId,
    name: `the group ${groupId}`,
    createdAtMs: 5,
    expiresAtMs: null,
    models: null,
    limits: NO_LIMITS,
    creditsMicro: null,
    ...overrides,
  };
}

/** The same, as the store shows it. */
export function newStoredGroup(overrides: Partial<StoredGroup> = {}): StoredGroup {
  const { creditsMicro, ...draft } = newGroupDraft();
  return {
    ...draft,
    balanceMicro: creditsMicro,
    isDisabled: false,
    heldMicro: 0,
    daySpentMicro: 0,
    weekSpentMicro: 0,
    monthSpentMicro: 0,
    today: createCalendar(UTC).at(Date.UTC(2026, 10, 21, 12)),
    keys: 1,
    ...overrides,
  };
}

/** A key, as the store shows it. */
export function newStoredKey(overrides: Partial<StoredKey> = {}): StoredKey {
  const { secret, creditsMicro, groupId: _, ...draft } = newKeyDraft();
  return {
    ...draft,
    prefix: secret.prefix,
    balanceMicro: creditsMicro,
    isDisabled: false,
    heldMicro: 0,
    daySpentMicro: 0,
    weekSpentMicro: 0,
    monthSpentMicro: 0,
    today: createCalendar(UTC).at(Date.UTC(2026, 10, 21, 12)),
    formerUntilMs: null,
    lastUsedAtMs: null,
    isOfPreviousSecret: false,
    group: null,
    gateway: null,
    ...overrides,
  };
}

/** A hold for a model that has a price. */
export function newHold(keyId: KeyId, heldMicro: number): Hold {
  return { keyId, heldMicro, interruptedCostMicro: 1, tokens: 0 };
}
