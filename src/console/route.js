/**
 * What the address says: `#/requests/req_1?status=failed` is the view `requests` with the id
 * `req_1` and the filter `status`.
 *
 * @typedef {{ view: string, id: string | null, query: URLSearchParams }} Route
 */

/** @returns {Route} */
export function readRoute() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', id = ''] = path.split('/', 2);
  return { view, id: id === '' ? null : decode(id), query: new URLSearchParams(query) };
}

/**
 * Returns the address of a view, to link to it.
 * @param {string} view
 * @param {string | null} [id]
 * @param {Readonly<Record<string, string>> | URLSearchParams} [query] Empty values are left out.
 */
export function toHref(view, id = null, query = {}) {
  const given = query instanceof URLSearchParams ? query : Object.entries(query);
  const kept = new URLSearchParams([...given].filter(([, value]) => value !== '')).toString();
  return `#/${view}${id === null ? '' : `/${encodeURIComponent(id)}`}${kept === '' ? '' : `?${kept}`}`;
}

/**
 * Returns what gives another address to the view that has the present one. It does nothing and returns false when
 * somebody has left that view, also if the next one is not shown yet.
 * @returns {(href: string) => boolean}
 */
export function createAddress() {
  let own = location.hash;
  return (href) => {
    if (location.hash !== own) return false;
    history.replaceState(null, '', href);
    own = location.hash;
    return true;
  };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
