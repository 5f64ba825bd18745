import { poll } from '../poll.js';

/** @import { Page } from './main.js' */

/**
 * Asks again and again as long as the view is shown, and says how it goes.
 *
 * @template Answer
 * @param {Page} page
 * @param {object} options
 * @param {(signal: AbortSignal) => Promise<Answer>} options.ask
 * @param {(answer: Answer) => void} options.show
 * @param {number} options.everyMs
 * @param {() => string} [options.describe] What the status says while all is well.
 * @param {() => void} [options.onMissing] Called when it is not there, and then nothing is asked again.
 */
export function showLive(page, { ask, show, everyMs, describe = () => 'Live', onMissing }) {
  const polling = poll({
    ask,
    show(answer) {
      page.setFailure(null);
      page.setStatus(describe());
      show(answer);
    },
    fail(failure) {
      if (onMissing !== undefined && failure.status === 404) {
        polling.stop();
        page.setFailure(null);
        page.setStatus(null);
        onMissing();
        return;
      }
      page.setFailure(failure);
      page.setStatus('Trying again …');
    },
    everyMs,
  });
  page.signal.addEventListener('abort', polling.stop);
  return polling;
}
