import { createClient, Failure } from './client.js';
import { byId, sayProblem } from './dom.js';
import { createRequestsView } from './requests-view.js';
import { createTryView } from './try-view.js';
import { createUsageView } from './usage-view.js';

/**
 * @typedef {object} ConsoleConfig
 * @property {string} version
 * @property {string} auth_mode
 * @property {boolean} demo
 * @property {string | null} default_model
 * @property {string | null} base_url
 *
 * @typedef {object} View
 * @property {() => void} show
 * @property {() => void} hide
 */

const KEY = 'responses-gateway.key';
const TITLE = document.title;

const main = byId('main', HTMLElement);
const keyForm = byId('key-form', HTMLFormElement);
const keyInput = byId('key-input', HTMLInputElement);
const keyError = byId('key-error', HTMLElement);

/** Empty while the page asks for a key. */
let shown = '';
let key = sessionStorage.getItem(KEY) ?? '';

byId('skip', HTMLAnchorElement).addEventListener('click', (event) => {
  // The address names the view, so it must not change.
  event.preventDefault();
  main.focus();
});
keyForm.addEventListener('submit', (event) => {
  event.preventDefault();
  void enter(keyInput.value.trim());
});
byId('forget', HTMLButtonElement).addEventListener('click', () => forget());

addEventListener('hashchange', () => key !== '' && showView());

const config = await loadConfig();
const client = createClient({
  key: () => key,
  onRefused(failure) {
    setKey('');
    askForKey(failure.sentence);
  },
});
const context = { client, config };
const takesAnyKey = config.demo && config.auth_mode === 'passthrough';
/** @type {Readonly<Record<string, View>>} */
const views = {
  try: createTryView(context),
  requests: createRequestsView(context),
  usage: createUsageView(context),
};
byId('version', HTMLElement).textContent = config.version;
if (key === '') askForKey(null);
else open();

/** Without it the page works, but has no hints. */
async function loadConfig() {
  /** @type {ConsoleConfig} */
  const unknown = { version: '', auth_mode: '', demo: false, default_model: null, base_url: null };
  try {
    const response = await fetch('config.json', { cache: 'no-store' });
    return /** @type {ConsoleConfig} */ (await response.json());
  } catch {
    return unknown;
  }
}

/** @param {string | null} problem */
function askForKey(problem) {
  views[shown]?.hide();
  shown = '';
  for (const id of ['views', 'session', 'view-try', 'view-requests', 'view-usage']) byId(id, HTMLElement).hidden = true;
  byId('key-mode', HTMLElement).textContent = describeKeys();
  if (takesAnyKey) keyInput.value = 'demo';
  byId('view-key', HTMLElement).hidden = false;
  document.title = `Key – ${TITLE}`;
  sayProblem(keyInput, keyError, problem);
  keyInput.focus();
}

function describeKeys() {
  if (takesAnyKey) return 'The embedded demo backend answers here, and takes any key.';
  if (config.auth_mode === 'passthrough')
    return 'The backend behind this gateway checks it, so use a key of the backend.';
  if (config.auth_mode === 'managed') return 'This gateway issues the keys. Its operator can make one for you.';
  return 'The operator of this gateway knows which keys it takes.';
}

/**
 * Tries the key before anything is shown. A backend without a list of models does not check the
 * key; the first request does.
 *
 * @param {string} entered
 */
async function enter(entered) {
  if (!/^[\x21-\x7e]+$/.test(entered)) {
    sayProblem(keyInput, keyError, entered === '' ? 'Enter a key.' : 'A key has no spaces and no special characters.');
    keyInput.focus();
    return;
  }
  try {
    await createClient({ key: () => entered, onRefused: () => undefined }).get('models');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if ([0, 401, 403, 429].includes(error.status)) {
      sayProblem(keyInput, keyError, error.sentence);
      keyInput.focus();
      return;
    }
  }
  setKey(entered);
  keyInput.value = '';
  open();
}

/** @param {string} entered */
function setKey(entered) {
  key = entered;
  if (key === '') sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, key);
}

function open() {
  byId('key-end', HTMLElement).textContent = `…${key.slice(-4)}`;
  byId('view-key', HTMLElement).hidden = true;
  for (const id of ['views', 'session']) byId(id, HTMLElement).hidden = false;
  showView();
}

function showView() {
  const wanted = location.hash.replace('#/', '');
  const name = Object.hasOwn(views, wanted) ? wanted : 'try';
  views[shown]?.hide();
  for (const other of Object.keys(views)) byId(`view-${other}`, HTMLElement).hidden = other !== name;
  for (const link of document.querySelectorAll('#views a')) {
    if (link.getAttribute('href') === `#/${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const title = byId(`${name}-title`, HTMLElement);
  document.title = `${title.textContent} – ${TITLE}`;
  // A screen reader starts at the beginning of a new view, as of a new page.
  title.focus();
  shown = name;
  views[name]?.show();
}

/** Loads the page again, so that the key and the data leave the memory. */
function forget() {
  setKey('');
  history.replaceState(null, '', location.pathname);
  location.reload();
}
