import type { ChatChunk, ChunkOrWords } from '../../src/core/chat.ts';

interface Worded {
  readonly choices: readonly [{ readonly delta: Record<string, unknown> }];
}

/** The chunks as the backend sent them: where there are words alone, the chunk before with these in the place of its own. */
export function spellOut(chunks: readonly ChunkOrWords[]): ChatChunk[] {
  const spelledOut: ChatChunk[] = [];
  for (const chunk of chunks) {
    spelledOut.push(typeof chunk === 'string' ? withWords(spelledOut.at(-1) ?? {}, chunk) : chunk);
  }
  return spelledOut;
}

function withWords(chunk: ChatChunk, words: string): ChatChunk {
  const copy = structuredClone(chunk) as ChatChunk & Worded;
  const { delta } = copy.choices[0];
  const field = ['reasoning_content', 'reasoning', 'content'].find((name) => delta[name]);
  if (field === undefined) throw new Error('words follow a chunk that has none');
  delta[field] = words;
  return copy;
}
