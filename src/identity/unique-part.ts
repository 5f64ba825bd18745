import { randomUUID } from 'node:crypto';
import { toUniquePart, type UniquePart } from '../core/ids.ts';

/** 48 bits of time and 74 of chance: unique, and in the order of their making, which keeps the index of the records compact. */
export function newUniquePartAt(nowMs: number): UniquePart {
  const time = nowMs.toString(16).padStart(12, '0');
  const uuid = randomUUID();
  // Between its hyphens, which is quicker than to take them out.
  return toUniquePart(`${time}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`);
}
