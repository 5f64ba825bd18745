/**
 * Returns the text with more at its end, for a text that grows word by word. V8 keeps each word and
 * a node that joins it until somebody reads the text. The collector copies them twice: that was most
 * of its work for slow streams, and most of the memory of a long one.
 */
export function appendText(text: string, more: string): string {
  const grown = text + more;
  return stepOf(text.length) === stepOf(grown.length) ? grown : joined(grown);
}

/** Has grown text joined when it is an eighth to a quarter longer, so that a long one is copied seldom. */
function stepOf(length: number): number {
  if (length < SHORT) return length >>> 6;
  const bits = 32 - Math.clz32(length);
  return bits * 8 + (length >>> (bits - 3));
}

/** In UTF-16 code units. A copy of so little costs next to nothing. */
const SHORT = 1024;

/** V8 joins a text to read a character of it. */
function joined(text: string): string {
  return text.charCodeAt(0) === 0 ? text.slice() : text;
}
