import { toFailure } from './client.js';
import { byId, sayProblem } from './dom.js';

/** @import { Failure } from './client.js' */

const TITLE = document.title;

/**
 * Asks for a key or a token with the form of the page, and keeps it for this tab.
 * @param {object} options
 * @param {string} options.storedAs
 * @param {string} options.name What people call it.
 * @param {(entered: string) => Promise<void>} options.check Throws the Failure that refuses it.
 * @param {() => void} options.open Shows the views.
 * @param {() => void} options.close Hides them.
 */
export function createSession({ storedAs, name, check, open, close }) {
  const form = byId('key-form', HTMLFormElement);
  const input = byId('key-input', HTMLInputElement);
  const error = byId('key-error', HTMLElement);
  const submit = byId('key-submit', HTMLButtonElement);
  let secret = sessionStorage.getItem(storedAs) ?? '';

  /** @param {string} entered */
  function keep(entered) {
    secret = entered;
    if (secret === '') sessionStorage.removeItem(storedAs);
    else sessionStorage.setItem(storedAs, secret);
  }

  /** @param {boolean} isOpen */
  function showForm(isOpen) {
    byId('view-key', HTMLElement).hidden = isOpen;
    for (const id of ['views', 'session']) byId(id, HTMLElement).hidden = !isOpen;
  }

  /** @param {string | null} problem */
  function ask(problem) {
    close();
    showForm(false);
    document.title = `${byId('key-title', HTMLElement).textContent} – ${TITLE}`;
    sayProblem(input, error, problem);
    input.focus();
  }

  function enterViews() {
    byId('key-end', HTMLElement).textContent = `…${secret.slice(-4)}`;
    showForm(true);
    open();
  }

  /** @param {string} entered */
  async function enter(entered) {
    if (!/^[\x21-\x7e]+$/.test(entered)) {
      return ask(entered === '' ? `Enter a ${name}.` : `A ${name} has no spaces and no special characters.`);
    }
    submit.disabled = true;
    submit.textContent = 'Checking …';
    try {
      await check(entered);
      keep(entered);
      input.value = '';
      enterViews();
    } catch (thrown) {
      ask(toFailure(thrown).sentence);
    } finally {
      submit.disabled = false;
      submit.textContent = 'Continue';
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void enter(input.value.trim());
  });
  byId('forget', HTMLButtonElement).addEventListener('click', () => {
    keep('');
    // Loads the page again, so that the secret and the data leave the memory.
    history.replaceState(null, '', location.pathname);
    location.reload();
  });

  return {
    secret: () => secret,
    get isOpen() {
      return secret !== '';
    },
    begin() {
      if (secret === '') ask(null);
      else enterViews();
    },
    refuse: (/** @type {Failure} */ failure) => {
      keep('');
      ask(failure.sentence);
    },
  };
}
