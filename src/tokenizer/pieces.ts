/**
 * A tokenizer takes the square of the time for twice the letters in a row (100,000 of one letter: an hour). So it gets texts
 * in pieces in which nothing is long, cut where it would mostly have cut itself.
 */

/** Characters that the thread is given at a time. Between two of these a count can end, and others have their turn. */
const PORTION_LENGTH = 4096;

/** As many as fit, up to where a word ends; a word that is longer is cut. */
const PORTION = new RegExp(`[^]{1,${PORTION_LENGTH}}(?=\\s|$)|[^]{1,${PORTION_LENGTH}}`, 'gu');

/**
 * What the tokenizer's own pattern can take for one word: letters, or anything but letters and digits. No word and few lines
 * of signs are as long, but a sentence of a script without spaces is: each cut there costs less than half a token.
 */
const LONG_RUN = /[\p{L}\p{M}]{32}|[^\p{L}\p{N}]{32}/gu;

/** All texts in portions, each of one or more texts or parts of them. Lazily: what is not asked for costs nothing. */
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

/** The pieces of a text in which no run is longer than a tokenizer can take. */
export function* piecesOf(text: string): Generator<string> {
  let from = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
    const end = index + run.length;
    yield text.slice(from, end);
    from = end;
  }
  if (from < text.length) yield text.slice(from);
}
