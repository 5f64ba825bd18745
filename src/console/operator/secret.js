import { copy, element } from '../dom.js';
import { openDialog } from './form.js';

/** @import { IssuedKey } from '../../contract/operator-types.ts' */

/** Shows the secret of a key, which no later page can. @type {(title: string, issued: IssuedKey) => void} */
export function showSecret(title, { name, secret }) {
  const code = element('code', { class: 'secret', tabindex: '0' }, secret);
  const copied = element('button', { type: 'button', class: 'primary' }, 'Copy');
  const done = element('button', { type: 'button' }, 'I have saved it');
  const dialog = openDialog(title, [
    element('p', {}, `This is the secret of “${name}”. It is shown only once: the gateway keeps just its HMAC.`),
    code,
    element('div', { class: 'actions' }, copied, done),
  ]);
  dialog.staysOpen = true;
  copied.focus();
  copied.addEventListener('click', () => void copySecret());
  done.addEventListener('click', dialog.close);

  async function copySecret() {
    copied.textContent = (await copy(code)) ? 'Copied' : 'Selected: copy it with Ctrl+C';
  }
}
