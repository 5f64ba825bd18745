/**
 * Cuts texts into pieces without long runs, mostly where the tokenizer would cut too. A tokenizer
 * takes quadratic time for a run: 100,000 of one letter take an hour.
 */

const PORTION_LENGTH = 4096;

const PORTION = new RegExp(`[^]{1,${PORTION_LENGTH}}(?=\\s|$)|[^]{1,${PORTION_LENGTH}}`, 'gu');

/**
 * Matches what the tokenizer's own pattern can take for one word. Only a sentence of a script
 * without spaces is as long, and each cut there costs less than half a token.
 */
const LONG_RUN = /[\p{L}\p{M}]{32}|[^\p{L}\p{N}]{32}/gu;

/** Yields all texts in portions of one or more texts or parts of them. */
export function* portionsOf(texts: readonly string[]): Generator<readonly string[]> {
  let portion: string[] = [];
  let length = 0;
  for (const text of texts) {
    for (const [part] of text.matchAll(PORTION)) {
      if (portion.length > 0 && length + part.length > PORTION_LENGTH) {
        yield portion;
        portion = [];
        length = 0;
      }
      portion.push(part);
      length += part.length;
    }
  }
  if (portion.length > 0) yield portion;
}

/** Yields pieces without a run that is longer than a tokenizer can take. */
export function* piecesOf(text: string): Generator<string> {
  let from = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
    const end = index + run.length;
    yield text.slice(from, end);
    from = end;
  }
  if (from < text.length) yield text.slice(from);
}
