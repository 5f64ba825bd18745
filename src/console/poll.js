import { toFailure } from './client.js';

/** @import { Failure } from './client.js' */

const MAX_WAIT_MS = 30_000;

/**
 * Asks again and again while the page is visible. After a failure it waits longer each time, and at
 * least as long as the gateway asks for; after one that stays, until `now` is called.
 * @template Answer
 * @param {object} options
 * @param {(signal: AbortSignal) => Promise<Answer>} options.ask
 * @param {(answer: Answer) => void} options.show
 * @param {(failure: Failure) => void} options.fail
 * @param {number} options.everyMs
 * @returns {{ now: () => void, stop: () => void }} `now` drops an earlier question, and does nothing after `stop`.
 */
export function poll({ ask, show, fail, everyMs }) {
  let turn = new AbortController();
  let timer = 0;
  let failures = 0;
  let hasStopped = false;

  async function run() {
    clearTimeout(timer);
    turn.abort();
    turn = new AbortController();
    const { signal } = turn;
    let waitMs = everyMs;
    let isFinal = false;
    try {
      const answer = await ask(signal);
      if (signal.aborted) return;
      failures = 0;
      show(answer);
    } catch (error) {
      if (signal.aborted) return;
      const failure = toFailure(error);
      ({ isFinal } = failure);
      fail(failure);
      failures++;
      waitMs = Math.max(failure.retryAfterMs, Math.min(everyMs * 2 ** failures, MAX_WAIT_MS));
    }
    if (!signal.aborted && !document.hidden && !isFinal) timer = setTimeout(() => void run(), waitMs);
  }

  const now = () => {
    if (!hasStopped) void run();
  };
  const onVisibility = () => {
    if (document.hidden) clearTimeout(timer);
    else now();
  };
  document.addEventListener('visibilitychange', onVisibility);
  now();
  return {
    now,
    stop() {
      hasStopped = true;
      turn.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}
