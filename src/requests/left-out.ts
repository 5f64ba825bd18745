import type { Translation } from '../core/request/request.ts';
import type { Incoming } from './incoming.ts';

const LISTS: Readonly<Record<string, (translation: Translation) => readonly string[]>> = {
  'x-dropped-tools': ({ tools }) => tools.dropped,
  'x-dropped-items': ({ droppedItems }) => droppedItems,
};

/** Names what was left out in headers of the reply, and in the log line. */
export function nameLeftOut(reply: LeftOutReply, translation: Translation): void {
  for (const [header, namesOf] of Object.entries(LISTS)) {
    const list = toHeaderList(namesOf(translation));
    if (list === '') continue;
    reply.setHeader(header, list);
    reply.facts.leftOut = { ...reply.facts.leftOut, [header]: list };
  }
}

type LeftOutReply = Pick<Incoming, 'setHeader'> & { readonly facts: Pick<Incoming['facts'], 'leftOut'> };

/** Many clients accept at most 16 KiB of headers, and lose a reply with more. */
const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;
const MAX_LENGTH = 2048;

/** Replaces characters that a header may not have, because the names come from the request. */
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
