import { byId, copy } from './dom.js';
import { SNIPPETS } from './snippets.js';
import { createTabs } from './tabs.js';

/** @import { CreateResponse } from '../contract/types.ts' */
/** @import { ConsoleConfig } from './main.js' */

/** @type {(config: ConsoleConfig) => (request: CreateResponse, shown: { continues: boolean }) => void} */
export function createCodePanel(config) {
  const panel = byId('code-panel', HTMLElement);
  const scope = byId('code-scope', HTMLElement);
  const note = byId('code-note', HTMLElement);
  const root = config.base_url ?? new URL('..', document.baseURI).href.replace(/\/$/, '');
  /** @type {CreateResponse} */
  let request = { model: '', input: '' };
  let snippet = SNIPPETS[0];

  function show() {
    panel.textContent = snippet?.write(request, `${root}/api/v1`) ?? '';
    note.textContent = '';
  }

  async function copyCode() {
    note.textContent = (await copy(panel)) ? 'Copied.' : 'Selected; press Ctrl+C or ⌘C.';
  }

  createTabs({
    list: byId('code-tabs', HTMLElement),
    panel,
    tabs: SNIPPETS,
    onChoose(id) {
      snippet = SNIPPETS.find((one) => one.id === id);
      show();
    },
  });
  byId('code-copy', HTMLButtonElement).addEventListener('click', () => {
    void copyCode();
  });
  return (other, { continues }) => {
    request = other;
    scope.hidden = !continues;
    show();
  };
}
