/** What keys and groups have in common: both have credits, limits, models and an expiry. */

import { element, timeElement } from '../dom.js';
import { formatAmount, formatCount, inWords } from '../format.js';
import { accountsOf } from './suggest.js';
import { toField, toSeconds } from './times.js';

/** @import { AdminGroup, AdminKey } from '../../contract/operator-types.ts' */
/** @import { Fact } from '../dom.js' */
/** @import { Field, Values } from './form.js' */
/** @import { Page } from './main.js' */

/** @typedef {AdminKey | AdminGroup} Account */

/** As `core/money/limits.ts` has them. */
const SPEND_WINDOWS = /** @type {const} */ ([
  { per: 'day', now: 'today' },
  { per: 'week', now: 'this_week' },
  { per: 'month', now: 'this_month' },
]);

/** @type {(name: string, label: string) => Field} */
const limitField = (name, label) => ({ name: `limits.${name}`, label: inWords(label), kind: 'number' });

/** @type {readonly Field[]} */
const LIMIT_FIELDS = [
  { name: 'models', label: 'Models', kind: 'lines', hint: 'One name or pattern (*) per line. Empty: all.' },
  ...['requests', 'tokens'].map((what) => limitField(`${what}_per_minute`, `${what}_per_minute`)),
  ...SPEND_WINDOWS.map(({ per }) => limitField(`spend_per_${per}`, `spending_per_${per}`)),
  { name: 'expires_at', label: 'Expires (UTC)', kind: 'time', hint: 'Empty: never.' },
];
/** @type {Field} */
const CREDITS_FIELD = {
  name: 'credits',
  label: 'Starting credits',
  kind: 'number',
  hint: 'Such as 10.00. Empty: not prepaid, so only the limits apply.',
};

/**
 * @param {boolean} isNew
 * @param {Page | null} page Null for a group, which is in no group.
 * @returns {readonly Field[]}
 */
export function accountFields(isNew, page) {
  return [
    {
      name: 'name',
      label: 'Name',
      ...(page === null && { hint: '“whole gateway” has all keys, with spend limits only.' }),
    },
    ...(page === null
      ? []
      : [{ name: 'group', label: 'Group', suggest: accountsOf(page, 'groups'), hint: 'Empty: none.' }]),
    ...(isNew ? [CREDITS_FIELD] : []),
    ...LIMIT_FIELDS.map((field) => ({ ...field, fold: 'Limits' })),
  ];
}

/** @type {(account: Account) => Values} */
export function toValues(account) {
  const { name, models, limits, expires_at } = account;
  return {
    name,
    ...(account.object === 'key' && { group: account.group?.name ?? '' }),
    models: models?.join('\n') ?? '',
    ...Object.fromEntries(Object.entries(limits).map(([name, value]) => [`limits.${name}`, String(value ?? '')])),
    expires_at: toField(expires_at),
  };
}

/**
 * Returns the body of the fields that differ from those of before, so that a change by somebody else
 * meanwhile stays.
 * @param {Values} values
 * @param {Values} before
 */
export function toBody(values, before) {
  /** @type {Record<string, unknown>} */
  const body = {};
  /** @type {Record<string, unknown>} */
  const limits = {};
  for (const [name, text] of Object.entries(values)) {
    if (text === (before[name] ?? '')) continue;
    const [first = '', second] = name.split('.', 2);
    if (second === undefined) body[first] = toValue(first, text);
    else limits[second] = toValue(second, text);
  }
  return { ...body, ...(Object.keys(limits).length > 0 && { limits }) };
}

/** @param {string} name @param {string} text */
function toValue(name, text) {
  if (name === 'name') return text;
  if (text === '') return null;
  if (name === 'expires_at') return toSeconds(text);
  if (name === 'models') {
    return text
      .split('\n')
      .map((model) => model.trim())
      .filter((model) => model !== '');
  }
  // What is no number is sent as it is, so that the gateway says what is wrong.
  if (name.endsWith('_per_minute')) return /^\d+$/.test(text) ? Number(text) : text;
  return text;
}

/** @type {(status: Account['status']) => HTMLElement} */
export function statusElement(status) {
  return element('span', { class: 'state', 'data-state': status }, status);
}

/** @param {string | null} amount */
export function amountOf(amount) {
  return amount === null ? '–' : formatAmount(amount);
}

/** Returns the limits as one line. @param {Account} account */
export function limitsOf({ limits }) {
  /** @type {readonly (readonly [string, string | number | null])[]} */
  const all = Object.entries(limits);
  const set = all.flatMap(([name, limit]) => {
    const [what, per] = name.split('_per_', 2);
    if (limit === null) return [];
    return typeof limit === 'string' ? `${formatAmount(limit)} a ${per}` : `${formatCount(limit)} ${what}/min`;
  });
  return set.length === 0 ? '–' : set.join(', ');
}

/** @type {(account: Account) => readonly Fact[]} */
export function factsOf(account) {
  const { status, created_at, expires_at, models, balance, held } = account;
  const spent = SPEND_WINDOWS.map(({ per, now }) => {
    const [amount, limit] = [formatAmount(account[`spent_${now}`]), account.limits[`spend_per_${per}`]];
    const resets = timeElement(account[`${per}_ends_at`]);
    const ofLimit = limit && element('span', {}, `${amount} of ${formatAmount(limit)}, resets `, resets, ' UTC');
    return /** @type {const} */ ([inWords(`spent_${now}`), ofLimit ?? amount]);
  });
  return [
    ['Status', statusElement(status)],
    ['Balance', balance === null ? 'not prepaid' : formatAmount(balance)],
    ['Reserved for running requests', Number(held) === 0 ? null : formatAmount(held)],
    ...spent,
    ['Limits', limitsOf(account)],
    ['Models', models?.join(', ') ?? 'all'],
    ['Created', timeElement(created_at)],
    ['Expires', expires_at === null ? 'never' : timeElement(expires_at)],
  ];
}
