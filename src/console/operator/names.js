import { toFailure } from '../client.js';
import { element } from '../dom.js';
import { toHref } from '../route.js';

/** @import { Page } from './main.js' */

/** A gateway has more keys than a tab should remember. */
const MAX_NAMES = 2000;

/** @type {Map<string, Promise<string>>} */
const names = new Map();
/** Those that have come. @type {Map<string, string>} */
const known = new Map();

/**
 * Returns a link to a key or a group, which says its name as soon as that is known. What is deleted,
 * or was never issued by the gateway, stays an id.
 *
 * @param {Page} page
 * @param {'keys' | 'groups'} kind
 * @param {string} id
 */
export function nameLink(page, kind, id) {
  const isIssued = page.isManaged && id.startsWith(kind === 'keys' ? 'key_' : 'group_');
  if (!isIssued) return element('code', {}, id);
  const path = `${kind}/${id}`;
  const link = element('a', { href: toHref(kind, id) }, known.get(path) ?? `${id.slice(0, 12)}…`);
  if (!known.has(path)) void nameOf(page, path).then((name) => (link.textContent = name));
  return link;
}

/**
 * @param {Page} page
 * @param {string} path
 */
function nameOf({ client, signal }, path) {
  const before = names.get(path);
  if (before !== undefined) return before;
  const asked = client.get(path, { signal }).then(
    (account) => {
      const { name } = /** @type {{ name: string }} */ (account);
      known.set(path, name);
      return name;
    },
    (/** @type {unknown} */ error) => {
      names.delete(path);
      if (!signal.aborted && toFailure(error).status === 404) return 'deleted';
      return `${path.split('/')[1]?.slice(0, 12)}…`;
    },
  );
  if (names.size >= MAX_NAMES) {
    names.clear();
    known.clear();
  }
  names.set(path, asked);
  return asked;
}
