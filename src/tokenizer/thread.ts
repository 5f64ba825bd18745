import { extname } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { createRestingThread, type ThreadOptions } from '../rpc/resting-thread.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { CountService } from './worker.ts';

export interface TokenizerThread {
  /** Returns undefined when the thread ends before it has answered. Takes one call at a time. */
  count(vocabulary: Vocabulary, texts: readonly string[]): Promise<number | undefined>;
  close(): Promise<void>;
}

export function createThread(options: ThreadOptions): TokenizerThread {
  // A build has the same tree in JavaScript.
  const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
  const thread = createRestingThread<CountService>({ ...options, file, name: 'tokenizer' });

  return {
    async count(vocabulary, texts) {
      const asked = thread.wake();
      asked.refresh();
      try {
        const tokens = await asked.rpc.ask('count', vocabulary, texts);
        asked.refresh();
        return tokens;
      } catch (error) {
        asked.bury(messageOf(error));
        return undefined;
      }
    },
    close: () => thread.close(),
  };
}
