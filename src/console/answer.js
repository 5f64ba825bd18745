/** Deltas fill the block of an output item, and the finished item replaces it. */

import { element } from './dom.js';

/** @import { OutputItem, ResponseEvent, ResponseResource } from '../contract/types.ts' */

/** @type {Readonly<Record<string, string>>} */
const TITLES = { reasoning: 'Reasoning', function_call: 'Function call', custom_tool_call: 'Tool call' };

/**
 * @typedef {{ readonly title: string, readonly text: string }} Block
 *
 * @typedef {object} Answer
 * @property {(said: string, continues: boolean) => void} begin Keeps the answer before
 *   if `continues`.
 * @property {(item: Block) => void} addBlock
 * @property {(event: ResponseEvent) => void} showEvent
 * @property {(response: ResponseResource) => void} showResponse For what was not streamed.
 * @property {() => void} end
 *
 * @param {HTMLElement} place
 * @returns {Answer}
 */
export function createAnswer(place) {
  /** @type {Map<string, { readonly block: HTMLElement, readonly text: Text }>} */
  const open = new Map();
  let saidFirst = '';

  /** @param {OutputItem} item */
  function addItem(item) {
    const text = document.createTextNode('');
    const block = itemBlock(item, element('p', { class: 'item-text' }, text));
    open.set(item.id, { block, text });
    place.append(block);
  }

  return {
    begin(said, continues) {
      // A screen reader reads the whole message when it is there.
      place.setAttribute('aria-busy', 'true');
      open.clear();
      if (continues) {
        // The form had the request of the first answer until now.
        if (saidFirst !== '') place.prepend(saidBlock(saidFirst));
        place.append(saidBlock(said));
      } else {
        place.replaceChildren();
      }
      saidFirst = continues ? '' : said;
    },
    addBlock(block) {
      place.append(titledBlock('note', block));
    },
    showEvent(event) {
      if (event.type === 'response.output_item.added') addItem(event.item);
      else if (event.type === 'response.output_item.done')
        open.get(event.item.id)?.block.replaceWith(doneBlock(event.item));
      else if ('delta' in event) open.get(event.item_id)?.text.appendData(event.delta);
    },
    end() {
      if (place.childElementCount === 0) place.append(element('p', { class: 'empty' }, 'There is no answer.'));
      place.setAttribute('aria-busy', 'false');
    },
    showResponse({ output }) {
      place.append(...output.map(doneBlock));
    },
  };
}

/**
 * @param {OutputItem} item
 * @param {...Node} content
 */
function itemBlock(item, ...content) {
  const title = TITLES[item.type] ?? (item.type === 'message' ? null : item.type);
  const name = 'name' in item ? `: ${item.name}` : '';
  const heading = title === null ? [] : [element('p', { class: 'item-title' }, title + name)];
  return element('div', { class: 'item', 'data-type': item.type }, ...heading, ...content);
}

/** @param {string} text */
function saidBlock(text) {
  return titledBlock('said', { title: 'You', text });
}

/**
 * @param {string} type
 * @param {Block} block
 */
function titledBlock(type, { title, text }) {
  return element(
    'div',
    { class: 'item', 'data-type': type },
    element('p', { class: 'item-title' }, title),
    paragraph(text),
  );
}

/** @param {OutputItem} item */
function doneBlock(item) {
  switch (item.type) {
    case 'message':
      return itemBlock(
        item,
        ...item.content.map((part) => paragraph(part.type === 'refusal' ? part.refusal : part.text)),
      );
    case 'reasoning':
      return itemBlock(item, ...[...item.summary, ...(item.content ?? [])].map((part) => paragraph(part.text)));
    case 'function_call':
      return itemBlock(item, code(indentJson(item.arguments)));
    case 'custom_tool_call':
      return itemBlock(item, code(item.input));
    default:
      return itemBlock(item, code(JSON.stringify(item, null, 2)));
  }
}

/** @param {string} text */
function paragraph(text) {
  return element('p', { class: 'item-text' }, text);
}

/** @param {string} text */
function code(text) {
  return element('pre', {}, text);
}

/** @param {string} text */
function indentJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
