/** How full the backends are, and the limits that all callers share. */

import { element, timeElement } from '../dom.js';
import { formatCount } from '../format.js';
import { showLive } from './live.js';
import { createTable } from './table.js';

/** @import { AdminBackend, AdminLimit } from '../../contract/operator-types.ts' */
/** @import { Page } from './main.js' */
/** @import { Column } from './table.js' */

const EVERY_MS = 2000;
const MIB = 1024 * 1024;

/** @type {Readonly<Record<AdminLimit['name'], string>>} */
const NAMES = {
  requests: 'Running requests',
  body_bytes: 'Bodies of running requests',
  web_sockets: 'Open WebSockets',
  history_bytes: 'Histories of WebSockets',
};

/** @param {Page} page */
export function showBackends(page) {
  showCapacity(page, {
    path: 'backends',
    label: 'Backends',
    none: 'No backends.',
    about:
      'Counts are of all processes of this gateway since it started. A request tried at two backends counts at both.',
    columns: /** @type {readonly Column<AdminBackend>[]} */ ([
      { title: 'Backend', kind: 'name', cell: nameOfBackend },
      { title: 'Status', cell: stateOf },
      { title: 'Running', kind: 'number', cell: runningOf },
      { title: 'Waiting', kind: 'number', cell: ({ waiting }) => formatCount(waiting) },
      { title: 'Answered', kind: 'number', cell: ({ answered }) => formatCount(answered) },
      { title: 'Failed', kind: 'number', cell: ({ failed }) => formatCount(failed) },
      { title: 'Cancelled', kind: 'number', cell: ({ cancelled }) => formatCount(cancelled) },
      { title: 'Rests', kind: 'number', cell: ({ rests }) => formatCount(rests) },
      { title: 'Models', kind: 'name', cell: ({ models }) => models?.join(', ') ?? 'all' },
    ]),
  });
}

/** @param {Page} page */
export function showLimits(page) {
  showCapacity(page, {
    path: 'limits',
    label: 'Limits',
    none: 'No process answered.',
    about:
      'All callers share these limits. When one is full, requests are refused with 503 server_overloaded. Numbers are of all processes of this gateway, not of other gateways on the same database.',
    columns: /** @type {readonly Column<AdminLimit>[]} */ ([
      { title: 'Limit', kind: 'name', cell: nameOfLimit },
      { title: 'Used', kind: 'number', cell: (limit) => amountOf(limit, limit.used) },
      { title: 'Of', kind: 'number', cell: (limit) => amountOf(limit, limit.capacity) },
      { title: 'Busiest process', kind: 'number', cell: fullestOf },
    ]),
  });
}

/**
 * @template Row
 * @param {Page} page
 * @param {{ path: string, label: string, none: string, about: string, columns: readonly Column<Row>[] }} options
 */
function showCapacity(page, { path, label, none, about, columns }) {
  const { place, show } = createTable({ label, stacks: true, columns });
  const seenBy = element('strong', {});
  page.content.append(
    place,
    element('p', { class: 'muted small' }, about, ' The gateway that answers is ', seenBy, '.'),
  );
  showLive(page, {
    ask: async (signal) =>
      /** @type {{ gateway: string, data: readonly Row[] }} */ (await page.client.get(path, { signal })),
    show({ gateway, data }) {
      seenBy.textContent = gateway;
      show(data, none);
    },
    everyMs: EVERY_MS,
  });
}

/** @param {AdminBackend} backend */
function nameOfBackend({ name, base_url, dialect, weight }) {
  const about = `${base_url} · ${dialect}${weight === 1 ? '' : ` · weight ${weight}`}`;
  return element('div', {}, element('strong', {}, name), element('div', { class: 'muted small' }, about));
}

/** @param {AdminBackend} backend */
function stateOf({ addresses, ...backend }) {
  const resting = addresses.filter(({ state }) => state !== 'up');
  return element('div', {}, restingElement(backend), ...resting.map(restingElement));
}

/** @param {Pick<AdminBackend, 'state' | 'resting_until' | 'reason'> & { address?: string }} resting */
function restingElement({ address, state, resting_until, reason }) {
  const shown = element(
    'div',
    {},
    element('span', { class: 'state', 'data-state': state }, state),
    address === undefined ? '' : ` ${address}`,
  );
  const about = element('div', { class: 'muted small' });
  if (resting_until !== null) about.append('until ', timeElement(resting_until, 'short'), ' UTC');
  if (reason !== null) about.append(resting_until === null ? '' : ', ', `after ${reason}`);
  if (about.hasChildNodes()) shown.append(about);
  return shown;
}

/** @param {AdminBackend} backend */
function runningOf({ name, running, max_concurrent }) {
  if (max_concurrent === null) return formatCount(running);
  const text = `${formatCount(running)} of ${formatCount(max_concurrent)}`;
  return element('div', { class: 'limit' }, text, fullness(`${name} is full`, running, max_concurrent));
}

/** @param {AdminLimit} limit */
function nameOfLimit({ name, setting }) {
  const about = setting === null ? 'fixed' : element('code', {}, setting);
  return element('div', {}, NAMES[name], element('div', { class: 'muted small' }, about));
}

/** @param {AdminLimit} limit @param {number} amount */
function amountOf({ name }, amount) {
  return name.endsWith('_bytes') ? `${(amount / MIB).toFixed(1)} MiB` : formatCount(amount);
}

/** @param {AdminLimit} limit */
function fullestOf({ name, fullest_percent }) {
  return element(
    'div',
    { class: 'limit' },
    `${fullest_percent}%`,
    fullness(`${NAMES[name]}, of the busiest process`, fullest_percent, 100),
  );
}

/** @param {string} label @param {number} used @param {number} capacity */
function fullness(label, used, capacity) {
  return element('meter', {
    min: '0',
    max: String(capacity),
    high: String(capacity * 0.8),
    optimum: '0',
    value: String(used),
    'aria-label': label,
  });
}
