import type { Dialect } from '../dialects.ts';

/**
 * Returns a function that maps the call ids of a request to distinct ids which the backend takes.
 * An id always gets the same replacement, so that the history stays identical. A repeated id stands
 * for another call of the same message, and gets an id of its own.
 */
export function createCallIds(
  ids: Iterable<string>,
  rule: Dialect['callIds'],
): (id: string, isRepeated?: boolean) => string {
  const fits = RULES[rule];
  const towardsBackend = new Map<string, string>();
  const taken = new Set<string>();
  const attempts = new Map<string, number>();
  const others: string[] = [];
  for (const id of ids) {
    if (!fits.test(id)) others.push(id);
    else taken.add(id);
  }
  for (const id of others) {
    if (!towardsBackend.has(id)) towardsBackend.set(id, replace(id));
  }
  return (id, isRepeated = false) => (isRepeated ? replace(id) : (towardsBackend.get(id) ?? id));

  function replace(id: string): string {
    for (let attempt = attempts.get(id) ?? 0; ; attempt += 1) {
      const replacement = digest(id, attempt);
      if (taken.has(replacement)) continue;
      taken.add(replacement);
      attempts.set(id, attempt + 1);
      return replacement;
    }
  }
}

const RULES: { readonly [Rule in Dialect['callIds']]: RegExp } = {
  any: /^/,
  'up-to-40': /^[^]{1,40}$/,
  'nine-alphanumeric': /^[a-zA-Z0-9]{9}$/,
};

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const DIGEST_LENGTH = 9;

/** FNV-1a in two halves. It spreads ids and keeps no secrets. */
function digest(id: string, attempt: number): string {
  // A number of all bits, so that another attempt is not that of an id whose first letter is the next.
  const salt = Math.imul(attempt, 0x9e3779b1);
  let low = 0x811c9dc5 ^ salt;
  let high = 0x9747b28c ^ salt;
  for (let at = 0; at < id.length; at += 1) {
    const unit = id.charCodeAt(at);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b) ^ (high >>> 13);
  }
  let text = '';
  for (let at = 0; at < DIGEST_LENGTH; at += 1) {
    const half = at % 2 === 0 ? low : high;
    text += ALPHABET[(half >>> 0) % ALPHABET.length] ?? '';
    low = Math.imul(low ^ (low >>> 15), 0x2c1b3c6d);
    high = Math.imul(high ^ (high >>> 12), 0x297a2d39);
  }
  return text;
}
