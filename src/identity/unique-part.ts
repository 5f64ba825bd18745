import { randomUUID } from 'node:crypto';
import { toUniquePart, type UniquePart } from '../core/ids.ts';

const COUNTS = 0x1_00_00;
const HALF = 0x1_00_00_00;

let last = { ms: 0, count: 0 };

/**
 * Returns 48 bits of time, 16 that grow within a millisecond, and 62 random bits. Lists of records
 * go by these ids, so those of one process are in the order of their requests.
 */
export function newUniquePartAt(nowMs: number): UniquePart {
  const uuid = randomUUID();
  // A start in the lower half leaves room for more ids than a millisecond can have.
  const count = nowMs === last.ms ? last.count + 1 : Number.parseInt(uuid.slice(0, 4), 16) >>> 1;
  last = { ms: nowMs, count };
  // V8 writes a number of more than 31 bits five times slower than two halves.
  const digits = `${toHex(Math.floor(nowMs / HALF), 6)}${toHex(nowMs % HALF, 6)}${toHex(count % COUNTS, 4)}`;
  return toUniquePart(`${digits}${uuid.slice(19, 23)}${uuid.slice(24)}`);
}

function toHex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}
