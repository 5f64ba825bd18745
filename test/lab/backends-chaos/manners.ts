/** How a backend answers, while it is healthy and while it has a fault. */

import { finish, text, USAGE, usageChunk } from '../../records/chunks.ts';
import type { Reply, Script, Stage } from '../../support/backend.ts';

export type Manner =
  | 'healthy'
  | 'slow'
  | 'limited'
  | 'limited for a second'
  | 'broken'
  | 'behind a proxy'
  | 'behind a login'
  | 'cut';

const ROLE = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };
const WORDS = ['One', ' two', ' three', ' four'];
const COMPLETION = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: WORDS.join('') }, finish_reason: 'stop' }],
  usage: USAGE,
});
const REFUSED = { error: { message: 'not now' } };
const HTML = { 'content-type': 'text/html' };
const WORD_MS = 20;

/** `beginsAfterMs` is how long a slow one takes. `begun` is called when a generation begins. */
export function createManners(beginsAfterMs: number, begun: (request: unknown) => void): Record<Manner, Reply> {
  let cuts = 0;
  const generate = (wordsOf: () => number, waitMs: number): Script => {
    return async (stage) => {
      begun(stage.request.body);
      await stage.wait(waitMs);
      await say(stage, wordsOf());
    };
  };
  return {
    healthy: generate(() => Infinity, 0),
    slow: generate(() => Infinity, beginsAfterMs),
    // Nothing, the role alone, or up to three words.
    cut: generate(() => (cuts++ % 5) - 1, 0),
    limited: { status: 429, json: REFUSED },
    'limited for a second': { status: 429, headers: { 'retry-after': '1' }, json: REFUSED },
    broken: { status: 500, json: REFUSED },
    'behind a proxy': { status: 502, headers: HTML, text: '<h1>Bad Gateway</h1>' },
    'behind a login': { status: 200, headers: HTML, text: '<form>Who are you?</form>' },
  };
}

/** Says so many of the words, and breaks off if there are more. */
async function say(stage: Stage, words: number): Promise<void> {
  const isWhole = words >= WORDS.length;
  const { start, sse, wait, write, cut, end } = stage;
  if ((stage.request.body as { stream?: boolean }).stream !== true) {
    start(200, { 'content-type': 'application/json', 'content-length': String(COMPLETION.length) });
    await wait(WORD_MS);
    if (isWhole) return end(COMPLETION);
    await write(COMPLETION.slice(0, COMPLETION.length / 2));
    return cut();
  }
  start();
  if (words >= 0) await sse(ROLE);
  for (const word of WORDS.slice(0, Math.max(0, words))) {
    await wait(WORD_MS);
    await sse(text(word));
  }
  if (!isWhole) return cut();
  await sse(finish('stop'), usageChunk, '[DONE]');
  end();
}
