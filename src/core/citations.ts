import type { UrlCitation } from '../types/contract.ts';
import type { Source } from './chunk.ts';

/** The markers `[1]`, `[2]`, … of a text as citations of the numbered sources (Perplexity sends only the list), one by one. */
export function* citationsInText(text: string, sources: readonly Source[]): Generator<UrlCitation> {
  if (sources.length === 0) return;
  for (const marker of text.matchAll(/\[(\d{1,3})\]/g)) {
    const source = sources[Number(marker[1]) - 1];
    if (source === undefined || source.url === '') continue;
    const { url, title } = source;
    yield { type: 'url_citation', url, title, start_index: marker.index, end_index: marker.index + marker[0].length };
  }
}
