/** What servers and proxies do to the bytes of an event stream. */

export interface WireOddity {
  readonly name: string;
  readonly source: string;
  /** Where the text is cut into reads, in bytes; a read is whole without it. */
  readonly segment?: number;
  /** Takes a stream as `toSse` writes it, with its `[DONE]`. */
  readonly apply: (sse: string) => string;
}

const STANDARD = 'html.spec.whatwg.org/multipage/server-sent-events.html';

export const WIRES: readonly WireOddity[] = [
  { name: 'lines that end with CRLF', source: 'miruamel/xuan#194', apply: (sse) => sse.replaceAll('\n', '\r\n') },
  { name: 'lines that end with CR', source: STANDARD, apply: (sse) => sse.replaceAll('\n', '\r') },
  { name: 'a byte order mark', source: STANDARD, apply: (sse) => `\uFEFF${sse}` },
  {
    name: 'a comment before each event',
    source: 'mnfst/llm-gateway#2053',
    apply: (sse) => sse.replaceAll('data: ', ': OPENROUTER PROCESSING\n\ndata: '),
  },
  {
    name: 'a comment within each event',
    source: STANDARD,
    apply: (sse) => sse.replaceAll('data: ', ': ping\ndata: '),
  },
  { name: 'many empty lines', source: STANDARD, apply: (sse) => `\n\n\n${sse.replaceAll('\n\n', '\n\n\n\n\n')}` },
  {
    name: 'no space after data:',
    source: 'tashfeenahmed/freellmapi#1087',
    apply: (sse) => sse.replaceAll('data: ', 'data:'),
  },
  {
    name: 'spaces around the JSON',
    source: 'openai/openai-python#498',
    apply: (sse) => sse.replaceAll(/^data: (.*)$/gm, 'data:   $1  '),
  },
  {
    name: 'a name for each event',
    source: STANDARD,
    apply: (sse) => sse.replaceAll('data: ', 'event: message\ndata: '),
  },
  {
    name: 'an id and a time to retry for each event',
    source: STANDARD,
    apply: (sse) => sse.replaceAll('data: ', 'id: 7\nretry: 3000\ndata: '),
  },
  {
    name: 'JSON over several lines',
    source: STANDARD,
    apply: (sse) =>
      sse.replaceAll(/^data: (\{.*)$/gm, (_, json: string) =>
        JSON.stringify(JSON.parse(json), null, 1).replaceAll(/^/gm, 'data: '),
      ),
  },
  { name: '[DONE] twice', source: 'decolua/9router#2611', apply: (sse) => `${sse}data: [DONE]\n\n` },
  { name: 'no [DONE]', source: 'recorded of GPUStack', apply: (sse) => sse.replace('data: [DONE]\n\n', '') },
  {
    name: 'no empty line at the end',
    source: 'openai/codex#41340',
    apply: (sse) => sse.replace(/\n\n$/, '\n'),
  },
  {
    name: 'words after [DONE]',
    source: 'diegosouzapw/OmniRoute#7031',
    apply: (sse) => `${sse}: x-cost=0.0001\ndata: {"choices":[{"index":0,"delta":{"content":"more"}}]}\n\n`,
  },
  { name: 'the word ping as data', source: 'openai/codex#41989', apply: (sse) => `data: ping\n\n${sse}` },
  { name: 'an event of an unknown name', source: STANDARD, apply: (sse) => `event: ping\ndata: {}\n\n${sse}` },
  ...[1, 2, 3, 7, 64, 1460].map((segment) => ({
    name: `reads of ${segment} bytes`,
    source: 'Shopify/toxiproxy: slicer',
    segment,
    apply: (sse: string) => sse,
  })),
];
