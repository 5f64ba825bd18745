/** Keeps the turns so far, which each request repeats: the gateway stores none. */

/** @import { CreateResponse, ResponseResource } from '../contract/types.ts' */

/** @typedef {Exclude<CreateResponse['input'], string>} Items */

/**
 * @typedef {object} Conversation
 * @property {Items} items
 * @property {number} turns A compaction keeps the number.
 * @property {boolean} isCompacted
 * @property {string | null} latestId null if no response ends it.
 * @property {() => void} clear
 * @property {(request: CreateResponse, response: ResponseResource) => void} add
 * @property {(items: Items) => void} replace
 * @property {(request: CreateResponse) => CreateResponse} continueWith
 *
 * @returns {Conversation}
 */
export function createConversation() {
  /** @type {Items} */
  let items = [];
  let turns = 0;
  let isCompacted = false;
  /** @type {string | null} */
  let latestId = null;

  return {
    get items() {
      return items;
    },
    get turns() {
      return turns;
    },
    get isCompacted() {
      return isCompacted;
    },
    get latestId() {
      return latestId;
    },
    clear() {
      items = [];
      turns = 0;
      isCompacted = false;
      latestId = null;
    },
    add({ input }, { id, output }) {
      items = /** @type {Items} */ ([...items, ...itemsOf(input), ...output]);
      turns += 1;
      latestId = id;
    },
    replace(others) {
      items = others;
      isCompacted = true;
      latestId = null;
    },
    continueWith: (request) => ({ ...request, input: [...items, ...itemsOf(request.input)] }),
  };
}

/** @type {(input: CreateResponse['input']) => Items} */
function itemsOf(input) {
  if (typeof input !== 'string') return input;
  return input.trim() === '' ? [] : [{ type: 'message', role: 'user', content: input }];
}
