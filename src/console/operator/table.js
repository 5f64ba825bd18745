import { element, say } from '../dom.js';
import { showRows } from '../redraw.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {'number' | 'name'} [kind]
 * @property {boolean | 'very'} [wide] Whether a narrow page leaves it out, and a tablet too if it is `very`.
 * @property {(row: Row) => Node | string} cell
 */

/**
 * Returns a table that draws only changes.
 *
 * @template Row
 * @param {object} options
 * @param {string} options.label
 * @param {readonly Column<Row>[]} options.columns
 * @param {(row: Row) => string} [options.hrefOf] Where a row leads; its first cell is the link.
 * @param {boolean} [options.stacks] Whether a narrow page shows each row as a list.
 */
export function createTable({ label, columns, hrefOf, stacks = false }) {
  const head = columns.map((column) => element('th', { scope: 'col', ...classOf(column) }, column.title));
  const body = element('tbody');
  const table = element(
    'table',
    { 'aria-label': label, ...(stacks && { class: 'stacks' }) },
    element('thead', {}, element('tr', {}, ...head)),
    body,
  );
  const empty = element('p', { class: 'empty' });
  const place = element('div', { class: 'card flush', 'aria-busy': 'true' }, table, empty);
  table.hidden = true;
  empty.hidden = true;
  let shown = '';

  /**
   * @param {readonly Row[]} rows
   * @param {string} none What is said without a row.
   */
  function show(rows, none) {
    place.removeAttribute('aria-busy');
    table.hidden = rows.length === 0;
    say(empty, rows.length === 0 ? none : null);
    const next = JSON.stringify(rows);
    if (next === shown) return;
    shown = next;
    showRows(body, rows.map(toRow));
  }

  /** @param {Row} row */
  function toRow(row) {
    const href = hrefOf?.(row);
    const cells = columns.map((column, at) => {
      const content = column.cell(row);
      const linked = at === 0 && href !== undefined ? element('a', { href }, content) : content;
      return element('td', { 'data-title': column.title, ...classOf(column) }, linked);
    });
    const made = element('tr', {}, ...cells);
    if (href === undefined) return made;
    made.className = 'leads';
    made.addEventListener('click', ({ target }) => {
      const isOther = target instanceof Element && target.closest('a, button') !== null;
      if (!isOther && getSelection()?.isCollapsed !== false) location.href = href;
    });
    return made;
  }

  return { place, show };
}

/** @param {{ kind?: string, wide?: boolean | 'very' }} column */
function classOf({ kind = '', wide = false }) {
  const name = `${kind} ${wide === 'very' ? 'wide very-wide' : wide ? 'wide' : ''}`.trim();
  return name === '' ? {} : { class: name };
}
