/** Text becomes text nodes only, so that nothing from a backend becomes HTML. */

/**
 * Returns the element with this id. Throws when the page has none, or one of another kind.
 *
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} with the id ${id}`);
  return found;
}

/**
 * Returns a new element.
 *
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

/**
 * Returns terms and values as the content of a `dl`. Leaves out terms without a value.
 *
 * @param {HTMLElement} list
 * @param {readonly (readonly [term: string, value: string | Node | null])[]} entries
 */
export function showFacts(list, entries) {
  const known = entries.flatMap(([term, value]) =>
    value === null ? [] : [element('div', {}, element('dt', {}, term), element('dd', {}, value))],
  );
  list.replaceChildren(...known);
}

/**
 * Shows a sentence, or nothing.
 *
 * @param {HTMLElement} place
 * @param {string | null} sentence
 */
export function say(place, sentence) {
  place.hidden = sentence === null;
  // A live region speaks whenever its text is set, even if it stays the same.
  if (place.textContent !== (sentence ?? '')) place.textContent = sentence;
}

/**
 * Marks a field as wrong with a reason, or removes both.
 *
 * @param {HTMLElement} field
 * @param {HTMLElement} place
 * @param {string | null} problem
 */
export function sayProblem(field, place, problem) {
  field.setAttribute('aria-invalid', String(problem !== null));
  say(place, problem);
}

/**
 * Returns a time for people, in the time zone of the browser.
 *
 * @param {number} seconds Unix time
 * @param {'full' | 'short'} [length] The short one leaves the year out.
 * @returns {HTMLTimeElement}
 */
export function timeElement(seconds, length = 'full') {
  const date = new Date(seconds * 1000);
  return element('time', { datetime: date.toISOString() }, TIMES[length].format(date));
}

const TIME_OF_DAY = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const TIMES = {
  full: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }),
  short: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...TIME_OF_DAY }),
};

/**
 * Copies the text of an element, or selects it where the browser refuses to copy.
 *
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
