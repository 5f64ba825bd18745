/** Deltas fill the block of an output item, and the finished item replaces it. */

import { element } from './dom.js';
import { createFollow } from './follow.js';

/** @import { OutputItem, ResponseEvent, ResponseResource } from '../contract/types.ts' */

/** @type {Readonly<Record<string, string>>} */
const TITLES = { reasoning: 'Reasoning', function_call: 'Function call', custom_tool_call: 'Tool call' };
/** Rendering takes at most this part of the time, however long the answer is. */
const RENDER_SHARE = 0.2;
const PREVIEW_CHARACTERS = 80;

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
  const follow = createFollow(place);
  /** @type {Map<string, { readonly block: HTMLElement, readonly grow: (delta: string) => void }>} */
  const open = new Map();
  let saidFirst = '';

  /** @param {OutputItem} item */
  function addItem(item) {
    const growing = item.type === 'message' ? growingMarkdown(follow) : growingText();
    const block = itemBlock(item, growing.node);
    open.set(item.id, { block, grow: (delta) => growing.grow(delta) });
    place.append(block);
  }

  return {
    begin(said, continues) {
      void loadMarkdown();
      // A screen reader reads the whole message when it is there.
      place.setAttribute('aria-busy', 'true');
      open.clear();
      if (continues) {
        // The form had the request of the first answer until now.
        if (saidFirst !== '') place.prepend(saidBlock(saidFirst));
        place.append(saidBlock(said));
        place.scrollTop = place.scrollHeight;
      } else {
        place.replaceChildren();
      }
      saidFirst = continues ? '' : said;
    },
    addBlock(block) {
      place.append(titledBlock('note', block));
    },
    showEvent(event) {
      follow();
      if (event.type === 'response.output_item.added') addItem(event.item);
      else if (event.type === 'response.output_item.done') {
        const before = open.get(event.item.id)?.block;
        before?.replaceWith(doneBlock(event.item, before));
      } else if ('delta' in event) open.get(event.item_id)?.grow(event.delta);
    },
    end() {
      if (place.childElementCount === 0) place.append(element('p', { class: 'empty' }, 'There is no answer.'));
      place.setAttribute('aria-busy', 'false');
    },
    showResponse({ output }) {
      place.append(...output.map((item) => doneBlock(item)));
    },
  };
}

/** @typedef {typeof import('./markdown.js')} Markdown */

/** @type {Markdown | null} null until it is loaded: the text is plain until then. */
let markdown = null;

async function loadMarkdown() {
  try {
    markdown ??= await import('./markdown.js');
  } catch {
    // Plain text can be read too, and the next answer tries again.
  }
  return markdown;
}

/**
 * Returns what a message has said so far, rendered once in a while.
 *
 * @param {() => void} follow
 */
function growingMarkdown(follow) {
  const node = paragraph('');
  let text = '';
  let isWaiting = false;

  function render() {
    isWaiting = false;
    const startMs = performance.now();
    follow();
    showText(node, text);
    return (performance.now() - startMs) / RENDER_SHARE;
  }

  let nextMs = 0;
  return {
    node,
    /** @param {string} delta */
    grow(delta) {
      text += delta;
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => requestAnimationFrame(() => (nextMs = render())), nextMs);
    },
  };
}

/** Returns what is shown as it comes. */
function growingText() {
  const text = document.createTextNode('');
  return {
    node: element('p', { class: 'item-text' }, text),
    grow: (/** @type {string} */ delta) => text.appendData(delta),
  };
}

/**
 * @param {HTMLElement} node
 * @param {string} text
 */
function showText(node, text) {
  node.className = markdown === null ? 'item-text' : 'markdown';
  node.replaceChildren(markdown === null ? text : markdown.renderMarkdown(text));
}

/** @param {string} text Of a model, as Markdown as soon as that can be rendered. */
function markdownBlock(text) {
  const node = paragraph('');
  showText(node, text);
  if (markdown === null) void loadMarkdown().then(() => showText(node, text));
  return node;
}

/**
 * A message is open; thoughts and calls are folded.
 *
 * @param {OutputItem} item
 * @param {...Node} content
 */
function itemBlock(item, ...content) {
  const attributes = { class: 'item', 'data-type': item.type };
  if (item.type === 'message') return element('div', attributes, ...content);
  const title = TITLES[item.type] ?? item.type;
  const name = 'name' in item ? `: ${item.name}` : '';
  const preview = previewOf(item);
  const what = preview === '' ? [] : [' ', element('span', { class: 'what' }, preview)];
  return element('details', attributes, element('summary', {}, title + name, ...what), ...content);
}

/** @param {OutputItem} item */
function previewOf(item) {
  const text = 'arguments' in item ? item.arguments : 'input' in item ? item.input : '';
  const whole = typeof text === 'string' ? text.replaceAll(/\s+/g, ' ') : '';
  return whole.length > PREVIEW_CHARACTERS ? `${whole.slice(0, PREVIEW_CHARACTERS)} …` : whole;
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

/**
 * @param {OutputItem} item
 * @param {HTMLElement} [before] Whoever has opened it still sees what is in it.
 */
function doneBlock(item, before) {
  const block = itemBlock(item, ...contentOf(item));
  if (before instanceof HTMLDetailsElement && block instanceof HTMLDetailsElement) block.open = before.open;
  return block;
}

/** @param {OutputItem} item */
function contentOf(item) {
  switch (item.type) {
    case 'message':
      return item.content.map((part) => (part.type === 'refusal' ? paragraph(part.refusal) : markdownBlock(part.text)));
    case 'reasoning':
      return [...item.summary, ...(item.content ?? [])].map((part) => paragraph(part.text));
    case 'function_call':
      return [code(indentJson(item.arguments))];
    case 'custom_tool_call':
      return [code(item.input)];
    default:
      return [code(JSON.stringify(item, null, 2))];
  }
}

/** @param {string} text */
function paragraph(text) {
  return element('div', { class: 'item-text' }, text);
}

/** @param {string} text */
function code(text) {
  return element('pre', { tabindex: '0' }, text);
}

/** @param {string} text */
function indentJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
