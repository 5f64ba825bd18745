import { poll } from '../poll.js';

/** @import { Failure } from '../client.js' */
/** @import { Page } from './main.js' */

/**
 * Asks again and again as long as the view is shown, and says how it goes.
 * @template Answer
 * @param {Page} page
 * @param {object} options
 * @param {(signal: AbortSignal) => Promise<Answer>} options.ask
 * @param {(answer: Answer) => void} options.show
 * @param {number} options.everyMs
 * @param {() => string} [options.describe] What the status says while all is well.
 * @param {(failure: Failure) => void} [options.onRefused] Called when no second question would help.
 */
export function showLive(page, { ask, show, everyMs, describe = () => 'Live', onRefused = () => undefined }) {
  const polling = poll({
    ask,
    show(answer) {
      page.setFailure(null);
      page.setStatus(describe());
      show(answer);
    },
    fail(failure) {
      page.setFailure(failure);
      page.setStatus(failure.isFinal ? null : 'Trying again …');
      if (!failure.isFinal) return;
      for (const busy of page.content.querySelectorAll('[aria-busy]')) busy.removeAttribute('aria-busy');
      onRefused(failure);
    },
    everyMs,
  });
  page.signal.addEventListener('abort', polling.stop);
  return polling;
}
