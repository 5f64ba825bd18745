import { element } from './dom.js';
import { createFollow } from './follow.js';
import { formatMs } from './format.js';

/** The last events of a longer answer remain. */
const MAX_ROWS = 2000;

/**
 * @typedef {object} Moment
 * @property {number} atMs Since the request was sent.
 * @property {string} name
 * @property {unknown} content
 */

/**
 * @param {HTMLElement} place Scrolls along while its end is in view.
 * @returns {{ clear: () => void, add: (moment: Moment) => void }}
 */
export function createTimeline(place) {
  const list = element('ol', { class: 'events' });
  const dropped = element('p', { class: 'muted small' });
  let count = 0;
  let beforeMs = 0;
  const follow = createFollow(place);

  return {
    clear() {
      count = 0;
      beforeMs = 0;
      dropped.textContent = '';
      list.replaceChildren();
      place.replaceChildren();
    },
    add(moment) {
      follow();
      if (count === 0) place.append(dropped, list);
      list.append(row(moment, moment.atMs - beforeMs));
      beforeMs = moment.atMs;
      count++;
      if (count <= MAX_ROWS) return;
      list.firstElementChild?.remove();
      dropped.textContent = `${count - MAX_ROWS} earlier events are not shown.`;
    },
  };
}

/** @param {Moment} moment @param {number} sinceMs */
function row({ atMs, name, content }, sinceMs) {
  const preview = previewOf(content);
  const details = element(
    'details',
    {},
    element(
      'summary',
      {},
      element('span', { class: 'number' }, formatMs(atMs)),
      element('span', { class: 'number muted' }, `+${formatMs(sinceMs)}`),
      element('span', {}, name, ...(preview === '' ? [] : [' ', element('span', { class: 'what' }, preview)])),
    ),
  );
  // Written when it is opened, since most events never are.
  details.addEventListener('toggle', () => details.append(element('pre', {}, JSON.stringify(content, null, 2))), {
    once: true,
  });
  return element('li', {}, details);
}

/** @param {unknown} content */
function previewOf(content) {
  const delta = typeof content === 'object' && content !== null && 'delta' in content ? content.delta : undefined;
  return typeof delta === 'string' ? JSON.stringify(delta) : '';
}
