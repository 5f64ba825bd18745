import { byId, element, showFacts } from './dom.js';
import { formatInput, formatMs, formatOutput } from './format.js';
import { toHref } from './route.js';

/** @import { ResponseEvent, ResponseResource } from '../contract/types.ts' */

/** A speed over a shorter time means nothing. */
const MIN_SPEED_S = 0.25;

/** @type {readonly (readonly [string, string])[]} */
const LEFT_OUT = [
  ['x-dropped-tools', 'Tools left out'],
  ['x-dropped-items', 'Items left out'],
  ['x-ignored-parameters', 'Parameters ignored'],
];

/** Measures and counts one request while it runs. */
export function createRunFacts() {
  const list = byId('try-facts', HTMLElement);
  /** @type {Map<string, string | Node>} */
  const facts = new Map();
  let firstDeltaMs = NaN;
  const show = () => showFacts(list, [...facts]);
  show();

  return {
    /** @param {Response} reply @param {number} atMs */
    reply({ headers }, atMs) {
      const id = headers.get('x-request-id');
      facts.set('Request', id === null ? 'unknown' : linkTo(id));
      facts.set('Headers after', formatMs(atMs));
      for (const [header, name] of LEFT_OUT) {
        const types = headers.get(header);
        if (types !== null) facts.set(name, types);
      }
      show();
    },
    /** @param {ResponseEvent} event @param {number} atMs */
    event(event, atMs) {
      // Over a WebSocket only this event names it.
      if (event.type === 'response.created') facts.set('Request', linkTo(event.response.id.replace('resp_', 'req_')));
      if (!('delta' in event) || !Number.isNaN(firstDeltaMs)) return;
      firstDeltaMs = atMs;
      facts.set('First delta after', formatMs(atMs));
      show();
    },
    /** @param {ResponseResource} response @param {number} atMs */
    end({ usage }, atMs) {
      if (usage !== null) {
        facts.set('Input tokens', formatInput(usage));
        facts.set('Output tokens', formatOutput(usage));
        const seconds = (atMs - firstDeltaMs) / 1000;
        if (seconds > MIN_SPEED_S && usage.output_tokens > 1)
          facts.set('Speed', `${(usage.output_tokens / seconds).toFixed(1)} tokens/s`);
      }
      show();
    },
  };
}

/** @param {string} id */
function linkTo(id) {
  return element('a', { href: toHref('requests', id) }, id);
}
