import { element } from '../dom.js';

/** @param {string} label @param {number} used @param {number} capacity */
export function fullness(label, used, capacity) {
  return element('meter', {
    min: '0',
    max: String(capacity),
    high: String(capacity * 0.8),
    optimum: '0',
    value: String(used),
    'aria-label': label,
  });
}
