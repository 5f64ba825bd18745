import { byId, element, say, timeElement } from './dom.js';
import { toFailure } from './client.js';
import { formatCredits, formatInput, formatMs, formatOutput } from './format.js';
import { poll } from './poll.js';

/** @import { RequestRecord } from '../contract/types.ts' */
/** @import { Client } from './client.js' */

const EVERY_MS = 1000;

/**
 * @param {Client} client
 * @param {() => void} onCancel
 * @returns {{ open: (record: RequestRecord) => void, close: () => void }}
 */
export function createRecordDialog(client, onCancel) {
  const dialog = byId('record', HTMLDialogElement);
  const body = byId('record-body', HTMLElement);
  const problem = byId('record-problem', HTMLElement);
  const cancel = byId('record-cancel', HTMLButtonElement);
  let id = '';
  /** @type {ReturnType<typeof poll> | null} */
  let polling = null;
  let shown = '';

  /** @param {RequestRecord} record */
  function show(record) {
    const isRunning = record.status === 'processing';
    if (!isRunning) polling?.stop();
    cancel.hidden = !isRunning;
    cancel.disabled = record.cancel_requested_at !== null;
    const next = JSON.stringify(record, null, 2);
    if (next === shown) return;
    shown = next;
    body.replaceChildren(
      describe(record),
      element('details', {}, element('summary', {}, 'As JSON'), element('pre', { tabindex: '0' }, next)),
    );
  }

  async function askToCancel() {
    try {
      await client.post(`requests/${id}/cancel`, null);
      polling?.now();
      onCancel();
    } catch (error) {
      cancel.disabled = false;
      say(problem, toFailure(error).sentence);
    }
  }

  cancel.addEventListener('click', () => {
    cancel.disabled = true;
    void askToCancel();
  });
  byId('record-close', HTMLButtonElement).addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    polling?.stop();
    polling = null;
  });

  return {
    open(record) {
      id = record.request_id;
      shown = '';
      say(problem, null);
      dialog.showModal();
      show(record);
      if (record.status !== 'processing') return;
      polling = poll({
        ask: async (signal) => /** @type {RequestRecord} */ (await client.get(`requests/${id}`, { signal })),
        show,
        fail: (failure) => say(problem, failure.sentence),
        everyMs: EVERY_MS,
      });
    },
    close: () => dialog.close(),
  };
}

/**
 * @param {RequestRecord} record
 * @returns {HTMLElement} Has words, since a colour does not reach everyone.
 */
export function stateElement({ status, cancel_requested_at }) {
  const text = status === 'processing' && cancel_requested_at !== null ? 'cancelling' : status;
  return element('span', { class: 'state', 'data-state': status }, text);
}

/**
 * @param {RequestRecord} record
 * @returns {string} The record has whole seconds.
 */
export function tookOf({ created_at, completed_at }) {
  if (completed_at === null) return '–';
  const seconds = completed_at - created_at;
  return seconds < 1
    ? '< 1 s'
    : formatMs(seconds * 1000)
        .replace('.00', '')
        .replace('.0', '');
}

/** @param {RequestRecord} record */
function describe(record) {
  const { usage, error, incomplete_details } = record;
  /** @type {readonly (readonly [string, string | Node | null])[]} */
  const entries = [
    ['Status', stateElement(record)],
    ['Error', error === null ? null : `${error.message} (${error.code})`],
    ['Incomplete', incomplete_details?.reason ?? null],
    ['Request', element('code', {}, record.request_id)],
    ['Response', element('code', {}, record.response_id)],
    ['Model', record.model],
    ['Endpoint', record.endpoint + (record.stream ? ', stream' : '')],
    ['Created', timeElement(record.created_at)],
    ['Cancel asked for', record.cancel_requested_at === null ? null : timeElement(record.cancel_requested_at)],
    ['Ended', record.completed_at === null ? null : timeElement(record.completed_at)],
    ['Took', record.completed_at === null ? null : tookOf(record)],
    ['Input tokens', usage && formatInput(usage)],
    ['Output tokens', usage && formatOutput(usage)],
    ['Counted', record.usage_estimated ? 'by estimate, since the backend sent no usage' : null],
    ['Cost', record.cost === null ? null : formatCredits(record.cost)],
  ];
  const known = entries.flatMap(([term, value]) =>
    value === null ? [] : [element('dt', {}, term), element('dd', {}, value)],
  );
  return element('dl', { class: 'details' }, ...known);
}
