import { toFailure } from '../client.js';
import { element, say, sayProblem } from '../dom.js';

/** @import { Suggest } from './suggest.js' */

export const TYPING_MS = 300;

/**
 * @typedef {object} Field
 * @property {string} name The name in the body of the request, `limits.spend_per_day` for a nested one.
 * @property {string} label
 * @property {'text' | 'number' | 'time' | 'lines' | 'choice'} [kind]
 * @property {string} [hint]
 * @property {readonly (readonly [value: string, label: string])[]} [options] Of a choice.
 * @property {Suggest} [suggest]
 * @property {string} [fold] The heading of the fields that stand together with it, out of sight until they are wanted.
 *
 * @typedef {Readonly<Record<string, string>>} Values By the names of the fields.
 */

let fieldCount = 0;

/** Returns a field with its label, and a place for what is wrong with it. @param {Field} field @param {string} value */
export function createField({ name, label, kind = 'text', hint, options = [], suggest }, value) {
  const id = `field-${++fieldCount}`;
  const input = createInput(kind, options);
  const problem = element('p', { class: 'problem', id: `${id}-problem` });
  const about = element('p', { class: 'muted small', id: `${id}-hint` }, hint ?? '');
  problem.hidden = true;
  about.hidden = hint === undefined;
  input.id = id;
  input.name = name;
  input.setAttribute('aria-describedby', `${problem.id} ${about.id}`);
  input.value = value;
  const list = element('datalist', { id: `${id}-list` });
  if (suggest !== undefined) {
    let typing = 0;
    const offer = async () => {
      const names = await suggest(input.value.trim());
      list.replaceChildren(...names.map((each) => element('option', { value: each })));
    };
    input.setAttribute('list', list.id);
    input.addEventListener('focus', () => void offer());
    input.addEventListener('input', () => {
      clearTimeout(typing);
      typing = setTimeout(() => void offer(), TYPING_MS);
    });
  }
  const place = element('div', { class: 'field' }, element('label', { for: id }, label), input, problem, about, list);
  return { place, input, setProblem: (/** @type {string | null} */ text) => sayProblem(input, problem, text) };
}

/**
 * @param {NonNullable<Field['kind']>} kind
 * @param {NonNullable<Field['options']>} options
 * @returns {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement}
 */
function createInput(kind, options) {
  const plain = { spellcheck: 'false', autocapitalize: 'off' };
  switch (kind) {
    case 'choice':
      return element('select', {}, ...options.map(([value, label]) => element('option', { value }, label)));
    case 'lines':
      return element('textarea', { rows: '3', ...plain });
    case 'time':
      return element('input', { type: 'datetime-local', step: '1' });
    case 'number':
      return element('input', { inputmode: 'decimal', ...plain });
    case 'text':
      return element('input', plain);
  }
}

/**
 * Asks in a dialog. It stays open with the reason when the gateway refuses.
 * @param {object} options
 * @param {string} options.title
 * @param {readonly (Node | string)[]} [options.text]
 * @param {readonly Field[]} [options.fields]
 * @param {Values} [options.values]
 * @param {string} options.submit
 * @param {'primary' | 'danger'} [options.style] Of the button that submits.
 * @param {(values: Values) => Promise<void | (() => void)>} options.send Throws the Failure to show. Returns what
 *   comes after the dialog.
 * @param {(values: Values) => { readonly name: string, readonly problem: string } | null} [options.check]
 */
export function openForm(options) {
  const { title, text = [], fields = [], values = {}, submit, style = 'primary', send, check = () => null } = options;
  const made = fields.map((field) => ({ name: field.name, ...createField(field, values[field.name] ?? '') }));
  const problem = element('p', { class: 'notice bad', role: 'alert' });
  const ok = element('button', { type: 'submit', class: style }, submit);
  const cancel = element('button', { type: 'button' }, 'Cancel');
  const form = element(
    'form',
    { class: 'fields', autocomplete: 'off', novalidate: '' },
    ...text.map((part) => element('p', {}, part)),
    ...fields.flatMap(({ fold }, at) => (fold === undefined ? (made[at]?.place ?? []) : [])),
    ...folded(),
    problem,
    element('div', { class: 'actions' }, ok, cancel),
  );
  const dialog = openDialog(title, [form]);
  problem.hidden = true;
  made[0]?.input.focus();

  function folded() {
    const within = fields.flatMap(({ fold, name }, at) => (fold === undefined ? [] : [{ fold, name, made: made[at] }]));
    const [first] = within;
    if (first === undefined) return [];
    const grid = element('div', { class: 'pairs' }, ...within.flatMap((each) => each.made?.place ?? []));
    const details = element('details', {}, element('summary', {}, first.fold), grid);
    // Whoever changes something sees what there is.
    details.open = within.some(({ name }) => values[name] !== undefined);
    return [details];
  }

  async function trySending() {
    const given = Object.fromEntries(made.map(({ name, input }) => [name, input.value.trim()]));
    for (const field of made) field.setProblem(null);
    say(problem, null);
    const wrong = check(given);
    if (wrong !== null) return showProblem(wrong.name, wrong.problem);
    setSending(true);
    try {
      const next = await send(given);
      dialog.close();
      next?.();
    } catch (thrown) {
      const failure = toFailure(thrown);
      setSending(false);
      showProblem(failure.param, failure.sentence);
    }
  }

  /** @param {boolean} isSending Then nobody can close it, who would not hear how it ends. */
  function setSending(isSending) {
    dialog.staysOpen = isSending;
    cancel.disabled = isSending;
    ok.disabled = isSending;
    ok.textContent = isSending ? 'One moment …' : submit;
    // A disabled button has lost the focus.
    if (document.activeElement === document.body) ok.focus();
  }

  /** @param {string} name @param {string} text */
  function showProblem(name, text) {
    const field = made.find((each) => name === each.name || name.startsWith(`${each.name}[`));
    if (field === undefined) return say(problem, text);
    field.setProblem(text);
    const hidden = field.place.closest('details');
    if (hidden !== null) hidden.open = true;
    field.input.focus();
  }

  cancel.addEventListener('click', dialog.close);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void trySending();
  });
}

let dialogCount = 0;

/**
 * Opens a dialog, which is gone once it is closed, or the page shows something else.
 * @param {string} title
 * @param {readonly Node[]} content
 * @returns {{ close: () => void, staysOpen: boolean }} The Escape key does not close it while it `staysOpen`.
 */
export function openDialog(title, content) {
  const opened = { close: () => dialog.close(), staysOpen: false };
  const heading = element('h2', { id: `dialog-${++dialogCount}` }, title);
  const dialog = element('dialog', { 'aria-labelledby': heading.id, class: 'asks' }, heading, ...content);
  const leave = () => opened.staysOpen || dialog.close();
  addEventListener('hashchange', leave);
  dialog.addEventListener('close', () => {
    removeEventListener('hashchange', leave);
    dialog.remove();
  });
  dialog.addEventListener('keydown', (event) => {
    if (opened.staysOpen && event.key === 'Escape') event.preventDefault();
  });
  document.body.append(dialog);
  dialog.showModal();
  return opened;
}
