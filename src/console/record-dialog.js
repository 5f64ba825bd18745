import { adviceForRecord } from './advice.js';
import { byId, element, passFocus, say } from './dom.js';
import { toFailure } from './client.js';
import { poll } from './poll.js';
import { recordFacts } from './record-facts.js';

/** @import { RequestRecord } from '../contract/types.ts' */
/** @import { Client, Failure } from './client.js' */

const EVERY_MS = 1000;

/**
 * @typedef {object} RecordDialog
 * @property {(id: string, known?: RequestRecord) => void} open Asks for the record unless it is known
 *   and has ended.
 * @property {() => void} close
 *
 * @param {Client} client
 * @param {{ onCancel: () => void, onClose: () => void }} told `onClose` is for who closes it by hand.
 * @returns {RecordDialog}
 */
export function createRecordDialog(client, { onCancel, onClose }) {
  const dialog = byId('record', HTMLDialogElement);
  const body = byId('record-body', HTMLElement);
  const problem = byId('record-problem', HTMLElement);
  const cancel = byId('record-cancel', HTMLButtonElement);
  const closer = byId('record-close', HTMLButtonElement);
  const facts = element('div');
  const json = element('pre', { tabindex: '0' });
  let id = '';
  /** @type {ReturnType<typeof poll> | null} */
  let polling = null;
  let shown = '';

  /** @param {RequestRecord} record */
  function show(record) {
    const isRunning = record.status === 'processing';
    if (!isRunning) polling?.stop();
    say(problem, null);
    cancel.hidden = !isRunning;
    cancel.disabled = record.cancel_requested_at !== null;
    passFocus(cancel, closer);
    const next = JSON.stringify(record, null, 2);
    if (next === shown) return;
    shown = next;
    facts.replaceChildren(recordFacts(record, { advice: record.error && adviceForRecord(record.error.code) }));
    json.textContent = next;
    // Whoever has opened the JSON still sees it.
    if (!body.contains(facts))
      body.replaceChildren(facts, element('details', {}, element('summary', {}, 'As JSON'), json));
  }

  /** @param {Failure} failure */
  function fail(failure) {
    if (shown === '') body.replaceChildren();
    // It is not there, and no second question finds it.
    if (failure.status === 404) {
      polling?.stop();
      say(problem, 'This key has no such request. Records of other keys are not shown, and old ones are deleted.');
    } else say(problem, failure.sentence);
  }

  async function askToCancel() {
    const asked = id;
    try {
      await client.post(`requests/${asked}/cancel`, null);
      polling?.now();
      onCancel();
    } catch (error) {
      const { sentence } = toFailure(error);
      // By now another record may be shown.
      if (id !== asked) return;
      cancel.disabled = false;
      say(problem, sentence);
    }
  }

  cancel.addEventListener('click', () => {
    cancel.disabled = true;
    passFocus(cancel, closer);
    void askToCancel();
  });
  closer.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    // The event comes late: by now another record may be shown, or another view have the address.
    if (dialog.open) return;
    polling?.stop();
    if (polling !== null || shown !== '') onClose();
    polling = null;
  });

  return {
    open(requestId, known) {
      id = requestId;
      shown = '';
      // Another record may be asked for, if it was closed a moment ago.
      polling?.stop();
      polling = null;
      say(problem, null);
      cancel.hidden = true;
      body.replaceChildren(element('p', { class: 'muted', role: 'status' }, 'Loading …'));
      if (!dialog.open) dialog.showModal();
      if (known !== undefined) show(known);
      if (known !== undefined && known.status !== 'processing') return;
      polling = poll({
        ask: async (signal) =>
          /** @type {RequestRecord} */ (await client.get(`requests/${encodeURIComponent(id)}`, { signal })),
        show,
        fail,
        everyMs: EVERY_MS,
      });
    },
    close() {
      polling?.stop();
      polling = null;
      shown = '';
      dialog.close();
    },
  };
}
