import { copy, element, say } from './dom.js';

/**
 * @typedef {object} FoundPlace
 * @property {string} text
 * @property {string} page
 * @property {string} href Relative to `/docs/`.
 * @property {string} body
 */

const MAX_FOUND = 30;
const EXCERPT = 200;
const TOLD_MS = 2000;

for (const code of document.querySelectorAll('pre.code')) {
  if (code instanceof HTMLElement) addCopyButton(code);
}
const place = document.getElementById('page-search');
if (place !== null) addSearch(place, place.dataset['docs'] ?? '');
// The API description was at /docs, and old links to its anchors must work.
if (document.getElementById('guides') !== null && location.hash !== '') location.replace(`docs/api${location.hash}`);

/** @param {HTMLElement} code */
function addCopyButton(code) {
  const button = element('button', { type: 'button', class: 'small copy' }, 'Copy');
  const frame = element('div', { class: 'copied' });
  code.replaceWith(frame);
  frame.append(code, button);
  button.addEventListener('click', () => void copyCode());

  async function copyCode() {
    button.textContent = (await copy(code)) ? 'Copied' : 'Selected';
    setTimeout(() => (button.textContent = 'Copy'), TOLD_MS);
  }
}

/** @param {HTMLElement} place @param {string} docs */
function addSearch(place, docs) {
  const root = new URL(docs === '' ? '.' : docs, location.href);
  const input = element('input', { type: 'search', id: 'page-search-input', placeholder: 'Search the docs' });
  const status = element('p', { class: 'muted small', role: 'status' });
  const list = element('ul', { class: 'found' });
  status.hidden = true;
  place.append(element('label', { class: 'hidden-text', for: input.id }, 'Search all docs'), input, status, list);
  /** @type {Promise<readonly FoundPlace[]> | undefined} */
  let places;

  async function show() {
    const words = toWords(input.value);
    try {
      places ??= load(new URL('search.json', root));
      const found = words.length === 0 ? [] : find(await places, words);
      // A newer input shows its own results.
      if (words.join() !== toWords(input.value).join()) return;
      list.replaceChildren(...found.slice(0, MAX_FOUND).map((place) => toItem(place, words)));
      say(status, words.length === 0 ? null : describe(found.length));
    } catch {
      places = undefined;
      say(status, 'The docs could not be loaded.');
    }
  }

  /** @param {FoundPlace} place @param {readonly string[]} words */
  function toItem({ text, page, href, body }, words) {
    const link = element('a', { href: new URL(href, root).href }, text);
    const excerpt = element('p', { class: 'small' }, ...mark(excerptOf(body, words), words));
    return element('li', {}, link, ' ', element('span', { class: 'muted small' }, page), excerpt);
  }

  input.addEventListener('input', () => void show());
  input.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') list.querySelector('a')?.click();
  });
  list.addEventListener('click', () => {
    // An anchor of the same page needs no page load.
    input.value = '';
    void show();
  });
}

/** @type {(url: URL) => Promise<readonly FoundPlace[]>} */
async function load(url) {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`the docs were answered with ${reply.status}`);
  return /** @type {readonly FoundPlace[]} */ (await reply.json());
}

/** @param {string} text */
function toWords(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * Finds the word where another one begins with it: "oom" is not in "room", but "timeout" is in "FIRST_BYTE_TIMEOUT_MS".
 * @param {string} word
 */
function toPattern(word) {
  return new RegExp(`(?<![a-z0-9])${word.replaceAll(/\W/g, '\\$&')}`, 'i');
}

/**
 * Returns the places that have all words: first those whose title begins with the first one, then those with a word in their title.
 * @param {readonly FoundPlace[]} places
 * @param {readonly string[]} words
 */
function find(places, words) {
  const patterns = words.map(toPattern);
  const found = places.filter(({ text, page, body }) => {
    const all = `${text} ${page} ${body}`;
    return patterns.every((pattern) => all.search(pattern) >= 0);
  });
  const rankOf = (/** @type {FoundPlace} */ { text }) => {
    const places = patterns.map((pattern) => text.search(pattern));
    if (places[0] === 0) return 0;
    return places.some((at) => at > 0) ? 1 : 2;
  };
  return found.sort((a, b) => rankOf(a) - rankOf(b));
}

/**
 * Returns the part of the text that begins shortly before the first of the words in it.
 * @param {string} body
 * @param {readonly string[]} words
 */
function excerptOf(body, words) {
  const places = words.map((word) => body.search(toPattern(word))).filter((at) => at >= 0);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const start = first < EXCERPT / 4 ? 0 : body.lastIndexOf(' ', first - EXCERPT / 4) + 1;
  const isCut = start + EXCERPT < body.length;
  const end = isCut ? body.lastIndexOf(' ', start + EXCERPT) : body.length;
  return `${start > 0 ? '… ' : ''}${body.slice(start, end)}${isCut ? ' …' : ''}`;
}

/** Returns the text with its words as marks. @param {string} text @param {readonly string[]} words */
function mark(text, words) {
  const pattern = words.map((word) => toPattern(word).source).join('|');
  return text
    .split(new RegExp(`(${pattern})`, 'gi'))
    .map((part, index) => (index % 2 === 1 ? element('mark', {}, part) : part));
}

/** @param {number} count */
function describe(count) {
  if (count === 0) return 'Nothing found.';
  return count > MAX_FOUND ? `The first ${MAX_FOUND} of ${count}.` : `${count} found.`;
}
