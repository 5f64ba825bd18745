import { detailsOf, element, timeElement } from '../dom.js';
import { formatAmount } from '../format.js';
import { toHref } from '../route.js';
import { accountFields, amountOf, factsOf, toBody, toValues } from './accounts.js';
import { openForm } from './form.js';
import { showPagedList } from './paged-list.js';
import { showSecret } from './secret.js';

/** @import { AdminKey, IssuedKey, LedgerItem } from '../../contract/operator-types.ts' */
/** @import { Fact } from '../dom.js' */
/** @import { Account } from './accounts.js' */
/** @import { Page } from './main.js' */

const EVERY_MS = 10_000;

/** Shows one key or one group with its ledger. @param {Page} page @param {'keys' | 'groups'} kind */
export async function showAccount(page, kind) {
  const { client, content } = page;
  const path = `${kind}/${encodeURIComponent(page.route.id ?? '')}`;
  const facts = element('div');
  const actions = element('div', { class: 'actions' });
  let account = /** @type {Account} */ (await client.get(path, { signal: page.signal }));

  /** @param {Account} changed */
  function show(changed) {
    account = changed;
    page.setTitle(`${account.object === 'key' ? 'Key' : 'Group'} ${account.name}`);
    facts.replaceChildren(detailsOf([...identityOf(account), ...factsOf(account)]));
    toggle.textContent = account.status === 'disabled' ? 'Enable' : 'Disable';
  }

  function edit() {
    const before = toValues(account);
    openForm({
      title: `Change ${account.name}`,
      fields: accountFields(false, kind === 'keys' ? page : null),
      values: before,
      submit: 'Save',
      async send(values) {
        const body = toBody(values, before);
        if (Object.keys(body).length === 0) return;
        show(/** @type {Account} */ (await client.change('PATCH', path, body)));
      },
    });
  }

  function askForCredits() {
    const { name, balance } = account;
    if (balance !== null) return credit();
    const what = account.object === 'key' ? 'The key' : 'The group';
    openForm({
      title: `Make ${name} prepaid?`,
      text: [
        `${what} has no credits, so only its limits apply. Once it has credits, it is refused when they are used up. The command “credits end” takes this back.`,
      ],
      submit: 'Make it prepaid',
      send: async () => credit,
    });
  }

  function credit() {
    // A reply that was lost can be asked for again without a second entry.
    const reference = `console-${crypto.getRandomValues(new Uint32Array(3)).join('-')}`;
    openForm({
      title: `Credits of ${account.name}`,
      fields: [
        {
          name: 'kind',
          label: 'Kind',
          kind: 'choice',
          options: [
            ['grant', 'Grant: adds credits'],
            ['adjust', 'Adjustment: corrects the balance, up or down'],
          ],
        },
        { name: 'amount', label: 'Amount', kind: 'number', hint: 'Such as 10.00, or -2.50 to take credits away.' },
        { name: 'note', label: 'Note', hint: 'Shown in the ledger.' },
      ],
      values: { kind: 'grant' },
      submit: 'Add to the ledger',
      async send(values) {
        show(/** @type {Account} */ (await client.change('POST', `${path}/credits`, { ...values, reference })));
        ledger.now();
      },
    });
  }

  function rotate() {
    openForm({
      title: `Rotate the secret of ${account.name}`,
      fields: [
        {
          name: 'grace_seconds',
          label: 'Former secret',
          kind: 'choice',
          options: [
            ['0', 'stops working now'],
            ['3600', 'works for another hour'],
            ['86400', 'works for another day'],
            ['604800', 'works for another week'],
          ],
        },
      ],
      values: { grace_seconds: '0' },
      submit: 'Rotate secret',
      async send({ grace_seconds }) {
        const body = { grace_seconds: Number(grace_seconds) };
        const issued = /** @type {IssuedKey} */ (await client.change('POST', `${path}/rotate`, body));
        show(issued);
        return () => showSecret('New secret', issued);
      },
    });
  }

  function setDisabled() {
    const disabled = account.status !== 'disabled';
    const what = account.object === 'key' ? 'The key' : 'Every key of the group';
    openForm({
      title: `${disabled ? 'Disable' : 'Enable'} ${account.name}`,
      text: [
        disabled
          ? `${what} is refused from now on. Running requests finish. You can enable it again.`
          : `${what} is accepted again.`,
      ],
      submit: disabled ? 'Disable' : 'Enable',
      async send() {
        show(/** @type {Account} */ (await client.change('PATCH', path, { disabled })));
      },
    });
  }

  function remove() {
    const { name, balance } = account;
    const kept = balance === null ? '' : `, its credits (${formatAmount(balance)})`;
    openForm({
      title: `Delete ${name}`,
      text: [
        kind === 'keys'
          ? `The key stops working now. The key${kept} and its ledger are deleted permanently. Its records and usage are kept until their retention ends.`
          : `The group${kept} and its ledger are deleted permanently. It must have no keys: move or delete them first.`,
        element('span', {}, 'Type ', element('strong', {}, name), ' to delete it.'),
      ],
      fields: [{ name: 'confirmed', label: 'Name' }],
      submit: 'Delete for good',
      style: 'danger',
      check: ({ confirmed }) =>
        confirmed === name ? null : { name: 'confirmed', problem: 'The name does not match.' },
      async send() {
        await client.change('DELETE', path);
        location.hash = toHref(kind);
      },
    });
  }

  const toggle = button('Disable', setDisabled);
  actions.append(
    button('Change', edit),
    button('Credits', askForCredits),
    ...(kind === 'keys' ? [button('Rotate secret', rotate)] : []),
    toggle,
    button('Delete', remove, 'danger'),
  );
  const of = { [kind === 'keys' ? 'key' : 'group']: account.id };
  const links = element(
    'p',
    { class: 'links' },
    element('a', { href: toHref('requests', null, of) }, 'Requests'),
    element('a', { href: toHref('usage', null, of) }, 'Usage'),
    ...(kind === 'groups' ? [element('a', { href: toHref('keys', null, of) }, 'Keys')] : []),
  );
  content.append(actions, element('div', { class: 'card' }, facts, links), element('h2', {}, 'Ledger'));
  const ledger = showPagedList(page, {
    path: `${path}/ledger`,
    label: 'Ledger',
    none: 'No entries yet. Adding credits starts the ledger.',
    usual: { net: 'true' },
    filters: [
      {
        name: 'net',
        label: 'Reservations',
        kind: 'choice',
        options: [
          ['', 'unreleased'],
          ['false', 'all'],
        ],
      },
    ],
    cursor: 'before',
    idOf: (/** @type {LedgerItem} */ { id }) => String(id),
    columns: [
      { title: 'Time (UTC)', cell: ({ created_at }) => timeElement(created_at, 'short') },
      { title: 'Kind', cell: ({ kind: what }) => what },
      { title: 'Amount', kind: 'number', cell: ({ amount }) => amountOf(amount) },
      { title: 'Note', wide: true, kind: 'name', cell: ({ note }) => note },
      { title: 'Request', wide: true, cell: ({ request_id }) => requestLink(request_id) },
    ],
    everyMs: EVERY_MS,
  });
  show(account);
}

/** @type {(account: Account) => readonly Fact[]} */
function identityOf(account) {
  const id = element('code', {}, account.id);
  if (account.object === 'group') return [['Id', id]];
  const { group, prefix, former_secret_until, last_used_at, gateway_secret } = account;
  return [
    ['Id', id],
    ['Secret', element('code', {}, `${prefix}…`)],
    ['Former secret works until', former_secret_until === null ? null : timeElement(former_secret_until)],
    ['Last used (hour)', last_used_at === null ? 'never' : timeElement(last_used_at)],
    ['Known by', gateway_secret === 'previous' ? 'GATEWAY_SECRET_PREVIOUS only, until it is used' : null],
    ['Group', group === null ? 'none' : element('a', { href: toHref('groups', group.id) }, group.name)],
  ];
}

/** @param {string | null} id */
function requestLink(id) {
  return id === null ? '–' : element('a', { href: toHref('requests', id) }, element('code', {}, id));
}

/** @param {string} label @param {() => void} act @param {'danger' | ''} [style] */
function button(label, act, style = '') {
  const made = element('button', { type: 'button', class: style }, label);
  made.addEventListener('click', act);
  return made;
}
