import { expect } from 'chai';
import { createUsageFilter } from '../../src/backend/usage-filter.ts';

const USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}';
const TEXT = 'data: {"choices":[{"index":0,"delta":{"content":"é"}}],"usage":null}\n\n';
const USAGE_CHUNK = `data: {"id":"c1","choices":[],${USAGE}}\n\n`;
const DONE = 'data: [DONE]\n\n';

/** What the filter lets through of the bytes, handed over in pieces that end at `cuts`. */
function filtered(text: string, cuts: Iterable<number> = []): string {
  const bytes = Buffer.from(text);
  const filter = createUsageFilter();
  const kept: Uint8Array[] = [];
  let from = 0;
  for (const cut of cuts) {
    kept.push(filter.feed(bytes.subarray(from, cut)));
    from = cut;
  }
  kept.push(filter.feed(bytes.subarray(from)), filter.end());
  return Buffer.concat(kept).toString();
}

describe('the usage filter', () => {
  const cases: { name: string; stream: string; kept: string }[] = [
    { name: 'leaves out the chunk of usage', stream: TEXT + USAGE_CHUNK + DONE, kept: TEXT + DONE },
    { name: 'leaves out every chunk of usage', stream: USAGE_CHUNK + TEXT + USAGE_CHUNK + USAGE_CHUNK, kept: TEXT },
    { name: 'keeps a stream without usage', stream: TEXT + TEXT + DONE, kept: TEXT + TEXT + DONE },
    {
      name: 'keeps usage beside a choice',
      stream: `data: {"choices":[{"index":0,"delta":{}}],${USAGE}}\n\n`,
      kept: `data: {"choices":[{"index":0,"delta":{}}],${USAGE}}\n\n`,
    },
    {
      name: 'keeps an empty chunk without usage',
      stream: 'data: {"choices":[],"usage":null}\n\ndata: {"choices":[]}\n\n',
      kept: 'data: {"choices":[],"usage":null}\n\ndata: {"choices":[]}\n\n',
    },
    {
      name: 'keeps a text that quotes such a chunk',
      stream: `data: {"choices":[{"delta":{"content":"{\\"choices\\":[],\\"usage\\":{}}"}}],"x":{"choices":[]},${USAGE}}\n\n`,
      kept: `data: {"choices":[{"delta":{"content":"{\\"choices\\":[],\\"usage\\":{}}"}}],"x":{"choices":[]},${USAGE}}\n\n`,
    },
    {
      name: 'keeps an error',
      stream: 'data: {"error":{"message":"x"}}\n\n',
      kept: 'data: {"error":{"message":"x"}}\n\n',
    },
    {
      name: 'reads CRLF',
      stream: `${TEXT}${USAGE_CHUNK}${DONE}`.replaceAll('\n', '\r\n'),
      kept: `${TEXT}${DONE}`.replaceAll('\n', '\r\n'),
    },
    {
      name: 'reads CR alone',
      stream: `${TEXT}${USAGE_CHUNK}${DONE}`.replaceAll('\n', '\r'),
      kept: `${TEXT}${DONE}`.replaceAll('\n', '\r'),
    },
    {
      name: 'takes an LF after a blank line that ended with CR for a part of the event before it',
      stream: 'data: 1\r\r\ndata: {"choices":[],"usage":{}}\n\r\ndata: 2\n\n',
      kept: 'data: 1\r\r\ndata: 2\n\n',
    },
    {
      name: 'keeps comments, beside the chunk too',
      stream: `: one\n\n: two\n${USAGE_CHUNK.trimEnd()}\n: three\n\n${DONE}`,
      kept: `: one\n\n: two\n: three\n${DONE}`,
    },
    {
      name: 'leaves out the fields which stand beside the data',
      stream: `event: message\nid: 7\nretry: 1\n${USAGE_CHUNK}${DONE}`,
      kept: DONE,
    },
    {
      name: 'reads data over several lines',
      stream: `data: {"choices":[ ],\ndata:${USAGE}}\n\n${DONE}`,
      kept: DONE,
    },
    { name: 'reads a byte order mark', stream: `\uFEFF${USAGE_CHUNK}${DONE}`, kept: DONE },
    {
      name: 'keeps empty lines between events',
      stream: `\n\r\n\r${TEXT}\n\n${DONE}`,
      kept: `\n\r\n\r${TEXT}\n\n${DONE}`,
    },
    { name: 'leaves out a last chunk without its blank line', stream: `${TEXT}${USAGE_CHUNK.trimEnd()}`, kept: TEXT },
    {
      name: 'keeps the beginning of an event that was cut',
      stream: `${TEXT}data: {"choi`,
      kept: `${TEXT}data: {"choi`,
    },
    {
      name: 'keeps what is no event stream',
      stream: `{"choices":[],\n\n${USAGE}}`,
      kept: `{"choices":[],\n\n${USAGE}}`,
    },
  ];

  for (const { name, stream, kept } of cases) {
    it(`${name}, wherever it is cut`, () => {
      expect(filtered(stream)).to.equal(kept);
      const bytes = Buffer.from(stream);
      for (let cut = 1; cut < bytes.length; cut++) {
        expect(filtered(stream, [cut]), `cut at byte ${cut}`).to.equal(kept);
        expect(filtered(stream, [cut, cut + 1]), `byte ${cut} alone`).to.equal(kept);
      }
      expect(filtered(stream, bytes.keys()), 'byte by byte').to.equal(kept);
    });
  }

  it('passes an event on as soon as it is complete', () => {
    const filter = createUsageFilter();
    expect(filter.feed(Buffer.from(`${TEXT}data: {`)).toString()).to.equal(TEXT);
    expect(filter.feed(Buffer.from('"choices":[1]}\n\n')).toString()).to.equal('data: {"choices":[1]}\n\n');
  });

  it('passes an event on at its CR, without waiting for an LF', () => {
    const filter = createUsageFilter();
    expect(filter.feed(Buffer.from('data: 1\r\n\r')).toString()).to.equal('data: 1\r\n\r');
    expect(filter.feed(Buffer.from('\n')).toString()).to.equal('\n');
  });

  it('holds nothing back of an answer that is no event stream', () => {
    const filter = createUsageFilter();
    expect(filter.feed(Buffer.from('  {"choices":')).toString()).to.equal('  {"choices":');
    expect(filter.feed(Buffer.from('[')).toString()).to.equal('[');
  });

  it('holds back no more than 64 KiB of an event', () => {
    const filter = createUsageFilter();
    const piece = Buffer.from(`data: {"choices":[],${USAGE},"x":"${'x'.repeat(64 * 1024)}`);
    expect(filter.feed(piece.subarray(0, 1000))).to.have.length(0);
    expect(Buffer.from(filter.feed(piece.subarray(1000))).equals(piece)).to.equal(true);
    expect(filter.feed(Buffer.from('"}\n')).toString()).to.equal('"}\n');
    expect(filter.feed(Buffer.from(`\n${USAGE_CHUNK}`)).toString()).to.equal('\n');
  });

  it('copies nothing where nothing is left out', () => {
    const bytes = Buffer.from(TEXT + DONE);
    expect(createUsageFilter().feed(bytes).buffer).to.equal(bytes.buffer);
  });
});
