import { element } from './dom.js';

/**
 * Fills a tab list with the usual keys: arrows, Home and End.
 * @param {object} options
 * @param {HTMLElement} options.list
 * @param {HTMLElement} options.panel
 * @param {readonly { readonly id: string, readonly label: string }[]} options.tabs
 * @param {(id: string) => void} options.onChoose Called for the first of them at once.
 */
export function createTabs({ list, panel, tabs, onChoose }) {
  const buttons = tabs.map(({ id, label }) =>
    element('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': panel.id }, label),
  );

  /** @param {number} at */
  function choose(at) {
    buttons.forEach((button, index) => {
      button.setAttribute('aria-selected', String(index === at));
      button.tabIndex = index === at ? 0 : -1;
    });
    const tab = tabs[at];
    if (tab === undefined) return;
    panel.setAttribute('aria-labelledby', `tab-${tab.id}`);
    onChoose(tab.id);
  }

  buttons.forEach((button, index) => button.addEventListener('click', () => choose(index)));
  list.addEventListener('keydown', (event) => {
    const at = buttons.findIndex((button) => button === document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const index = (next + buttons.length) % buttons.length;
    choose(index);
    buttons[index]?.focus();
  });
  list.replaceChildren(...buttons);
  choose(0);
}
