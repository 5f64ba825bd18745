import { toFailure } from '../client.js';
import { element } from '../dom.js';
import { toHref } from '../route.js';

/** @import { Page } from './main.js' */

/** A gateway has more keys than a tab should remember. */
const MAX_NAMES = 2000;

/** @type {Map<string, Promise<string>>} */
const names = new Map();

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
  const link = element('a', { href: toHref(kind, id) }, `${id.slice(0, 12)}…`);
  void nameOf(page, `${kind}/${id}`).then((name) => (link.textContent = name));
  return link;
}

/**
 * @param {Page} page
 * @param {string} path
 */
function nameOf({ client, signal }, path) {
  const known = names.get(path);
  if (known !== undefined) return known;
  const asked = client.get(path, { signal }).then(
    (account) => /** @type {{ name: string }} */ (account).name,
    (/** @type {unknown} */ error) => {
      names.delete(path);
      if (!signal.aborted && toFailure(error).status === 404) return 'deleted';
      return `${path.split('/')[1]?.slice(0, 12)}…`;
    },
  );
  if (names.size >= MAX_NAMES) names.clear();
  names.set(path, asked);
  return asked;
}
