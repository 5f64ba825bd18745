import { element } from '../dom.js';
import { formatCount } from '../format.js';
import { fullness } from './fullness.js';
import { showLive } from './live.js';
import { createTable } from './table.js';

/** @import { AdminLimit, AdminLimitList } from '../../contract/types.ts' */
/** @import { Page } from './main.js' */

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
export function showLimits(page) {
  const { place, show } = createTable({
    label: 'Limits',
    stacks: true,
    columns: [
      { title: 'Limit', kind: 'name', cell: nameOf },
      { title: 'Used', kind: 'number', cell: (/** @type {AdminLimit} */ limit) => amountOf(limit, limit.used) },
      { title: 'Of', kind: 'number', cell: (limit) => amountOf(limit, limit.capacity) },
      { title: 'Busiest process', kind: 'number', cell: fullestOf },
    ],
  });
  page.content.append(
    place,
    element(
      'p',
      { class: 'muted small' },
      'All callers share these limits. When one is full, requests are refused with 503 server_overloaded. Numbers are of all processes of this gateway, not of other gateways on the same database.',
    ),
  );
  showLive(page, {
    ask: async (signal) => /** @type {AdminLimitList} */ (await page.client.get('limits', { signal })),
    show: ({ data }) => show(data, 'No process answered.'),
    everyMs: EVERY_MS,
  });
}

/** @param {AdminLimit} limit */
function nameOf({ name, setting }) {
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
