import { element, say } from '../dom.js';
import { showRows } from '../redraw.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string | (() => string)} title
 * @property {'number' | 'name'} [kind]
 * @property {boolean} [optional] Whether it is left out where no row has a value.
 * @property {boolean | 'very'} [wide] Whether a narrow page leaves it out, and a tablet too if it is `very`.
 * @property {(row: Row) => Node | string} cell
 */

/**
 * Returns a table that draws only changes.
 * @template Row
 * @param {object} options
 * @param {string} options.label
 * @param {readonly Column<Row>[]} options.columns
 * @param {(row: Row) => string} [options.hrefOf] Where a row leads; its first cell is the link.
 * @param {boolean} [options.stacks] Whether a narrow page shows each row as a list.
 */
export function createTable({ label, columns, hrefOf, stacks = false }) {
  const head = element('tr');
  const body = element('tbody');
  const table = element(
    'table',
    { 'aria-label': label, ...(stacks && { class: 'stacks' }) },
    element('thead', {}, head),
    body,
  );
  const empty = element('p', { class: 'empty' });
  const place = element('div', { class: 'card flush', 'aria-busy': 'true' }, table, empty);
  table.hidden = true;
  empty.hidden = true;
  let shown = '';
  /** @type {readonly (Column<Row> & { title: string, isHidden: boolean })[]} */
  let shownColumns = [];

  /** @param {readonly Row[]} rows @param {string} none What is said without a row. */
  function show(rows, none) {
    place.removeAttribute('aria-busy');
    table.hidden = rows.length === 0;
    say(empty, rows.length === 0 ? none : null);
    const next = JSON.stringify(rows);
    if (next === shown) return;
    shown = next;
    shownColumns = columns.map((column) => ({
      ...column,
      title: typeof column.title === 'string' ? column.title : column.title(),
      isHidden: column.optional === true && rows.every((row) => column.cell(row) === '–'),
    }));
    head.replaceChildren(
      ...shownColumns.map((column) => element('th', { scope: 'col', ...attributesOf(column) }, column.title)),
    );
    showRows(body, rows.map(toRow));
  }

  /** @param {Row} row */
  function toRow(row) {
    const href = hrefOf?.(row);
    const cells = shownColumns.map((column, at) => {
      const content = column.cell(row);
      const linked = at === 0 && href !== undefined ? element('a', { href }, content) : content;
      return element('td', { 'data-title': column.title, ...attributesOf(column) }, linked);
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

/** @param {{ kind?: string, wide?: boolean | 'very', isHidden: boolean }} column */
function attributesOf({ kind = '', wide = false, isHidden }) {
  const name = `${kind} ${wide === 'very' ? 'wide very-wide' : wide ? 'wide' : ''}`.trim();
  return { ...(name !== '' && { class: name }), ...(isHidden && { hidden: '' }) };
}
