import type { UrlCitation } from '../../contract/types.ts';
import type { Source } from './chunk.ts';
import type { EventLog } from './event-log.ts';

export interface Citations {
  add(citation: UrlCitation): void;
  /** Sets what `[1]`, `[2]`, … in the text refer to. Perplexity repeats it in every chunk. */
  setSources(sources: readonly Source[]): void;
  take(text: string): readonly UrlCitation[];
}

/** Those of one part. More are left out. */
const MAX_CITATIONS = 1000;
/** The weight of a citation without its text. Each has an event of its own. */
const CITATION_WEIGHT = 1024;

/** Each citation counts towards the limit of the log, which throws ApiError above it. */
export function createCitations(log: Pick<EventLog, 'grow'>): Citations {
  let citations: UrlCitation[] = [];
  let sources: readonly Source[] = [];

  function add(citation: UrlCitation): void {
    if (citations.length === MAX_CITATIONS) return;
    log.grow(citation.url.length + citation.title.length + CITATION_WEIGHT);
    citations.push(citation);
  }

  return {
    add,
    setSources(given) {
      sources = given;
    },
    take(text) {
      for (const citation of citationsInText(text, sources)) {
        if (citations.length === MAX_CITATIONS) break;
        add(citation);
      }
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
