import { byId, element, say, timeElement } from './dom.js';
import { formatCount, formatCredits } from './format.js';
import { poll } from './poll.js';
import { createRecordDialog, stateElement, tookOf } from './record-dialog.js';

/** @import { RequestRecord } from '../contract/types.ts' */
/** @import { Client } from './client.js' */
/** @import { View } from './main.js' */

/** @typedef {{ data: readonly RequestRecord[], last_id: string | null, has_more: boolean }} Page */

const EVERY_MS = 2000;
const PER_PAGE = '25';
const TYPING_MS = 300;

/**
 * @param {{ client: Client }} context
 * @returns {View}
 */
export function createRequestsView({ client }) {
  const state = byId('requests-state', HTMLSelectElement);
  const model = byId('requests-model', HTMLInputElement);
  const status = byId('requests-status', HTMLElement);
  const problem = byId('requests-problem', HTMLElement);
  const newest = byId('requests-newest', HTMLButtonElement);
  const older = byId('requests-older', HTMLButtonElement);
  const pages = byId('requests-pages', HTMLElement);
  const dialog = createRecordDialog(client, () => polling?.now());
  const showRows = createRows(dialog.open);
  /** @type {string | null} The page begins after this one. */
  let after = null;
  /** @type {string | null} */
  let lastId = null;
  /** @type {ReturnType<typeof poll> | null} */
  let polling = null;
  let typing = 0;

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    const query = new URLSearchParams({ limit: PER_PAGE });
    if (after !== null) query.set('after', after);
    if (state.value !== '') query.set('status', state.value);
    if (model.value.trim() !== '') query.set('model', model.value.trim());
    return /** @type {Page} */ (await client.get(`requests?${query}`, { signal }));
  }

  /** @param {Page} page */
  function showPage({ data, last_id, has_more }) {
    say(problem, null);
    say(status, after === null ? 'Live' : 'Older requests');
    lastId = last_id;
    newest.disabled = after === null;
    older.disabled = !has_more;
    pages.hidden = newest.disabled && older.disabled;
    showRows(data, state.value !== '' || model.value.trim() !== '');
  }

  /** @param {string | null} place */
  function goTo(place) {
    after = place;
    polling?.now();
  }

  byId('requests-filters', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
  state.addEventListener('change', () => goTo(null));
  model.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => goTo(null), TYPING_MS);
  });
  newest.addEventListener('click', () => goTo(null));
  older.addEventListener('click', () => goTo(lastId));

  return {
    show() {
      after = null;
      polling = poll({
        ask,
        show: showPage,
        fail(failure) {
          say(problem, failure.sentence);
          say(status, 'Trying again …');
        },
        everyMs: EVERY_MS,
      });
    },
    hide() {
      polling?.stop();
      polling = null;
      dialog.close();
    },
  };
}

/**
 * @param {(record: RequestRecord) => void} onOpen
 * @returns {(records: readonly RequestRecord[], isFiltered: boolean) => void}
 */
function createRows(onOpen) {
  const table = byId('requests-table', HTMLTableElement);
  const rows = byId('requests-rows', HTMLTableSectionElement);
  const empty = byId('requests-empty', HTMLElement);
  let shown = '';

  return (records, isFiltered) => {
    table.hidden = records.length === 0;
    const none = isFiltered ? 'No request fits these filters.' : 'No requests yet. Send one under “Try it”.';
    say(empty, records.length === 0 ? none : null);
    // Only changes are drawn, so that they disturb neither a selection nor a screen reader.
    const next = JSON.stringify(records);
    if (next === shown) return;
    shown = next;
    const focused = document.activeElement?.getAttribute('data-id');
    rows.replaceChildren(...records.map((record) => row(record, onOpen)));
    for (const button of rows.querySelectorAll('button')) if (button.dataset['id'] === focused) button.focus();
  };
}

/**
 * @param {RequestRecord} record
 * @param {(record: RequestRecord) => void} onOpen
 */
function row(record, onOpen) {
  const { usage } = record;
  const about = usage === null ? '–' : `${formatCount(usage.input_tokens)} / ${formatCount(usage.output_tokens)}`;
  const open = element(
    'button',
    { type: 'button', class: 'link', 'data-id': record.request_id, 'aria-haspopup': 'dialog' },
    timeElement(record.created_at, 'short'),
  );
  open.addEventListener('click', () => onOpen(record));
  return element(
    'tr',
    {},
    element('td', {}, open),
    element('td', {}, stateElement(record)),
    element('td', { class: 'name' }, record.model),
    element('td', { class: 'wide' }, record.endpoint + (record.stream ? ', stream' : '')),
    element('td', { class: 'number' }, (record.usage_estimated ? '≈ ' : '') + about),
    element('td', { class: 'number wide' }, record.cost === null ? '–' : formatCredits(record.cost)),
    element('td', { class: 'number wide' }, tookOf(record)),
  );
}
