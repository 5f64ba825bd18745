import { element } from '../dom.js';
import { priceRows } from '../format.js';
import { showLive } from './live.js';
import { createTable } from './table.js';

/** @import { AdminPriceList } from '../../contract/operator-types.ts' */
/** @import { Page } from './main.js' */

const EVERY_MS = 10_000;
/** A file of prices has at most 10,000, of which nobody reads more at once. */
const MOST_SHOWN = 200;

/** @param {Page} page */
export function showPrices(page) {
  const input = element('input', { id: 'price-search', type: 'search', spellcheck: 'false', autocapitalize: 'off' });
  const about = element('p', { class: 'muted small' });
  const { place, show } = createTable({
    label: 'Prices',
    columns: [
      { title: 'Model', kind: 'name', cell: (/** @type {string[]} */ row) => row[0] ?? '' },
      { title: 'Input', kind: 'number', cell: (row) => row[1] ?? '' },
      { title: 'Cached input', kind: 'number', wide: true, cell: (row) => row[2] ?? '' },
      { title: 'Cache write', kind: 'number', wide: true, cell: (row) => row[3] ?? '' },
      { title: 'Output', kind: 'number', cell: (row) => row[4] ?? '' },
    ],
  });
  /** @type {AdminPriceList} */
  let last = { object: 'list', currency: null, data: [] };

  function showFound() {
    const { currency, data } = last;
    const wanted = input.value.trim().toLowerCase();
    const found = data.filter(({ model }) => model.toLowerCase().includes(wanted));
    show(
      found.slice(0, MOST_SHOWN).flatMap(priceRows),
      data.length === 0 ? 'No prices: PRICES_FILE is not set.' : 'No models match.',
    );
    const count = found.length > MOST_SHOWN ? `The first ${MOST_SHOWN} of ${found.length}. ` : '';
    about.textContent = `${count}${currency ?? 'Currency units'} per million tokens, as last read from PRICES_FILE. A name takes precedence over a pattern. Send SIGHUP to reload the file.`;
  }

  input.addEventListener('input', showFound);
  page.content.append(
    element(
      'form',
      { class: 'filters', 'aria-label': 'Filters' },
      element('div', { class: 'field' }, element('label', { for: input.id }, 'Find a model'), input),
    ),
    place,
    about,
  );
  page.content.querySelector('form')?.addEventListener('submit', (event) => event.preventDefault());
  showLive(page, {
    ask: async (signal) => /** @type {AdminPriceList} */ (await page.client.get('prices', { signal })),
    show(answer) {
      last = answer;
      showFound();
    },
    everyMs: EVERY_MS,
  });
}
