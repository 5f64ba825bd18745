import type { UrlCitation } from '../../contract/types.ts';
import type { Source } from './chunk.ts';
import { DETAIL_WEIGHT, type EventLog } from './event-log.ts';

export interface Citations {
  add(citation: UrlCitation): void;
  /** Sets what `[1]`, `[2]`, … in the text refer to. Perplexity repeats it in every chunk. */
  setSources(sources: readonly Source[]): void;
  take(text: string): readonly UrlCitation[];
}

/** Each citation counts towards the limit of the log, which throws ApiError above it. */
export function createCitations(log: Pick<EventLog, 'grow'>): Citations {
  let citations: UrlCitation[] = [];
  let sources: readonly Source[] = [];

  function add(citation: UrlCitation): void {
    log.grow(citation.url.length + citation.title.length + DETAIL_WEIGHT);
    citations.push(citation);
  }

  return {
    add,
    setSources(given) {
      sources = given;
    },
    take(text) {
      for (const citation of citationsInText(text, sources)) add(citation);
      const taken = citations;
      citations = [];
      return taken;
    },
  };
}

function* citationsInText(text: string, sources: readonly Source[]): Generator<UrlCitation> {
  if (sources.length === 0) return;
  for (const marker of text.matchAll(/\[(\d{1,3})\]/g)) {
    const source = sources[Number(marker[1]) - 1];
    if (source === undefined || source.url === '') continue;
    const { url, title } = source;
    yield { type: 'url_citation', url, title, start_index: marker.index, end_index: marker.index + marker[0].length };
  }
}
