import { breakable, byId, element, passFocus, say, sayProblem, timeElement } from './dom.js';
import { poll } from './poll.js';
import { showRows } from './redraw.js';
import { createRecordDialog } from './record-dialog.js';
import { costOf, stateElement, tokensOf, tookOf } from './record-facts.js';
import { readRoute, toHref } from './route.js';

/** @import { RequestRecord } from '../contract/types.ts' */
/** @import { Client } from './client.js' */
/** @import { View } from './main.js' */

/** @typedef {{ data: readonly RequestRecord[], last_id: string | null, has_more: boolean }} Page */

const EVERY_MS = 2000;
const PER_PAGE = '25';
const TYPING_MS = 300;
const ID = /^(req|resp)_[0-9a-f]+$/;
/** A list of suggestions that is longer helps nobody. */
const MAX_SUGGESTIONS = 500;

/**
 * The address names the filters, the page and the record, so that each can be linked to.
 * @type {(context: { client: Client }) => View}
 */
export function createRequestsView({ client }) {
  const state = byId('requests-state', HTMLSelectElement);
  const model = byId('requests-model', HTMLInputElement);
  const id = byId('requests-id', HTMLInputElement);
  const status = byId('requests-status', HTMLElement);
  const problem = byId('requests-problem', HTMLElement);
  const newest = byId('requests-newest', HTMLButtonElement);
  const older = byId('requests-older', HTMLButtonElement);
  const pages = byId('requests-pages', HTMLElement);
  const dialog = createRecordDialog(client, {
    onCancel: () => polling?.now(),
    onClose: () => setAddress(null),
  });
  const showRecords = createRecords(openRecord);
  const suggest = createSuggestions(client);
  /** @type {string | null} The page begins after this one. */
  let after = null;
  /** @type {string | null} */
  let lastId = null;
  /** @type {ReturnType<typeof poll> | null} */
  let polling = null;
  let typing = 0;

  const filters = () => ({ status: state.value, model: model.value.trim() });

  /** @param {string | null} record */
  function hrefOf(record) {
    return toHref('requests', record, { ...filters(), after: after ?? '' });
  }

  /** @param {string | null} record */
  function setAddress(record) {
    // Whoever has left a moment ago has the address of the next view.
    if (readRoute().view === 'requests') history.replaceState(null, '', hrefOf(record));
  }

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    const query = new URLSearchParams({ limit: PER_PAGE });
    const wanted = { ...filters(), after: after ?? '' };
    for (const [name, value] of Object.entries(wanted)) if (value !== '') query.set(name, value);
    return /** @type {Page} */ (await client.get(`requests?${query}`, { signal }));
  }

  /** @param {Page} page */
  function showPage({ data, last_id, has_more }) {
    say(problem, null);
    say(status, after === null ? 'Live' : 'Older requests');
    lastId = last_id;
    newest.disabled = after === null;
    older.disabled = !has_more;
    passFocus(older, newest);
    passFocus(newest, older);
    pages.hidden = newest.disabled && older.disabled;
    suggest(data);
    showRecords(data, { isFiltered: state.value !== '' || model.value.trim() !== '', hrefOf });
  }

  /** @param {string | null} place */
  function goTo(place) {
    after = place;
    setAddress(null);
    say(status, 'Loading …');
    polling?.now();
  }

  /** @type {(requestId: string, known?: RequestRecord) => void} */
  function openRecord(requestId, known) {
    setAddress(requestId);
    dialog.open(requestId, known);
  }

  byId('requests-filters', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
  // A form of several fields is not submitted by Enter.
  id.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    // The same key would press the button of the dialog that opens.
    event.preventDefault();
    const wanted = id.value.trim();
    const isId = ID.test(wanted);
    const hint = 'An id begins with req_ or resp_. The reply header x-request-id has it.';
    sayProblem(id, byId('requests-id-error', HTMLElement), isId || wanted === '' ? null : hint);
    if (isId) openRecord(wanted.replace('resp_', 'req_'));
  });
  state.addEventListener('change', () => goTo(null));
  model.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => goTo(null), TYPING_MS);
  });
  newest.addEventListener('click', () => goTo(null));
  older.addEventListener('click', () => goTo(lastId));

  return {
    show() {
      const { id: record, query } = readRoute();
      state.value = query.get('status') ?? '';
      model.value = query.get('model') ?? '';
      after = query.get('after');
      say(status, 'Loading …');
      polling = poll({
        ask,
        show: showPage,
        fail(failure) {
          say(problem, failure.sentence);
          say(status, failure.isFinal ? null : 'Trying again …');
        },
        everyMs: EVERY_MS,
      });
      if (record !== null) dialog.open(record);
    },
    hide() {
      clearTimeout(typing);
      polling?.stop();
      polling = null;
      dialog.close();
    },
  };
}

/**
 * @typedef {{ isFiltered: boolean, hrefOf: (requestId: string) => string }} RecordsShown
 *
 * @param {(requestId: string, record: RequestRecord | undefined) => void} onOpen
 * @returns {(records: readonly RequestRecord[], shown: RecordsShown) => void}
 */
function createRecords(onOpen) {
  const table = byId('requests-table', HTMLTableElement);
  const rows = byId('requests-rows', HTMLTableSectionElement);
  const empty = byId('requests-empty', HTMLElement);
  let shown = '';
  /** @type {readonly RequestRecord[]} */
  let latest = [];
  const open = (/** @type {string} */ id) =>
    onOpen(
      id,
      latest.find(({ request_id }) => request_id === id),
    );

  return (records, { isFiltered, hrefOf }) => {
    latest = records;
    table.hidden = records.length === 0;
    const none = isFiltered
      ? 'No requests match these filters. The model must be its full name.'
      : 'No requests yet. Send one under “Try it”.';
    say(empty, records.length === 0 ? none : null);
    // Without prices no request has a cost.
    table.classList.toggle(
      'without-cost',
      records.every(({ cost }) => cost === null),
    );
    // Only changes are drawn, so that they disturb neither a selection nor a screen reader.
    const next = JSON.stringify(records) + hrefOf('');
    if (next === shown) return;
    shown = next;
    showRows(
      rows,
      records.map((record) => row(record, { href: hrefOf(record.request_id), onOpen: open })),
    );
  };
}

/** @param {RequestRecord} record @param {{ href: string, onOpen: (requestId: string) => void }} how */
function row(record, { href, onOpen }) {
  const { error, incomplete_details: incomplete } = record;
  const why = error?.code ?? incomplete?.reason;
  const link = element('a', { href, 'data-id': record.request_id }, timeElement(record.created_at, 'short'));
  const made = element(
    'tr',
    { class: 'opens' },
    element('td', {}, link),
    element(
      'td',
      {},
      stateElement(record),
      ...(why === undefined ? [] : [element('code', { class: 'why' }, ...breakable(why))]),
    ),
    element('td', { class: 'name' }, record.model),
    element('td', { class: 'wide' }, record.endpoint + (record.stream ? ', stream' : '')),
    element('td', { class: 'number' }, tokensOf(record)),
    element('td', { class: 'number wide cost' }, costOf(record)),
    element('td', { class: 'number wide' }, tookOf(record)),
  );
  made.addEventListener('click', (event) => {
    // A link can be opened in another tab, and a text can be selected.
    if (event.ctrlKey || event.metaKey || event.shiftKey || getSelection()?.isCollapsed === false) return;
    event.preventDefault();
    link.focus();
    onOpen(record.request_id);
  });
  return made;
}

/**
 * Suggests the models that the backend lists, and those of the requests seen so far.
 * @type {(client: Client) => (records: readonly RequestRecord[]) => void}
 */
function createSuggestions(client) {
  const list = byId('requests-models', HTMLElement);
  /** @type {Set<string>} */
  const names = new Set();

  /** @param {readonly string[]} models */
  function add(models) {
    const before = names.size;
    for (const model of models) if (names.size < MAX_SUGGESTIONS) names.add(model);
    if (names.size > before) list.replaceChildren(...[...names].sort().map((value) => element('option', { value })));
  }

  async function addListed() {
    const { data = [] } = /** @type {{ data?: readonly { id: unknown }[] }} */ (await client.get('models'));
    add(data.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])));
  }

  let isListed = false;
  return (records) => {
    add(records.map(({ model }) => model));
    if (isListed) return;
    isListed = true;
    // Without a list of the backend there are those of the requests.
    addListed().catch(() => undefined);
  };
}
