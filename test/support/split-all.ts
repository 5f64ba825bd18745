import { createThinkTagSplitter, thinkTagsFor } from '../../src/core/reply/think-tags.ts';

/** What becomes of a text that comes in these pieces. */
export function splitAll(
  pieces: readonly string[],
  thinkTags: boolean | 'opened' = true,
  model = 'm',
): { readonly reasoning: string; readonly answer: string } {
  const splitter = createThinkTagSplitter(thinkTagsFor(thinkTags, { model }));
  const parts = [...pieces.flatMap((piece) => splitter.split(piece)), ...splitter.release()];
  const joined = (kind: 'reasoning' | 'text') =>
    parts
      .filter((part) => part.kind === kind)
      .map((part) => part.text)
      .join('');
  return { reasoning: joined('reasoning'), answer: joined('text') };
}
