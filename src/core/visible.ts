/**
 * Replaces what would move the cursor of a terminal: names of models and keys come from outside.
 */
export function toVisible(text: string): string {
  return text.replaceAll(/\p{C}/gu, '\u{fffd}');
}
