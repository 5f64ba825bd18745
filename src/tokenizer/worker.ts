/** A vocabulary takes a second and 70 MB to load. thread.ts starts this thread. */
import { parentPort } from 'node:worker_threads';
import { Tiktoken } from 'js-tiktoken/lite';
import { lazily } from '../core/lazily.ts';
import { openRpc } from '../rpc/rpc.ts';
import { piecesOf } from './pieces.ts';
import type { Vocabulary } from './vocabulary.ts';

export type CountService = {
  readonly count: (vocabulary: Vocabulary, texts: readonly string[]) => Promise<number>;
};

const encoders: { readonly [V in Vocabulary]: () => Promise<Tiktoken> } = {
  o200k_base: lazily(async () => new Tiktoken((await import('js-tiktoken/ranks/o200k_base')).default)),
  cl100k_base: lazily(async () => new Tiktoken((await import('js-tiktoken/ranks/cl100k_base')).default)),
};

const service: CountService = {
  async count(vocabulary, texts) {
    const encoder = await encoders[vocabulary]();
    let tokens = 0;
    for (const text of texts) for (const piece of piecesOf(text)) tokens += countPiece(encoder, piece);
    return tokens;
  },
};

const { receive } = openRpc((message) => parentPort?.postMessage(message), service);
parentPort?.on('message', receive);

/** Special tokens are counted as text, because a backend must not read them as special either. */
function countPiece(encoder: Tiktoken, piece: string): number {
  return encoder.encode(piece, [], []).length;
}
