import { byId, element, showFacts, timeElement } from './dom.js';
import { formatCount, formatCredits } from './format.js';

/** @import { OwnKey, OwnLimit } from '../contract/types.ts' */

/** @param {OwnKey} key */
export function showOwnKey(key) {
  const { rate_limits, spend_limits, balance, held, spent } = key;
  const money = (/** @type {number} */ micro) =>
    formatCredits(micro) + (key.currency === null ? '' : ` ${key.currency}`);
  byId('usage-key', HTMLElement).hidden = false;
  byId('usage-key-name', HTMLElement).textContent = key.name;
  showFacts(byId('usage-key-facts', HTMLElement), [
    ['Balance', balance === null ? null : money(balance)],
    ['Reserved for what runs', held === 0 ? null : money(held)],
    ['Spent today', money(spent.today)],
    ['Spent this month', money(spent.this_month)],
    ['Requests per minute', limitElement('Requests per minute', rate_limits.requests_per_minute, formatCount)],
    ['Tokens per minute', limitElement('Tokens per minute', rate_limits.tokens_per_minute, formatCount)],
    ['Spending per day', limitElement('Spending per day', spend_limits.per_day, money)],
    ['Spending per month', limitElement('Spending per month', spend_limits.per_month, money)],
    ['Models', key.models === null ? null : key.models.join(', ')],
    ['Good until', key.expires_at === null ? null : timeElement(key.expires_at)],
  ]);
}

/**
 * @param {string} name
 * @param {OwnLimit} limit
 * @param {(value: number) => string} format
 */
function limitElement(name, limit, format) {
  if (limit === null) return null;
  const { remaining } = limit;
  const left = `${format(remaining)} of ${format(limit.limit)} left`;
  const meter = element('meter', {
    min: '0',
    max: String(limit.limit),
    low: String(limit.limit * 0.2),
    optimum: String(limit.limit),
    value: String(remaining),
    'aria-label': name,
  });
  return element('span', { class: 'limit' }, left, meter);
}
