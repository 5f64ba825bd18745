import { element } from '../dom.js';
import { createField, TYPING_MS } from './form.js';
import { accountsOf } from './suggest.js';

/** @import { Field, Values } from './form.js' */
/** @import { Page } from './main.js' */

/**
 * Returns the form of a view's filters.
 * @param {Page} page
 * @param {{ fields: readonly Field[], values: Values, onChange: () => void }} options
 */
export function createFilters(page, { fields, values, onChange }) {
  let typing = 0;
  const made = fields.map((field) => ({ field, ...createField(field, values[field.name] ?? '') }));
  const form = element(
    'form',
    { class: 'filters', autocomplete: 'off', 'aria-label': 'Filters' },
    ...made.map(({ place }) => place),
  );
  form.addEventListener('submit', (event) => event.preventDefault());
  page.signal.addEventListener('abort', () => clearTimeout(typing));
  for (const { field, input, setProblem } of made) {
    input.addEventListener('change', () => void apply({ field, input, setProblem }));
    if (field.name !== 'search') continue;
    input.addEventListener('input', () => {
      clearTimeout(typing);
      typing = setTimeout(onChange, TYPING_MS);
    });
  }

  /** @param {Pick<typeof made[number], 'field' | 'input' | 'setProblem'>} changed */
  async function apply({ field, input, setProblem }) {
    const problem = await complete(field, input);
    setProblem(problem);
    if (problem === null && !page.signal.aborted) onChange();
  }

  return {
    form,
    /** @returns {Values} */
    read: () => Object.fromEntries(made.map(({ field, input }) => [field.name, input.value.trim()])),
  };
}

/** Returns the filters for whose requests are meant. @type {(page: Page) => readonly Field[]} */
export function accountFilters(page) {
  if (!page.isManaged) return [{ name: 'key', label: 'Caller' }];
  return [
    { name: 'key', label: 'Key, by name or id', suggest: accountsOf(page, 'keys') },
    { name: 'group', label: 'Group, by name or id', suggest: accountsOf(page, 'groups') },
  ];
}

/**
 * Puts the whole name in the place of a part of it.
 * @param {Field} field
 * @param {{ value: string }} input
 * @returns {Promise<string | null>} What is wrong; nothing for a name that nobody knows, of which the gateway says more.
 */
async function complete({ suggest }, input) {
  const text = input.value.trim();
  if (suggest === undefined || text === '') return null;
  const found = await suggest(text);
  if (found.length === 0 || found.includes(text)) return null;
  if (found.length > 1) return `Several match: ${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}`;
  // A whole id is found as well, and stays what it is.
  if (found[0]?.toLowerCase().includes(text.toLowerCase())) input.value = found[0];
  return null;
}
