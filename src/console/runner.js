/** The buttons, the status, and the request that runs between them. */

import { createAnswer } from './answer.js';
import { isAbort, toFailure } from './client.js';
import { byId, say } from './dom.js';
import { formatMs } from './format.js';
import { createRunFacts } from './run-facts.js';
import { run } from './run.js';
import { createTimeline } from './timeline.js';

/** @import { CreateResponse, ResponseResource } from '../types/contract.ts' */
/** @import { Client } from './client.js' */

/**
 * One request at a time, and what is shown of it.
 *
 * @param {Client} client
 * @returns {{ start: (request: CreateResponse) => Promise<void> }} `start` resolves when the request has ended in any way.
 */
export function createRunner(client) {
  const send = byId('try-send', HTMLButtonElement);
  const stop = byId('try-stop', HTMLButtonElement);
  const cancel = byId('try-cancel', HTMLButtonElement);
  const answer = createAnswer(byId('try-answer', HTMLElement));
  const timeline = createTimeline(byId('try-events', HTMLElement));
  let hangUp = new AbortController();
  let idempotencyKey = '';

  /** @param {boolean} running */
  function setRunning(running) {
    send.disabled = running;
    stop.disabled = !running;
    cancel.disabled = !running;
    // A button that can no longer be pressed must not keep the focus.
    if (!running && [stop, cancel].some((button) => button === document.activeElement)) send.focus();
  }

  stop.addEventListener('click', () => hangUp.abort());
  cancel.addEventListener('click', () => {
    cancel.disabled = true;
    cancelByKey(client, idempotencyKey).catch((/** @type {unknown} */ error) => {
      showStatus('bad', `Not cancelled: ${toFailure(error).sentence}`);
    });
  });

  return {
    async start(request) {
      hangUp = new AbortController();
      idempotencyKey = newIdempotencyKey();
      const facts = createRunFacts();
      answer.begin();
      timeline.clear();
      setRunning(true);
      showStatus('busy', 'Waiting for the answer …');
      const startMs = performance.now();
      const sinceStart = () => performance.now() - startMs;
      try {
        const response = await run({
          client,
          request,
          idempotencyKey,
          signal: hangUp.signal,
          onReply(reply) {
            facts.reply(reply, sinceStart());
            timeline.add({
              atMs: sinceStart(),
              name: `HTTP ${reply.status}`,
              content: Object.fromEntries(reply.headers),
            });
            showStatus('busy', 'The answer is coming …');
          },
          onEvent(event) {
            facts.event(event, sinceStart());
            timeline.add({ atMs: sinceStart(), name: event.type, content: event });
            answer.showEvent(event);
          },
        });
        if (request.stream !== true) {
          timeline.add({ atMs: sinceStart(), name: 'response', content: response });
          answer.showResponse(response);
        }
        facts.end(response, sinceStart());
        showEnd(response, sinceStart());
      } catch (error) {
        if (isAbort(error))
          showStatus('bad', `Stopped after ${formatMs(sinceStart())}; the gateway cancels the request.`);
        else showStatus('bad', toFailure(error).sentence);
      } finally {
        answer.end();
        setRunning(false);
      }
    },
  };
}

/**
 * @param {'busy' | 'good' | 'bad'} state
 * @param {string} sentence
 */
function showStatus(state, sentence) {
  const status = byId('try-status', HTMLElement);
  status.dataset['state'] = state;
  say(status, sentence);
}

/**
 * @param {ResponseResource} response
 * @param {number} tookMs
 */
function showEnd({ status, error, incomplete_details }, tookMs) {
  const took = formatMs(tookMs);
  if (status === 'completed') showStatus('good', `Completed in ${took}.`);
  else if (status === 'incomplete')
    showStatus('bad', `Incomplete after ${took}: ${incomplete_details?.reason ?? 'no reason given'}.`);
  else if (status === 'cancelled') showStatus('bad', `Cancelled after ${took}.`);
  else showStatus('bad', `Failed after ${took}: ${error?.message ?? 'no reason given'} (${error?.code ?? status})`);
}

/**
 * The reply to a request that is not streamed names it too late, so it is found by its idempotency key.
 *
 * @param {Client} client
 * @param {string} idempotencyKey
 */
async function cancelByKey(client, idempotencyKey) {
  const record = /** @type {{ request_id: string }} */ (
    await client.get('requests', { headers: { 'idempotency-key': idempotencyKey } })
  );
  await client.post(`requests/${record.request_id}/cancel`, null);
}

/** `crypto.randomUUID` is missing where the page came over plain HTTP from another machine. */
function newIdempotencyKey() {
  return `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
}
