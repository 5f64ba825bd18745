import { isAbort, toFailure } from './client.js';
import { byId, element, say } from './dom.js';

/** @import { Client } from './client.js' */
/** @import { ConsoleConfig } from './main.js' */

/** The user can type the models after these. */
const MAX_MODELS = 1000;
const OTHER = '';

/**
 * Offers the models of the backend, the recommended one first. The user can type any other, even
 * without a list.
 *
 * @param {{ client: Client, config: ConsoleConfig }} context
 */
export function createModelField({ client, config }) {
  const select = byId('try-model', HTMLSelectElement);
  const other = byId('try-other', HTMLInputElement);
  const otherField = byId('try-other-field', HTMLElement);
  const note = byId('try-model-note', HTMLElement);

  function showOther() {
    otherField.hidden = select.value !== OTHER;
  }

  /** @param {readonly string[]} models */
  function offer(models) {
    const chosen = select.value;
    const names = [...new Set([...(config.default_model === null ? [] : [config.default_model]), ...models])];
    const options = names.slice(0, MAX_MODELS).map((name) => element('option', { value: name }, labelOf(name)));
    select.replaceChildren(...options, element('option', { value: OTHER }, 'Another model …'));
    const isTyped = chosen === OTHER && other.value !== '';
    select.value = isTyped || names.includes(chosen) ? chosen : (names[0] ?? OTHER);
    showOther();
  }

  /** @param {string} name */
  function labelOf(name) {
    return name === config.default_model ? `${name} (recommended)` : name;
  }

  select.addEventListener('change', () => {
    showOther();
    if (select.value === OTHER) other.focus();
  });
  offer([]);

  return {
    get value() {
      return select.value === OTHER ? other.value : select.value;
    },
    get field() {
      return select.value === OTHER ? other : select;
    },
    async load() {
      select.setAttribute('aria-busy', 'true');
      try {
        const list = /** @type {{ data?: readonly { id?: unknown }[] }} */ (await client.get('models'));
        offer((list.data ?? []).flatMap(({ id }) => (typeof id === 'string' && id !== '' ? [id] : [])));
        say(note, null);
      } catch (error) {
        if (isAbort(error)) return;
        say(note, `There is no list of models: ${toFailure(error).sentence}`);
      } finally {
        select.setAttribute('aria-busy', 'false');
      }
    },
  };
}
