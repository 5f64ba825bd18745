import { createClient, Failure, isAbort } from '../client.js';
import { addStylesheet, byId, element, say } from '../dom.js';
import { readRoute, toHref } from '../route.js';
import { createSession } from '../session.js';

/** @import { Client } from '../client.js' */
/** @import { Route } from '../route.js' */

/**
 * @typedef {object} Page What a view has of the page.
 * @property {Client} client
 * @property {Route} route
 * @property {boolean} isManaged Whether the gateway issues the keys.
 * @property {HTMLElement} content
 * @property {AbortSignal} signal Aborts when another view is shown.
 * @property {(title: string) => void} setTitle
 * @property {(status: string | null) => void} setStatus
 * @property {(failure: Failure | null) => void} setFailure
 *
 * @typedef {(page: Page) => void | Promise<void>} ShowView
 */

/**
 * @typedef {object} View
 * @property {string} title
 * @property {() => Promise<ShowView>} load
 * @property {boolean} [isOfKeys] Whether it is there only where the gateway issues the keys.
 */

/** In the order of the links. @type {Readonly<Record<string, View>>} */
const VIEWS = {
  requests: { title: 'Requests', load: async () => (await import('./requests-view.js')).showRequests },
  usage: {
    title: 'Usage',
    async load() {
      await addStylesheet('../vendor/uplot.css');
      return (await import('./usage-view.js')).showUsage;
    },
  },
  groups: { title: 'Groups', load: async () => (await import('./accounts-view.js')).showGroups, isOfKeys: true },
  keys: { title: 'Keys', load: async () => (await import('./accounts-view.js')).showKeys, isOfKeys: true },
  backends: { title: 'Backends', load: async () => (await import('./capacity-view.js')).showBackends },
  prices: { title: 'Prices', load: async () => (await import('./prices-view.js')).showPrices },
  limits: { title: 'Limits', load: async () => (await import('./capacity-view.js')).showLimits },
};
const FIRST = 'requests';
const TITLE = document.title;

const view = byId('view', HTMLElement);
const title = byId('view-title', HTMLElement);
const status = byId('view-status', HTMLElement);
const problem = byId('view-problem', HTMLElement);
let isManaged = false;
let turn = new AbortController();

const session = createSession({
  storedAs: 'responses-gateway.admin-token',
  name: 'token',
  check: async (entered) =>
    void (await clientOf(
      () => entered,
      () => undefined,
    ).get('backends')),
  open: () => void showView(),
  close: leaveView,
});
const client = clientOf(session.secret, session.refuse);
const config = loadConfig();

byId('skip', HTMLAnchorElement).addEventListener('click', (event) => {
  // The address names the view, so it must not change.
  event.preventDefault();
  byId('main', HTMLElement).focus();
});
addEventListener('hashchange', () => session.isOpen && void showView());
session.begin();

/** @param {() => string} token @param {(failure: Failure) => void} onRefused */
function clientOf(token, onRefused) {
  return createClient({ key: token, onRefused, api: '../../admin/v1/' });
}

/** Without it the page works, but has no hints. */
async function loadConfig() {
  try {
    const response = await fetch('../config.json', { cache: 'no-store' });
    const known = /** @type {{ version: string, auth_mode: string, operator: boolean, currency: string | null }} */ (
      await response.json()
    );
    byId('version', HTMLElement).textContent = known.version;
    say(byId('currency', HTMLElement), known.currency === null ? null : `Amounts in ${known.currency}`);
    isManaged = known.auth_mode === 'managed';
    if (!known.operator) {
      byId('key-mode', HTMLElement).textContent = 'This gateway has no admin token. Set ADMIN_TOKEN and restart it.';
    }
  } catch {
    // The form works without it.
  }
  const links = Object.entries(VIEWS)
    .filter(([, { isOfKeys = false }]) => isManaged || !isOfKeys)
    .map(([name, { title }]) => element('li', {}, element('a', { href: toHref(name) }, title)));
  byId('links', HTMLElement).prepend(...links);
}

async function showView() {
  leaveView();
  turn = new AbortController();
  const { signal } = turn;
  const route = readRoute();
  const name = Object.hasOwn(VIEWS, route.view) ? route.view : FIRST;
  const shown = VIEWS[name];
  const content = element('div', { class: 'content' });
  byId('view-content', HTMLElement).replaceChildren(content);
  say(problem, null);
  say(status, 'Loading …');
  setTitle(shown?.title ?? '');
  view.hidden = false;
  // A screen reader starts at the beginning of a new view, as of a new page.
  title.focus();
  const ifShown = (/** @type {() => void} */ act) => signal.aborted || act();
  try {
    const show = await shown?.load();
    await config;
    if (signal.aborted) return;
    for (const link of document.querySelectorAll('#links a')) {
      const isShown = link.getAttribute('href') === toHref(name);
      if (!isShown) link.removeAttribute('aria-current');
      else {
        link.setAttribute('aria-current', 'page');
        link.scrollIntoView({ block: 'nearest', inline: 'center' });
      }
    }
    await show?.({
      client,
      route: { ...route, view: name },
      isManaged,
      content,
      signal,
      setTitle: (text) => ifShown(() => setTitle(text)),
      setStatus: (text) => ifShown(() => say(status, text)),
      setFailure: (failure) => ifShown(() => say(problem, failure?.sentence ?? null)),
    });
  } catch (error) {
    if (signal.aborted) {
      if (error instanceof Failure || isAbort(error)) return;
      throw error;
    }
    say(status, null);
    say(problem, 'This page could not be loaded. Is the gateway still running? Reload to try again.');
    if (!(error instanceof Failure)) throw error;
    say(problem, error.sentence);
  }
}

/** @param {string} text */
function setTitle(text) {
  title.textContent = text;
  document.title = `${text} – ${TITLE}`;
}

function leaveView() {
  turn.abort();
  view.hidden = true;
}
