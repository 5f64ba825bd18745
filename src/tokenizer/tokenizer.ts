import { limitConcurrency } from '../core/limit-concurrency.ts';
import { portionsOf } from './pieces.ts';
import type { ThreadOptions } from '../rpc/resting-thread.ts';
import { createThread } from './thread.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface TokenizerOptions extends ThreadOptions {
  /** Includes the time of waiting; 0 counts nothing. */
  readonly timeLimitMs: number;
}

interface Ask {
  readonly vocabulary: Vocabulary;
  readonly signal: AbortSignal;
}

export interface Tokenizer {
  /**
   * Returns undefined when the time limit passes, too many counts wait, the thread dies, or the
   * signal has aborted.
   */
  count(texts: readonly string[], ask: Ask): Promise<number | undefined>;
  close(): Promise<void>;
}

const MAX_AT_ONCE = 256;

/**
 * Creates a tokenizer with a thread of its own, since hostile input can hold it up. Concurrent
 * counts take turns, so that a short one does not wait for a long one.
 */
export function createTokenizer({ timeLimitMs, ...options }: TokenizerOptions): Tokenizer {
  const thread = createThread(options);
  const takeTurn = limitConcurrency(1);
  let running = 0;

  async function countAll(texts: readonly string[], { vocabulary, signal }: Ask): Promise<number | undefined> {
    let tokens = 0;
    for (const portion of portionsOf(texts)) {
      const counted = await takeTurn(async () => (signal.aborted ? undefined : thread.count(vocabulary, portion)));
      if (counted === undefined) return undefined;
      tokens += counted;
    }
    return tokens;
  }

  return {
    async count(texts, { vocabulary, signal }) {
      if (timeLimitMs === 0 || running >= MAX_AT_ONCE) return undefined;
      const late = AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]);
      running += 1;
      const counted = countAll(texts, { vocabulary, signal: late }).finally(() => (running -= 1));
      return Promise.race([counted, whenAborted(late)]);
    },
    close: () => thread.close(),
  };
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
