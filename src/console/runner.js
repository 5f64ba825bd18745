import { adviceFor } from './advice.js';
import { createAnswer } from './answer.js';
import { isAbort, toFailure } from './client.js';
import { byId, passFocus, say } from './dom.js';
import { formatMs } from './format.js';
import { createLine } from './line.js';
import { createRunFacts } from './run-facts.js';
import { run } from './run.js';
import { createTimeline } from './timeline.js';

/** @import { CreateResponse, ResponseEvent, ResponseResource } from '../contract/types.ts' */
/** @import { Answer } from './answer.js' */
/** @import { Client } from './client.js' */
/** @import { Conversation } from './conversation.js' */

/**
 * @typedef {object} Start
 * @property {CreateResponse} request Without the turns before.
 * @property {boolean} continues
 * @property {'http' | 'websocket'} transport
 *
 * @typedef {object} Runner
 * @property {(start: Start) => Promise<void>} start Shows failures itself.
 * @property {Answer} answer
 */

/**
 * Runs one request at a time and shows it.
 * @param {{ client: Client, conversation: Conversation, onRunning: (isRunning: boolean) => void }} options
 * @returns {Runner}
 */
export function createRunner({ client, conversation, onRunning }) {
  const send = byId('try-send', HTMLButtonElement);
  const stop = byId('try-stop', HTMLButtonElement);
  const cancel = byId('try-cancel', HTMLButtonElement);
  const answer = createAnswer(byId('try-answer', HTMLElement));
  const timeline = createTimeline(byId('try-events', HTMLElement));
  const line = createLine(client);
  let hangUp = new AbortController();
  let idempotencyKey = '';

  /** @param {boolean} running */
  function setRunning(running) {
    send.disabled = running;
    send.hidden = running;
    for (const shown of [stop, cancel, byId('try-ends', HTMLElement)]) shown.hidden = !running;
    cancel.disabled = false;
    onRunning(running);
    // A hidden button loses the focus.
    for (const button of [stop, cancel]) passFocus(button, send);
    passFocus(send, stop);
    if (!running && document.activeElement === document.body) send.focus({ preventScroll: true });
  }

  stop.addEventListener('click', () => hangUp.abort());
  cancel.addEventListener('click', () => {
    cancel.disabled = true;
    cancelByKey(client, idempotencyKey).catch((/** @type {unknown} */ error) => {
      showStatus('bad', `Not cancelled: ${toFailure(error).sentence}`);
    });
  });

  /** @param {Start} start @param {() => number} sinceStart in milliseconds */
  async function perform({ request, continues, transport }, sinceStart) {
    const facts = createRunFacts();
    const { signal } = hangUp;
    /** @param {ResponseEvent} event */
    const onEvent = (event) => {
      facts.event(event, sinceStart());
      note(event.type, event);
      answer.showEvent(event);
    };
    /** @param {string} name @param {unknown} content */
    const note = (name, content) => timeline.add({ atMs: sinceStart(), name, content });
    const whole = continues ? conversation.continueWith(request) : request;
    const canRefer = continues && conversation.latestId !== null && conversation.latestId === line.latestId;
    const response =
      transport === 'websocket'
        ? await line.call({
            request: {
              ...(canRefer ? { ...request, previous_response_id: line.latestId } : whole),
              idempotency_key: idempotencyKey,
            },
            signal,
            onOpen(isNew) {
              note(isNew ? 'WebSocket opened' : 'WebSocket still open', {});
              showStatus('busy', 'The answer is coming …');
            },
            onSent: (frame) => note('sent: response.create', frame),
            onEvent,
          })
        : await run({
            client,
            request: whole,
            idempotencyKey,
            signal,
            onReply(reply) {
              facts.reply(reply, sinceStart());
              note(`HTTP ${reply.status}`, Object.fromEntries(reply.headers));
              showStatus('busy', 'The answer is coming …');
            },
            onEvent,
          });
    if (transport === 'http' && request.stream !== true) {
      note('response', response);
      answer.showResponse(response);
    }
    facts.end(response, sinceStart());
    return response;
  }

  return {
    answer,
    async start(start) {
      hangUp = new AbortController();
      idempotencyKey = newIdempotencyKey();
      const { request, continues } = start;
      answer.begin(typeof request.input === 'string' ? request.input : '', continues);
      timeline.clear();
      setRunning(true);
      showStatus('busy', 'Waiting for the answer …');
      showResult();
      const startMs = performance.now();
      const sinceStart = () => performance.now() - startMs;
      try {
        const response = await perform(start, sinceStart);
        if (!continues) conversation.clear();
        if (response.status === 'completed' || response.status === 'incomplete') conversation.add(request, response);
        showEnd(response, sinceStart());
      } catch (error) {
        if (isAbort(error))
          showStatus('bad', `Stopped after ${formatMs(sinceStart())}; the gateway cancels the request.`);
        else {
          const failure = toFailure(error);
          showStatus('bad', failure.sentence, adviceFor(failure.code));
        }
      } finally {
        answer.end();
        setRunning(false);
      }
    },
  };
}

/** Brings the answer into view, where the form is so long that it is not beside it. */
function showResult() {
  byId('try-result', HTMLElement).classList.remove('idle');
  const { top } = byId('try-result', HTMLElement).getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) byId('try-result', HTMLElement).scrollIntoView({ block: 'start' });
}

/**
 * @param {'busy' | 'good' | 'bad'} state
 * @param {string} sentence
 * @param {string | null} [advice] What the user can do about it.
 */
function showStatus(state, sentence, advice = null) {
  say(byId('try-advice', HTMLElement), advice);
  const status = byId('try-status', HTMLElement);
  status.dataset['state'] = state;
  say(status, sentence);
}

/** @type {(response: ResponseResource, tookMs: number) => void} */
function showEnd({ status, error, incomplete_details }, tookMs) {
  const took = formatMs(tookMs);
  if (status === 'completed') showStatus('good', `Completed in ${took}.`);
  else if (status === 'incomplete')
    showStatus(
      'bad',
      `Incomplete after ${took}: ${incomplete_details?.reason ?? 'no reason given'}.`,
      incomplete_details?.reason === 'max_output_tokens' ? 'Set a higher limit under “Tools and limits”.' : null,
    );
  else if (status === 'cancelled') showStatus('bad', `Cancelled after ${took}.`);
  else {
    const sentence = `Failed after ${took}: ${error?.message ?? 'no reason given'} (${error?.code ?? status})`;
    showStatus('bad', sentence, adviceFor(error?.code ?? ''));
  }
}

/**
 * Finds the running request by its idempotency key, since a JSON reply names its id too late.
 * @type {(client: Client, idempotencyKey: string) => Promise<void>}
 */
async function cancelByKey(client, idempotencyKey) {
  const record = /** @type {{ request_id: string }} */ (
    await client.get('requests', { headers: { 'idempotency-key': idempotencyKey } })
  );
  await client.post(`requests/${record.request_id}/cancel`, null);
}

/** `crypto.randomUUID` is missing on a page over plain HTTP from another machine. */
function newIdempotencyKey() {
  return `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
}
