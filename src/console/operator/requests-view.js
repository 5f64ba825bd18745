import { ERROR_CODES } from '../advice.js';
import { toFailure } from '../client.js';
import { breakable, element, passFocus, timeElement } from '../dom.js';
import { costOf, recordFacts, stateElement, tokensOf, tookOf } from '../record-facts.js';
import { showChildren } from '../redraw.js';
import { toHref } from '../route.js';
import { showLive } from './live.js';
import { nameLink } from './names.js';
import { accountFilters } from './filters.js';
import { showPagedList } from './paged-list.js';
import { among, modelsOf } from './suggest.js';
import { toField, toSeconds } from './times.js';

/** @import { AdminRequest } from '../../contract/record-types.ts' */
/** @import { Page } from './main.js' */

const EVERY_MS = 2000;
const RECORD_EVERY_MS = 1000;
const TIMES = new Set(['from', 'until']);

/** @param {Page} page */
export function showRequests(page) {
  if (page.route.id === null) showList(page);
  else showRecord(page, page.route.id);
}

/** @param {Page} page */
function showList(page) {
  const { isManaged } = page;
  page.content.append(createFinder());
  showPagedList(page, {
    path: 'requests',
    label: 'Requests',
    none: 'No requests yet.',
    noneFits: 'No requests match these filters.',
    filters: [
      {
        name: 'status',
        label: 'Status',
        kind: 'choice',
        options: [['', 'all'], ...['processing', 'succeeded', 'failed', 'cancelled'].map((each) => pairOf(each))],
      },
      { name: 'model', label: 'Model', suggest: modelsOf(page) },
      { name: 'error_code', label: 'Error code', suggest: among(ERROR_CODES) },
      ...accountFilters(page),
      { name: 'from', label: 'From (UTC)', kind: /** @type {const} */ ('time') },
      { name: 'until', label: 'Until (UTC)', kind: /** @type {const} */ ('time') },
    ],
    fromAddress: (name, value) => (TIMES.has(name) ? toField(Number(value)) : value),
    toAddress: (name, value) => (TIMES.has(name) ? String(toSeconds(value) ?? '') : value),
    idOf: (/** @type {AdminRequest} */ { request_id }) => request_id,
    hrefOf: ({ request_id }) => toHref('requests', request_id),
    columns: [
      { title: 'Time (UTC)', cell: ({ created_at }) => timeElement(created_at, 'short') },
      { title: 'Status', cell: stateOf },
      { title: 'Model', kind: 'name', cell: ({ model }) => model },
      { title: isManaged ? 'Key' : 'Caller', kind: 'name', wide: true, cell: ({ key }) => nameLink(page, 'keys', key) },
      { title: 'Backend', wide: true, optional: true, cell: ({ upstream }) => upstream ?? '–' },
      { title: 'Tokens in / out', kind: 'number', wide: true, cell: tokensOf },
      { title: 'Cost', kind: 'number', wide: true, optional: true, cell: costOf },
      { title: 'Took', kind: 'number', cell: tookOf },
    ],
    everyMs: EVERY_MS,
  });
}

/** Returns a form that leads to the record of an id. */
function createFinder() {
  const input = element('input', {
    id: 'request-id',
    placeholder: 'req_… or resp_…',
    spellcheck: 'false',
    autocapitalize: 'off',
  });
  const form = element(
    'form',
    { class: 'filters finder', autocomplete: 'off', 'aria-label': 'One request' },
    element('div', { class: 'field' }, element('label', { for: input.id }, 'Find by id'), input),
    element('button', { type: 'submit' }, 'Open'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const id = input.value.trim();
    if (id !== '') location.hash = toHref('requests', id);
  });
  return form;
}

/** @type {(page: Page, id: string) => void} */
function showRecord(page, id) {
  const { client, content } = page;
  const path = `requests/${encodeURIComponent(id)}`;
  const facts = element('dl', { class: 'details' });
  const links = element('p', { class: 'links' });
  const card = element('div', { class: 'card', 'aria-busy': 'true' });
  const cancel = element('button', { type: 'button' }, 'Cancel this request');
  const json = element('pre', { tabindex: '0', 'aria-label': 'The record as JSON' });
  const back = element('a', { href: toHref('requests') }, 'All requests');
  cancel.hidden = true;
  page.setTitle('Request');
  content.append(
    element('p', {}, back),
    card,
    element('div', { class: 'actions' }, cancel),
    element('details', { class: 'json' }, element('summary', {}, 'As JSON'), json),
  );

  /** @param {AdminRequest} record */
  function show(record) {
    const isRunning = record.status === 'processing';
    cancel.hidden = !isRunning;
    cancel.disabled = record.cancel_requested_at !== null;
    passFocus(cancel, back);
    const text = JSON.stringify(record, null, 2);
    if (!isRunning) {
      polling.stop();
      page.setStatus('Ended');
    }
    if (text === json.textContent) return;
    json.textContent = text;
    card.removeAttribute('aria-busy');
    showChildren(facts, [...describe(page, record).children]);
    showChildren(links, linksOf(record));
    if (!card.hasChildNodes()) card.append(facts, links);
  }

  async function askToCancel() {
    cancel.disabled = true;
    passFocus(cancel, back);
    try {
      await client.change('POST', `${path}/cancel`);
      polling.now();
    } catch (error) {
      cancel.disabled = false;
      page.setFailure(toFailure(error));
    }
  }

  cancel.addEventListener('click', () => void askToCancel());
  const polling = showLive(page, {
    ask: async (signal) => /** @type {AdminRequest} */ (await client.get(path, { signal })),
    show,
    everyMs: RECORD_EVERY_MS,
    onRefused({ status }) {
      if (status !== 404) return;
      page.setFailure(null);
      content.replaceChildren(explainMissing(page), back);
    },
  });
}

/** Tells whoever looks for the request of a complaint where to look next. @param {Page} page */
function explainMissing({ isManaged }) {
  const said =
    'There is no record with this id. A request that is refused before it runs, for example by a limit, leaves none: its error message names the limit';
  const places = [
    element('a', { href: toHref('groups') }, 'group'),
    ' or ',
    element('a', { href: toHref('keys') }, 'key'),
  ];
  return element(
    'p',
    { class: 'card' },
    said,
    ...(isManaged ? [', and the page of the ', ...places, ' shows what is left.'] : ['.']),
    ' Old records are deleted after RECORD_RETENTION_DAYS.',
  );
}

/** @param {Page} page @param {AdminRequest} record */
function describe(page, record) {
  const { key, group } = record;
  return recordFacts(record, {
    whose: [
      [page.isManaged ? 'Key' : 'Caller', nameLink(page, 'keys', key)],
      ['Group', group === null ? null : nameLink(page, 'groups', group)],
    ],
  });
}

/** @param {AdminRequest} record */
function linksOf({ key, error }) {
  const ofCaller = element('a', { href: toHref('requests', null, { key }) }, 'Requests of this caller');
  if (error === null) return [ofCaller];
  const ofError = element(
    'a',
    { href: toHref('requests', null, { error_code: error.code }) },
    'Requests with this error',
  );
  return [ofCaller, ofError];
}

/** @param {AdminRequest} record */
function stateOf(record) {
  if (record.error === null) return stateElement(record);
  return element(
    'div',
    {},
    stateElement(record),
    element('div', { class: 'muted small' }, ...breakable(record.error.code)),
  );
}

/** @type {(value: string) => readonly [string, string]} */
function pairOf(value) {
  return [value, value];
}
