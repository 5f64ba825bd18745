/** Text becomes text nodes only, so that nothing from a backend becomes HTML. */

/**
 * Returns the element with this id. Throws when the page has none, or one of another kind.
 * @type {<Kind extends HTMLElement>(id: string, kind: new () => Kind) => Kind}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} with the id ${id}`);
  return found;
}

/**
 * Returns a new element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string>>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @typedef {readonly [term: string, value: string | Node | null]} Fact Without a value it is left out. */

/**
 * Shows facts as the content of a `dl`, each in a place of its own.
 * @type {(list: HTMLElement, entries: readonly Fact[]) => void}
 */
export function showFacts(list, entries) {
  const known = entries.flatMap(([term, value]) =>
    value === null ? [] : [element('div', {}, element('dt', {}, term), element('dd', {}, value))],
  );
  list.replaceChildren(...known);
}

/** Returns facts as a list, one below the other. @param {readonly Fact[]} entries */
export function detailsOf(entries) {
  const known = entries.flatMap(([term, value]) =>
    value === null ? [] : [element('dt', {}, term), element('dd', {}, value)],
  );
  return element('dl', { class: 'details' }, ...known);
}

/**
 * Returns a name such as `rate_limit_exceeded`, which a narrow place breaks between its words.
 * @type {(name: string) => readonly (Node | string)[]}
 */
export function breakable(name) {
  return name.split(/(?<=_)/).flatMap((word) => [word, element('wbr')]);
}

/** Shows a sentence, or nothing. @type {(place: HTMLElement, sentence: string | null) => void} */
export function say(place, sentence) {
  place.hidden = sentence === null;
  // A live region speaks whenever its text is set, even if it stays the same.
  if (place.textContent !== (sentence ?? '')) place.textContent = sentence;
}

/**
 * Marks a field as wrong with a reason, or removes both.
 * @type {(field: HTMLElement, place: HTMLElement, problem: string | null) => void}
 */
export function sayProblem(field, place, problem) {
  field.setAttribute('aria-invalid', String(problem !== null));
  say(place, problem);
}

/**
 * Gives the focus to another control if the one that has it is disabled or hidden now. Otherwise
 * whoever uses the keyboard begins at the top of the page again.
 * @type {(from: HTMLButtonElement, to: HTMLElement) => void}
 */
export function passFocus(from, to) {
  if (document.activeElement === from && (from.disabled || from.hidden)) to.focus({ preventScroll: true });
}

/**
 * Returns a time in UTC, as the log, the command line and the CSV files have it. A pointer on it tells that of the browser.
 * @param {number} seconds Unix time
 * @param {'full' | 'short'} [length] The short one leaves out the year, and UTC, which the heading of a table tells.
 * @returns {HTMLTimeElement}
 */
export function timeElement(seconds, length = 'full') {
  const date = new Date(seconds * 1000);
  const shown = TIMES[length].format(date) + (length === 'full' ? ' UTC' : '');
  return element('time', { datetime: date.toISOString(), title: date.toLocaleString() }, shown);
}

const TIME_OF_DAY = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const TIMES = {
  full: new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'medium', timeStyle: 'medium' }),
  short: new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', ...TIME_OF_DAY }),
};

/**
 * Copies the text of an element, or selects it where the browser refuses to copy.
 * @param {HTMLElement} place
 * @returns {Promise<boolean>} whether it was copied
 */
export async function copy(place) {
  try {
    await navigator.clipboard.writeText(place.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(place);
    return false;
  }
}

/**
 * Adds a stylesheet that only some views need, once. Resolves when it holds, or cannot be loaded.
 * @type {(href: string) => Promise<void>}
 */
export function addStylesheet(href) {
  if (document.head.querySelector(`link[href="${href}"]`) !== null) return Promise.resolve();
  const link = element('link', { rel: 'stylesheet', href });
  return new Promise((resolve) => {
    for (const outcome of ['load', 'error']) link.addEventListener(outcome, () => resolve());
    document.head.append(link);
  });
}
