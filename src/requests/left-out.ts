/** How a caller hears of what was left out of its request. */

import type { Translation } from '../core/request/request.ts';
import type { Incoming } from './incoming.ts';

const LISTS: Readonly<Record<string, (translation: Translation) => readonly string[]>> = {
  'x-dropped-tools': ({ tools }) => tools.dropped,
  'x-dropped-items': ({ droppedItems }) => droppedItems,
};

/** Names it in headers of the reply, and in the log line: over a WebSocket nothing else has a place for it. */
export function tellLeftOut(incoming: Told, translation: Translation): void {
  for (const [header, namesOf] of Object.entries(LISTS)) {
    const list = toHeaderList(namesOf(translation));
    if (list === '') continue;
    incoming.setHeader(header, list);
    incoming.facts.leftOut = { ...incoming.facts.leftOut, [header]: list };
  }
}

type Told = Pick<Incoming, 'setHeader'> & { readonly facts: Pick<Incoming['facts'], 'leftOut'> };

/** Clients take 16 KiB of headers, or less, and lose the reply with any more. */
const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;
const MAX_LENGTH = 2048;

/** The names come from the request, and a header takes less than a JSON string does. */
export function toHeaderList(names: readonly string[]): string {
  const listed = new Set<string>();
  let list = '';
  for (const name of names) {
    const shown = name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.:-]/g, '_');
    if (listed.has(shown)) continue;
    const longer = list === '' ? shown : `${list}, ${shown}`;
    if (listed.size === MAX_NAMES || longer.length > MAX_LENGTH) break;
    listed.add(shown);
    list = longer;
  }
  return list;
}
