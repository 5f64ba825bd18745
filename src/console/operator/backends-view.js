import { element, timeElement } from '../dom.js';
import { formatCount } from '../format.js';
import { fullness } from './fullness.js';
import { showLive } from './live.js';
import { createTable } from './table.js';

/** @import { AdminBackend, AdminBackendList } from '../../contract/types.ts' */
/** @import { Page } from './main.js' */

const EVERY_MS = 2000;

/** @type {Readonly<Record<AdminBackend['state'], string>>} */
const STATES = { up: 'up', resting: 'paused', trial: 'testing', draining: 'draining' };

/** @param {Page} page */
export function showBackends(page) {
  const { place, show } = createTable({
    label: 'Backends',
    stacks: true,
    columns: [
      { title: 'Backend', kind: 'name', cell: nameOf },
      { title: 'Status', cell: stateOf },
      { title: 'Running', kind: 'number', cell: runningOf },
      { title: 'Waiting', kind: 'number', cell: ({ waiting }) => formatCount(waiting) },
      { title: 'Answered', kind: 'number', cell: ({ answered }) => formatCount(answered) },
      { title: 'Failed', kind: 'number', cell: ({ failed }) => formatCount(failed) },
      { title: 'Cancelled', kind: 'number', cell: ({ cancelled }) => formatCount(cancelled) },
      { title: 'Pauses', kind: 'number', cell: ({ rests }) => formatCount(rests) },
      { title: 'Models', kind: 'name', cell: ({ models }) => models?.join(', ') ?? 'all' },
    ],
  });
  page.content.append(
    place,
    element(
      'p',
      { class: 'muted small' },
      'Counts are of all processes of this gateway since it started. A request tried at two backends counts at both.',
    ),
  );
  showLive(page, {
    ask: async (signal) => /** @type {AdminBackendList} */ (await page.client.get('backends', { signal })),
    show: ({ data }) => show(data, 'No backends.'),
    everyMs: EVERY_MS,
  });
}

/** @param {AdminBackend} backend */
function nameOf({ name, base_url, dialect, weight }) {
  const about = `${base_url} · ${dialect}${weight === 1 ? '' : ` · weight ${weight}`}`;
  return element('div', {}, element('strong', {}, name), element('div', { class: 'muted small' }, about));
}

/** @param {AdminBackend} backend */
function stateOf({ state, resting_until, reason }) {
  const shown = element('div', {}, element('span', { class: 'state', 'data-state': state }, STATES[state]));
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
