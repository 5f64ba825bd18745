import { element, timeElement } from '../dom.js';
import { formatCount } from '../format.js';
import { toHref } from '../route.js';
import { accountFields, amountOf, limitsOf, statusElement, toBody } from './accounts.js';
import { showAccount } from './account-view.js';
import { openForm } from './form.js';
import { showPagedList } from './paged-list.js';
import { showSecret } from './secret.js';
import { accountsOf } from './suggest.js';

/** @import { AdminGroup, AdminKey, IssuedKey } from '../../contract/operator-types.ts' */
/** @import { Account } from './accounts.js' */
/** @import { Page } from './main.js' */
/** @import { Column } from './table.js' */

const EVERY_MS = 10_000;

/** @type {readonly Column<Account>[]} */
const MONEY_COLUMNS = [
  { title: 'Balance', kind: 'number', cell: ({ balance }) => amountOf(balance) },
  { title: 'Spent today', kind: 'number', wide: true, cell: ({ spent_today }) => amountOf(spent_today) },
  { title: 'This week', kind: 'number', wide: 'very', cell: ({ spent_this_week }) => amountOf(spent_this_week) },
  { title: 'This month', kind: 'number', wide: 'very', cell: ({ spent_this_month }) => amountOf(spent_this_month) },
  { title: 'Limits', kind: 'name', wide: true, cell: limitsOf },
];

/** @param {Page} page */
export async function showKeys(page) {
  if (page.route.id !== null) {
    await showAccount(page, 'keys');
    return;
  }
  const list = showPagedList(page, {
    path: 'keys',
    label: 'Keys',
    none: 'No keys yet. Create the first one.',
    noneFits: 'No keys match these filters.',
    filters: [
      { name: 'search', label: 'Find', hint: 'Part of the name, the prefix or the id.' },
      { name: 'group', label: 'Group', suggest: accountsOf(page, 'groups'), hint: 'Name or id.' },
    ],
    idOf: (/** @type {AdminKey} */ { id }) => id,
    hrefOf: ({ id }) => toHref('keys', id),
    columns: [
      { title: 'Name', kind: 'name', cell: ({ name }) => name },
      { title: 'Prefix', wide: 'very', cell: ({ prefix }) => element('code', {}, `${prefix}…`) },
      { title: 'Status', cell: ({ status }) => statusElement(status) },
      { title: 'Group', kind: 'name', wide: true, cell: ({ group }) => group?.name ?? '–' },
      ...MONEY_COLUMNS,
      { title: 'Created (UTC)', wide: 'very', cell: ({ created_at }) => timeElement(created_at, 'short') },
      {
        title: 'Last used (UTC, hour)',
        wide: true,
        cell: ({ last_used_at }) => (last_used_at === null ? 'never' : timeElement(last_used_at, 'short')),
      },
    ],
    everyMs: EVERY_MS,
  });
  offer(page, 'Create a key', () =>
    openForm({
      title: 'Create a key',
      fields: accountFields(true, page),
      values: { group: page.route.query.get('group') ?? '' },
      submit: 'Create',
      async send(values) {
        const issued = /** @type {IssuedKey} */ (await page.client.change('POST', 'keys', toBody(values, {})));
        list.now();
        return () => showSecret('The key is created', issued);
      },
    }),
  );
}

/** @param {Page} page */
export async function showGroups(page) {
  if (page.route.id !== null) {
    await showAccount(page, 'groups');
    return;
  }
  const list = showPagedList(page, {
    path: 'groups',
    label: 'Groups',
    none: 'No groups yet. Create the first one.',
    noneFits: 'No groups match.',
    filters: [{ name: 'search', label: 'Find', hint: 'Part of the name, or the id.' }],
    idOf: (/** @type {AdminGroup} */ { id }) => id,
    hrefOf: ({ id }) => toHref('groups', id),
    columns: [
      { title: 'Name', kind: 'name', cell: ({ name }) => name },
      { title: 'Status', cell: ({ status }) => statusElement(status) },
      { title: 'Keys', kind: 'number', cell: ({ keys }) => formatCount(keys) },
      ...MONEY_COLUMNS,
      { title: 'Created (UTC)', wide: 'very', cell: ({ created_at }) => timeElement(created_at, 'short') },
    ],
    everyMs: EVERY_MS,
  });
  offer(page, 'Create a group', () =>
    openForm({
      title: 'Create a group',
      fields: accountFields(true, null),
      submit: 'Create',
      async send(values) {
        await page.client.change('POST', 'groups', toBody(values, {}));
        list.now();
      },
    }),
  );
}

/** @type {(page: Page, label: string, act: () => void) => void} */
function offer(page, label, act) {
  const button = element('button', { type: 'button', class: 'primary' }, label);
  button.addEventListener('click', act);
  page.content.prepend(element('div', { class: 'actions' }, button));
}
