import { randomUUID } from 'node:crypto';
import { toUniquePart, type UniquePart } from '../core/ids.ts';

/** Returns 48 bits of time and 74 random bits. Growing ids keep the index of records compact. */
export function newUniquePartAt(nowMs: number): UniquePart {
  const time = nowMs.toString(16).padStart(12, '0');
  const uuid = randomUUID();
  return toUniquePart(`${time}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`);
}
