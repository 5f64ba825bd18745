import { byId, element, showFacts, timeElement } from './dom.js';
import { formatCount, formatCredits, inWords, priceRows } from './format.js';

/** @import { OwnGroup, OwnKey, OwnLimit } from '../contract/record-types.ts' */
/** @import { Fact } from './dom.js' */

/** Shows what the key may do, what is left of it, of its group and of the whole gateway, and what the models cost. */
export function createKeyCard() {
  const card = byId('usage-key', HTMLElement);
  const group = byId('usage-group', HTMLElement);
  const gateway = byId('usage-gateway', HTMLElement);
  const prices = byId('usage-prices', HTMLElement);
  let shown = '';

  /** @param {OwnKey} key */
  return (key) => {
    const money = (/** @type {number} */ micro) =>
      formatCredits(micro) + (key.currency === null ? '' : ` ${key.currency}`);
    card.hidden = false;
    byId('usage-key-name', HTMLElement).textContent = key.name;
    showFacts(byId('usage-key-facts', HTMLElement), describeAccount(key, money));
    group.hidden = key.group === null;
    if (key.group !== null) {
      byId('usage-group-name', HTMLElement).textContent = key.group.name;
      showFacts(byId('usage-group-facts', HTMLElement), describeAccount(key.group, money));
    }
    gateway.hidden = key.gateway === null;
    if (key.gateway !== null) {
      showFacts(byId('usage-gateway-facts', HTMLElement), describeAccount(key.gateway, money));
    }
    prices.hidden = key.prices.length === 0;
    // Drawn when they change, so that they stay open, and scrolled.
    if (shown === JSON.stringify(key.prices)) return;
    shown = JSON.stringify(key.prices);
    byId('usage-prices-unit', HTMLElement).textContent = `${key.currency ?? ''} per million tokens`;
    byId('usage-prices-rows', HTMLElement).replaceChildren(...key.prices.flatMap(priceRows).map(priceRow));
  };
}

/** @type {(account: OwnKey | OwnGroup, money: (micro: number) => string) => readonly Fact[]} */
function describeAccount({ balance, held, spent, rate_limits, spend_limits, models, expires_at }, money) {
  return [
    ['Balance', balance === null ? null : money(balance)],
    ['Reserved for running requests', held === 0 ? null : money(held)],
    ...Object.entries(spent).map(([now, micro]) => /** @type {const} */ ([inWords(`spent_${now}`), money(micro)])),
    ...Object.entries(rate_limits).map(([name, limit]) => limitFact(inWords(name), limit, formatCount)),
    ...Object.entries(spend_limits).map(([per, limit]) => limitFact(inWords(`spending_${per}`), limit, money)),
    ['Models', models === null ? null : models.join(', ')],
    ['Expires', expires_at === null ? null : timeElement(expires_at)],
  ];
}

/** @type {(name: string, limit: OwnLimit, format: (value: number) => string) => Fact} */
function limitFact(name, limit, format) {
  if (limit === null) return [name, null];
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
  const opens = element('span', { class: 'muted small' }, 'resets ', timeElement(limit.resets_at, 'short'), ' UTC');
  return [name, element('span', { class: 'limit' }, left, meter, ...(remaining < limit.limit ? [opens] : []))];
}

/** @param {string[]} row */
function priceRow([model = '', ...prices]) {
  const cells = prices.map((price) => element('td', { class: 'number' }, price));
  return element('tr', {}, element('th', { scope: 'row', class: 'name' }, model), ...cells);
}
