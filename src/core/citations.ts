import type { UrlCitation } from '../types/contract.ts';
import type { Source } from './chunk.ts';

/** The markers `[1]`, `[2]`, … of a text as citations of the numbered sources (Perplexity sends only the list). */
export function citationsInText(text: string, sources: readonly Source[]): UrlCitation[] {
  if (sources.length === 0) return [];
  return [...text.matchAll(/\[(\d{1,3})\]/g)].flatMap((marker) => {
    const source = sources[Number(marker[1]) - 1];
    if (source === undefined || source.url === '') return [];
    const { url, title } = source;
    return [
      { type: 'url_citation', url, title, start_index: marker.index, end_index: marker.index + marker[0].length },
    ];
  });
}
