import { createClient, Failure } from './client.js';
import { addStylesheet, byId, say } from './dom.js';
import { readRoute } from './route.js';
import { createSession } from './session.js';

/**
 * @typedef {object} ConsoleConfig
 * @property {string} version
 * @property {string} auth_mode
 * @property {boolean} demo
 * @property {boolean} operator Whether there is an `ADMIN_TOKEN`.
 * @property {string | null} default_model
 * @property {string | null} base_url
 *
 * @typedef {{ show: () => void, hide: () => void }} View
 *
 * @typedef {{ client: import('./client.js').Client, config: ConsoleConfig }} Context
 */

const TITLE = document.title;

const main = byId('main', HTMLElement);
const loading = byId('view-loading', HTMLElement);
const problem = byId('view-problem', HTMLElement);

/** The name of the view that is or will be shown; empty while the page asks for a key. */
let shown = '';
/** @type {View | undefined} */
let open;

const config = loadConfig();
const session = createSession({
  storedAs: 'responses-gateway.key',
  name: 'key',
  check,
  open: () => void showView(),
  close() {
    hideViews();
    shown = '';
  },
});
const client = createClient({ key: session.secret, onRefused: session.refuse });
/** Loaded when they are needed first, with the libraries that they need. */
const VIEWS = {
  try: lazily(async () => (await import('./try-view.js')).createTryView(await context())),
  requests: lazily(async () => (await import('./requests-view.js')).createRequestsView(await context())),
  usage: lazily(async () => {
    await addStylesheet('vendor/uplot.css');
    return (await import('./usage-view.js')).createUsageView(await context());
  }),
};

byId('skip', HTMLAnchorElement).addEventListener('click', (event) => {
  // The address names the view, so it must not change.
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', () => session.isOpen && void showView());
session.begin();
describeKeys(await config);
// Whoever types a key needs the first view next.
VIEWS[wantedView()]().catch(() => undefined);

/** Without it the page works, but has no hints. */
async function loadConfig() {
  /** @type {ConsoleConfig} */
  const unknown = {
    version: '',
    auth_mode: '',
    demo: false,
    operator: false,
    default_model: null,
    base_url: null,
  };
  try {
    const response = await fetch('config.json', { cache: 'no-store' });
    return /** @type {ConsoleConfig} */ (await response.json());
  } catch {
    return unknown;
  }
}

/** @returns {Promise<Context>} */
async function context() {
  return { client, config: await config };
}

/** @param {ConsoleConfig} known */
function describeKeys({ version, auth_mode, demo, operator }) {
  byId('version', HTMLElement).textContent = version;
  byId('operator', HTMLElement).hidden = !operator;
  const takesAnyKey = demo && auth_mode === 'passthrough';
  const input = byId('key-input', HTMLInputElement);
  if (takesAnyKey && input.value === '') input.value = 'demo';
  const mode = byId('key-mode', HTMLElement);
  if (takesAnyKey) mode.textContent = 'The embedded demo backend answers here. It accepts any key.';
  else if (auth_mode === 'passthrough')
    mode.textContent = 'The backend behind this gateway checks the key, so use one of the backend’s.';
  else if (auth_mode === 'managed')
    mode.textContent = 'This gateway issues the keys. Its operator can create one for you.';
  else mode.textContent = 'The operator of this gateway knows which keys it accepts.';
}

/**
 * Tries the key before anything is shown. A backend without a list of models does not check the
 * key; the first request does.
 * @type {(entered: string) => Promise<void>}
 */
async function check(entered) {
  try {
    await createClient({ key: () => entered, onRefused: () => undefined }).get('models');
  } catch (error) {
    if (!(error instanceof Failure) || [0, 401, 403, 429].includes(error.status)) throw error;
  }
}

/** @returns {keyof typeof VIEWS} */
function wantedView() {
  const { view } = readRoute();
  return Object.hasOwn(VIEWS, view) ? /** @type {keyof typeof VIEWS} */ (view) : 'try';
}

async function showView() {
  const name = wantedView();
  hideViews();
  shown = name;
  for (const link of document.querySelectorAll('#views a')) {
    if (link.getAttribute('href') === `#/${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const title = byId(`${name}-title`, HTMLElement);
  document.title = `${title.textContent} – ${TITLE}`;
  loading.hidden = false;
  say(problem, null);
  try {
    const view = await VIEWS[name]();
    // Another one may be wanted by now.
    if (shown !== name || open !== undefined) return;
    open = view;
    byId(`view-${name}`, HTMLElement).hidden = false;
    // A screen reader starts at the beginning of a new view, as of a new page.
    title.focus();
    view.show();
  } catch (error) {
    if (shown === name)
      say(problem, 'This page could not be loaded. Is the gateway still running? Reload to try again.');
    throw error;
  } finally {
    if (shown === name) loading.hidden = true;
  }
}

function hideViews() {
  open?.hide();
  open = undefined;
  loading.hidden = true;
  for (const name of Object.keys(VIEWS)) byId(`view-${name}`, HTMLElement).hidden = true;
}

/** Keeps what was loaded, and tries again after a failure. @param {() => Promise<View>} load */
function lazily(load) {
  /** @type {Promise<View> | undefined} */
  let loaded;
  return () => {
    loaded ??= load().catch((/** @type {unknown} */ error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
