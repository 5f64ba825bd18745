import { isAbort, toFailure } from './client.js';
import { byId, element, say } from './dom.js';
import { formatCount } from './format.js';

/** @import { Client } from './client.js' */
/** @import { ConsoleConfig } from './main.js' */

/**
 * @typedef {object} Model
 * @property {string} id
 * @property {unknown} [context_window]
 * @property {unknown} [input_modalities]
 * @property {unknown} [reasoning_efforts]
 * @property {unknown} [refused_fields]
 */

/** The user can type the models after these. */
const MAX_MODELS = 1000;
const OTHER = '';

/**
 * Offers the models of the backend, the recommended one first. The user can type any other, even
 * without a list.
 * @param {{ client: Client, config: ConsoleConfig }} context
 */
export function createModelField({ client, config }) {
  const select = byId('try-model', HTMLSelectElement);
  const other = byId('try-other', HTMLInputElement);
  const otherField = byId('try-other-field', HTMLElement);
  const note = byId('try-model-note', HTMLElement);
  /** @type {ReadonlyMap<string, Model>} */
  let models = new Map();
  /** Whether the user has chosen to type a name. */
  let isOther = false;

  function showChosen() {
    otherField.hidden = select.value !== OTHER;
    const model = models.get(select.value);
    say(note, (model && describe(model)) || null);
  }

  function offer() {
    const chosen = select.value;
    const names = [...new Set([...(config.default_model === null ? [] : [config.default_model]), ...models.keys()])];
    const options = names.slice(0, MAX_MODELS).map((name) => element('option', { value: name }, labelOf(name)));
    select.replaceChildren(...options, element('option', { value: OTHER }, 'Another model …'));
    const isTyped = chosen === OTHER && (isOther || other.value !== '' || document.activeElement === other);
    select.value = isTyped || names.includes(chosen) ? chosen : (names[0] ?? OTHER);
    showChosen();
  }

  /** @param {string} name */
  function labelOf(name) {
    return name === config.default_model ? `${name} (recommended)` : name;
  }

  // The focus stays: the arrow keys choose one option after the other.
  select.addEventListener('change', () => {
    isOther = select.value === OTHER;
    showChosen();
  });
  offer();

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
        const list = /** @type {{ data?: readonly Model[] }} */ (await client.get('models'));
        const named = (list.data ?? []).filter(({ id }) => typeof id === 'string' && id !== '');
        models = new Map(named.map((model) => [model.id, model]));
        offer();
      } catch (error) {
        if (isAbort(error)) return;
        say(note, `There is no list of models: ${toFailure(error).sentence}`);
      } finally {
        select.setAttribute('aria-busy', 'false');
      }
    },
  };
}

/**
 * @param {Model} model
 * @returns {string} `Context window 40,960. Takes text, image. Efforts low, high.`, as far as it is known
 */
function describe({
  context_window: tokens,
  input_modalities: kinds,
  reasoning_efforts: efforts,
  refused_fields: refused,
}) {
  const parts = [
    typeof tokens === 'number' && `Context window ${formatCount(tokens)}.`,
    Array.isArray(kinds) && `Takes ${kinds.join(', ')}.`,
    Array.isArray(efforts) && `Efforts ${efforts.join(', ')}.`,
    Array.isArray(refused) && `Left out, since the backend refuses it: ${refused.join(', ')}.`,
  ];
  return parts.filter((part) => part !== false).join(' ');
}
