/** The thread that counts tokens, since a tokenizer needs a second for its vocabulary, 70 MB, and its time. Started by thread.ts. */
import { parentPort } from 'node:worker_threads';
import { Tiktoken } from 'js-tiktoken/lite';
import { lazily } from '../core/lazily.ts';
import { piecesOf } from './pieces.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface ToWorker {
  readonly vocabulary: Vocabulary;
  readonly texts: readonly string[];
}

/** How many tokens they have. */
export type FromWorker = number;

const encoders: { readonly [V in Vocabulary]: () => Promise<Tiktoken> } = {
  o200k_base: lazily(async () => new Tiktoken((await import('js-tiktoken/ranks/o200k_base')).default)),
  cl100k_base: lazily(async () => new Tiktoken((await import('js-tiktoken/ranks/cl100k_base')).default)),
};

// A vocabulary that cannot be read is the end of the thread.
parentPort?.on('message', (message: ToWorker) => void answer(message));

async function answer({ vocabulary, texts }: ToWorker): Promise<void> {
  const encoder = await encoders[vocabulary]();
  let tokens = 0;
  for (const text of texts) for (const piece of piecesOf(text)) tokens += countPiece(encoder, piece);
  parentPort?.postMessage(tokens satisfies FromWorker);
}

/** What looks like a special token is text: a caller who could write one would end the conversation of others. */
function countPiece(encoder: Tiktoken, piece: string): number {
  return encoder.encode(piece, [], []).length;
}
