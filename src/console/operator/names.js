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
 * @param {Page} page
 * @param {'keys' | 'groups'} kind
 * @param {string} id
 */
export function nameLink(page, kind, id) {
  if (!isIssued(page, kind, id)) return element('code', {}, id);
  const path = `${kind}/${id}`;
  const link = element('a', { href: toHref(kind, id) }, known.get(path) ?? shorten(id));
  if (!known.has(path)) void findName(page, path).then((name) => (link.textContent = name));
  return link;
}

/**
 * Returns the name, or the id of what has none.
 * @param {Page} page
 * @param {'keys' | 'groups'} kind
 * @param {string} id
 */
export async function nameOf(page, kind, id) {
  return isIssued(page, kind, id) ? findName(page, `${kind}/${id}`) : id;
}

/** @param {Page} page @param {'keys' | 'groups'} kind @param {string} id */
function isIssued({ isManaged }, kind, id) {
  return isManaged && id.startsWith(kind === 'keys' ? 'key_' : 'group_');
}

/** @param {string} id */
function shorten(id) {
  return `${id.slice(0, 12)}…`;
}

/** @param {Page} page @param {string} path */
function findName({ client, signal }, path) {
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
      return shorten(path.split('/')[1] ?? '');
    },
  );
  if (names.size >= MAX_NAMES) {
    names.clear();
    known.clear();
  }
  names.set(path, asked);
  return asked;
}
