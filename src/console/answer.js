/** Deltas fill the block of an output item, and the finished item replaces it. */

import { element } from './dom.js';
import { createFollow } from './follow.js';
import { showChildren } from './redraw.js';

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
  /** @type {Map<string, { grow: (delta: string) => void, draw: () => void, end: (item: OutputItem) => void }>} */
  const open = new Map();
  let saidFirst = '';

  /** @param {OutputItem} item */
  function addItem(item) {
    const growing = item.type === 'message' ? growingMarkdown(follow) : growingText();
    const block = itemBlock(item, growing.node);
    open.set(item.id, {
      grow: (delta) => growing.grow(delta),
      draw: () => growing.draw(),
      // The block itself stays: somebody may have opened it, or have the focus in it.
      end(done) {
        growing.end();
        block.querySelector('summary')?.replaceChildren(...summaryOf(done));
        const [first, ...others] = contentOf(done, growing.node);
        if (first === growing.node) growing.node.after(...others);
        else growing.node.replaceWith(...(first === undefined ? [] : [first]), ...others);
      },
    });
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
      else if (event.type === 'response.output_item.done') open.get(event.item.id)?.end(event.item);
      else if ('delta' in event) open.get(event.item_id)?.grow(event.delta);
    },
    end() {
      // What has begun and never ended, as when the backend breaks off, is all that will come.
      for (const block of open.values()) block.draw();
      if (place.childElementCount === 0) place.append(element('p', { class: 'empty' }, 'There is no answer.'));
      place.setAttribute('aria-busy', 'false');
    },
    showResponse({ output }) {
      place.append(...output.map((item) => itemBlock(item, ...contentOf(item))));
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

/** Returns what a message has said so far, rendered once in a while. @param {() => void} follow */
function growingMarkdown(follow) {
  const node = paragraph('');
  let text = '';
  let isWaiting = false;

  /** Draws what has come since the last time. */
  function draw() {
    if (!isWaiting) return;
    isWaiting = false;
    const startMs = performance.now();
    follow();
    showText(node, text);
    nextMs = (performance.now() - startMs) / RENDER_SHARE;
  }

  let nextMs = 0;
  return {
    node,
    /** @param {string} delta */
    grow(delta) {
      text += delta;
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => requestAnimationFrame(draw), nextMs);
    },
    draw,
    /** Draws no more. */
    end() {
      isWaiting = false;
    },
  };
}

/** Returns what is shown as it comes. */
function growingText() {
  const text = document.createTextNode('');
  return {
    node: element('p', { class: 'item-text' }, text),
    grow: (/** @type {string} */ delta) => text.appendData(delta),
    draw: () => undefined,
    end: () => undefined,
  };
}

/** @type {(node: HTMLElement, text: string) => void} */
function showText(node, text) {
  node.className = markdown === null ? 'item-text' : 'markdown';
  if (markdown === null) node.replaceChildren(text);
  else showChildren(node, [...markdown.renderMarkdown(text).childNodes]);
}

/** @param {string} text Of a model, as Markdown as soon as that can be rendered. @param {HTMLElement} [node] */
function markdownBlock(text, node = paragraph('')) {
  showText(node, text);
  if (markdown === null) void loadMarkdown().then(() => showText(node, text));
  return node;
}

/** A message is open; thoughts and calls are folded. @param {OutputItem} item @param {...Node} content */
function itemBlock(item, ...content) {
  const attributes = { class: 'item', 'data-type': item.type };
  if (item.type === 'message') return element('div', attributes, ...content);
  return element('details', attributes, element('summary', {}, ...summaryOf(item)), ...content);
}

/** @type {(item: OutputItem) => readonly (Node | string)[]} */
function summaryOf(item) {
  const title = TITLES[item.type] ?? item.type;
  const name = 'name' in item ? `: ${item.name}` : '';
  const preview = previewOf(item);
  return [title + name, ...(preview === '' ? [] : [' ', element('span', { class: 'what' }, preview)])];
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

/** @param {string} type @param {Block} block */
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
 * @param {HTMLElement} [grown] What has shown the first part of a message so far.
 * @returns {readonly HTMLElement[]}
 */
function contentOf(item, grown) {
  switch (item.type) {
    case 'message':
      return item.content.map((part, at) =>
        part.type === 'refusal' ? paragraph(part.refusal) : markdownBlock(part.text, at === 0 ? grown : undefined),
      );
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
