import { randomUUID } from 'node:crypto';
import { FEW_TOKENS, limited, no, toMessages, unclear, yes, type Finish } from './probes.ts';
import { askOnce, type Answered, type Question } from './question.ts';

/** OpenAI caches no prompt of less than 1,024 tokens. */
const LINES = Array.from({ length: 250 }, (_, at) => `Line ${at} says nothing that matters.`).join('\n');
/** A prompt that was computed again takes as long again. */
const MIN_SAVED = 0.5;
const MIN_SAVED_MS = 100;

/** Sends one long prompt twice: the second time a prefix cache has most of it. */
export async function askForPrefixCache(question: Question, nowMs = () => performance.now()): Promise<Finish> {
  // Nobody else has sent it.
  const text = `${randomUUID()}\n${LINES}\nReply with the word OK.`;
  const first = await ask();
  if (first.kind === 'refused') return unclear(first.finish.reason);
  const second = await ask();
  if (second.kind === 'refused') return unclear(second.finish.reason);
  const { usage } = second.answer;
  const cached = usage?.input_tokens_details.cached_tokens ?? 0;
  if (cached > 0) return yes(`${cached} of ${usage?.input_tokens} input tokens came from it the second time`);
  const times = `${toSeconds(first.ms)} s, then ${toSeconds(second.ms)} s`;
  // A second time that is twice as quick could not be told from chance.
  if (first.ms * (1 - MIN_SAVED) <= MIN_SAVED_MS)
    return unclear(`no cached tokens are reported, and ${times} are too quick to tell`);
  const isQuicker = second.ms < first.ms * MIN_SAVED && first.ms - second.ms > MIN_SAVED_MS;
  return isQuicker
    ? yes(`the same prompt took ${times}; no cached tokens are reported`)
    : no(`no cached tokens are reported, and the same prompt took ${times}`);

  async function ask(): Promise<Answered & { readonly ms: number }> {
    const startedMs = nowMs();
    const answered = await askOnce(question, limited(question.manner, toMessages(text), FEW_TOKENS));
    return { ...answered, ms: nowMs() - startedMs };
  }
}

function toSeconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
