const MAX_CHARACTERS = 1000;
/** Some of the regular expressions below take quadratic time. */
const MAX_LOOKED_AT = 4000;
const REDACTED = '[redacted]';

const UNFIT_REST =
  /<!doctype|<(?:html|head|body|script|style)\b|Traceback \(most recent call last\)|\sat .{1,200}:\d+:\d+/i;
const BETWEEN_WORDS = /[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;
const KEYS = [
  /\bbearer\s+[^\s"',;]+/gi,
  /\b(?:sk|gsk|csk)[-_][\w*.-]{6,}/gi,
  /\b(?:xai|hf|r8|tgp|nvapi|pplx)[-_][\w-]{16,}/gi,
  /\bAIza[\w-]{20,}/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
];

/**
 * Returns a backend's message as one safe line of at most 1,000 characters; empty if nothing is
 * left. Redacts `secrets` and what looks like a key.
 */
export function toSafeText(text: string, secrets: readonly string[]): string {
  let safe = text.slice(0, MAX_LOOKED_AT);
  const end = safe.search(UNFIT_REST);
  if (end !== -1) safe = safe.slice(0, end);
  // A short key would match ordinary words.
  for (const secret of secrets) if (secret.length >= 6) safe = safe.replaceAll(secret, REDACTED);
  for (const key of KEYS) safe = safe.replaceAll(key, REDACTED);
  safe = safe.replaceAll(BETWEEN_WORDS, ' ').toWellFormed().trim();
  return safe.length <= MAX_CHARACTERS ? safe : `${safe.slice(0, MAX_CHARACTERS - 1).toWellFormed()}…`;
}
