/** Loaded with the first answer, because its libraries are larger than the console. */

import { Marked } from './vendor/marked.js';
import DOMPurify from './vendor/purify.js';

/** HTML of a model is text, and its images are links: a page that loads one tells its server of it. */
const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ href, text }) => `<a href="${escape(href)}">${escape(text === '' ? href : text)}</a>`,
    // The page has the levels above, and a model may leave levels out.
    heading({ tokens }) {
      return `<h3>${this.parser.parseInline(tokens)}</h3>`;
    },
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

const TEXT = ['p', 'br', 'em', 'strong', 'del', 'code', 'pre', 'blockquote', 'hr', 'a'];
const STRUCTURE = ['ul', 'ol', 'li', 'h3', 'table', 'thead', 'tbody', 'tr', 'th', 'td'];
const ALLOWED = {
  ALLOWED_TAGS: [...TEXT, ...STRUCTURE],
  ALLOWED_ATTR: ['href', 'title', 'start', 'align'],
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
};

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName === 'A') {
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer');
  }
  // Whoever has no mouse scrolls a wide one by the arrow keys.
  if (node.nodeName === 'PRE' || node.nodeName === 'TABLE') node.setAttribute('tabindex', '0');
});

/** Returns a text of a model as elements that can do nothing. @type {(text: string) => DocumentFragment} */
export function renderMarkdown(text) {
  return DOMPurify.sanitize(/** @type {string} */ (marked.parse(text)).trim(), {
    ...ALLOWED,
    RETURN_DOM_FRAGMENT: true,
  });
}

/** @param {string} text */
function escape(text) {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
