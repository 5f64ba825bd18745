/** What keys and groups have in common: both have credits, limits, models and an expiry. */

import { element, timeElement } from '../dom.js';
import { formatAmount, formatCount } from '../format.js';
import { accountsOf } from './suggest.js';
import { toField, toSeconds } from './times.js';

/** @import { AdminGroup, AdminKey } from '../../contract/types.ts' */
/** @import { Fact } from '../dom.js' */
/** @import { Field, Values } from './form.js' */
/** @import { Page } from './main.js' */

/** @typedef {AdminKey | AdminGroup} Account */

/** @type {readonly Field[]} */
const LIMIT_FIELDS = [
  { name: 'models', label: 'Models', kind: 'lines', hint: 'One name or pattern (*) per line. Empty: all.' },
  { name: 'limits.requests_per_minute', label: 'Requests per minute', kind: 'number' },
  { name: 'limits.tokens_per_minute', label: 'Tokens per minute', kind: 'number' },
  { name: 'limits.spend_per_day', label: 'Spending per day', kind: 'number' },
  { name: 'limits.spend_per_week', label: 'Spending per week', kind: 'number' },
  { name: 'limits.spend_per_month', label: 'Spending per month', kind: 'number' },
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
    'limits.requests_per_minute': String(limits.requests_per_minute ?? ''),
    'limits.tokens_per_minute': String(limits.tokens_per_minute ?? ''),
    'limits.spend_per_day': limits.spend_per_day ?? '',
    'limits.spend_per_week': limits.spend_per_week ?? '',
    'limits.spend_per_month': limits.spend_per_month ?? '',
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
  const { requests_per_minute, tokens_per_minute, spend_per_day, spend_per_week, spend_per_month } = limits;
  const set = [
    requests_per_minute === null ? '' : `${formatCount(requests_per_minute)} requests/min`,
    tokens_per_minute === null ? '' : `${formatCount(tokens_per_minute)} tokens/min`,
    spend_per_day === null ? '' : `${formatAmount(spend_per_day)} a day`,
    spend_per_week === null ? '' : `${formatAmount(spend_per_week)} a week`,
    spend_per_month === null ? '' : `${formatAmount(spend_per_month)} a month`,
  ].filter((limit) => limit !== '');
  return set.length === 0 ? '–' : set.join(', ');
}

/** @type {(account: Account) => readonly Fact[]} */
export function factsOf(account) {
  const { status, created_at, expires_at, models, balance, held } = account;
  const { spent_today, spent_this_week, spent_this_month, day_ends_at, week_ends_at, month_ends_at } = account;
  const { spend_per_day, spend_per_week, spend_per_month } = account.limits;
  const ofLimit = (/** @type {string} */ spent, /** @type {string | null} */ limit, /** @type {number} */ endsAt) =>
    limit === null
      ? formatAmount(spent)
      : element('span', {}, `${formatAmount(spent)} of ${formatAmount(limit)}, resets `, timeElement(endsAt), ' UTC');
  return [
    ['Status', statusElement(status)],
    ['Balance', balance === null ? 'not prepaid' : formatAmount(balance)],
    ['Reserved for running requests', Number(held) === 0 ? null : formatAmount(held)],
    ['Spent today', ofLimit(spent_today, spend_per_day, day_ends_at)],
    ['Spent this week', ofLimit(spent_this_week, spend_per_week, week_ends_at)],
    ['Spent this month', ofLimit(spent_this_month, spend_per_month, month_ends_at)],
    ['Limits', limitsOf(account)],
    ['Models', models?.join(', ') ?? 'all'],
    ['Created', timeElement(created_at)],
    ['Expires', expires_at === null ? 'never' : timeElement(expires_at)],
  ];
}
