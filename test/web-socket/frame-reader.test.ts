import { expect } from 'chai';
import { openFrameReader } from '../../src/web-socket/frame-reader.ts';

const LARGE = 100_000;
const MASK = [0x12, 0x9c, 0xf0, 0x37];
const FIN = 0x80;
const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;

interface Sent {
  readonly first: number;
  readonly payload?: Buffer | string;
  readonly announcedBytes?: number;
  readonly mask?: readonly number[] | null;
}

function frameOf({ first, payload = '', announcedBytes, mask = MASK }: Sent): Buffer {
  const bytes = Buffer.from(payload);
  const length = announcedBytes ?? bytes.length;
  const header = Buffer.alloc(length > 65_535 ? 10 : length > 125 ? 4 : 2);
  header[0] = first;
  header[1] = (mask === null ? 0 : 0x80) | (length > 65_535 ? 127 : length > 125 ? 126 : length);
  if (length > 65_535) header.writeBigUInt64BE(BigInt(length), 2);
  else if (length > 125) header.writeUInt16BE(length, 2);
  if (mask === null) return Buffer.concat([header, bytes]);
  return Buffer.concat([header, Buffer.from(mask), bytes.map((byte, index) => byte ^ (mask[index % 4] ?? 0))]);
}

/** What a text has that begins at some byte, so that no two places look alike. */
const textOf = (bytes: number): string => {
  const words = Array.from({ length: Math.ceil(bytes / 7) }, (_, index) => `ä${String(index).padStart(5, '0')}`);
  return Buffer.from(words.join('')).toString('utf8', 0, bytes - (bytes % 7));
};

describe('the reader of frames', () => {
  /** Reads the frames in pieces of this size. */
  function read(frames: readonly Buffer[], pieceBytes: number, { maxBytes = 1e6, room = Infinity } = {}) {
    const messages: string[] = [];
    const passed: Buffer[] = [];
    let heldBytes = 0;
    const reader = openFrameReader({
      maxBytes,
      takeBytes(bytes) {
        heldBytes += bytes;
        return heldBytes <= room;
      },
      pass(bytes) {
        passed.push(Buffer.from(bytes));
        const message = reader.message();
        if (message !== undefined) messages.push(message.toString());
      },
      isPaused: () => false,
    });
    const sent = Buffer.concat(frames);
    for (let at = 0; at < sent.length; at += pieceBytes) reader.read(Buffer.from(sent.subarray(at, at + pieceBytes)));
    return { messages, heldBytes, passed: Buffer.concat(passed) };
  }

  const emptied = (first: number): Buffer => frameOf({ first, mask: [0, 0, 0, 0] });

  const text = textOf(LARGE);
  const small = frameOf({ first: FIN | TEXT, payload: 'small' });
  const ping = frameOf({ first: FIN | PING, payload: 'p' });
  const large = frameOf({ first: FIN | TEXT, payload: text });
  const fragments = [
    frameOf({ first: TEXT, payload: 'one ' }),
    ping,
    frameOf({ first: CONTINUATION, payload: text }),
    frameOf({ first: CONTINUATION }),
    frameOf({ first: FIN | CONTINUATION, payload: ' end' }),
  ];

  for (const pieceBytes of [1, 2, 3, 5, 7, 1021, 65_536, 10_000_000]) {
    it(`collects what is large or in fragments, in pieces of ${pieceBytes} bytes`, () => {
      const { messages, passed, heldBytes } = read([small, large, ping, ...fragments, small], pieceBytes);
      expect(messages).to.deep.equal([text, `one ${text} end`]);
      expect(heldBytes).to.equal(2 * Buffer.byteLength(text) + 8);
      const standIns = [TEXT, CONTINUATION, CONTINUATION, FIN | CONTINUATION].map(emptied);
      const [first, second, third, last] = standIns;
      const expected = [small, emptied(FIN | TEXT), ping, first, ping, second, third, last, small];
      expect(passed).to.deep.equal(Buffer.concat(expected.filter((frame) => frame !== undefined)));
    });
  }

  it('passes on what is small as it came', () => {
    const frames = Buffer.concat([small, ping, small]);
    const passed: Buffer[] = [];
    const reader = openFrameReader({
      maxBytes: 10,
      takeBytes: () => false,
      pass: (bytes) => void passed.push(bytes),
      isPaused: () => false,
    });
    reader.read(frames);
    expect(Buffer.concat(passed)).to.deep.equal(frames);
    expect(passed.every(({ buffer }) => buffer === frames.buffer)).to.equal(true);
  });

  it('lets the frames wait that come in a pause, though they came with others', () => {
    const passed: Buffer[] = [];
    const reader = openFrameReader({
      maxBytes: 10,
      takeBytes: () => false,
      pass: (bytes) => void passed.push(bytes),
      isPaused: () => passed.length % 2 === 1,
    });
    reader.read(Buffer.concat([small, ping, small, ping]));
    expect(passed).to.deep.equal([small]);
    passed.push(ping);
    reader.resume();
    expect(passed).to.deep.equal([small, ping, ping]);
    reader.stop();
    reader.resume();
    expect(passed.length).to.equal(3);
  });

  it('collects binary messages, which may be no text', () => {
    const payload = Buffer.alloc(LARGE, 0xff);
    const { messages, passed } = read([frameOf({ first: FIN | BINARY, payload })], 1000);
    expect(messages).to.deep.equal([payload.toString()]);
    expect(passed).to.deep.equal(emptied(FIN | BINARY));
  });

  it('has ws refuse a text that is no UTF-8', () => {
    const { passed } = read([frameOf({ first: FIN | TEXT, payload: Buffer.alloc(LARGE, 0xff) })], 1000);
    expect(passed).to.deep.equal(frameOf({ first: FIN | TEXT, payload: Buffer.of(0xff), mask: [0, 0, 0, 0] }));
  });

  for (const { what, frames, maxBytes } of [
    { what: 'a frame', frames: [large], maxBytes: LARGE - 100 },
    {
      what: 'the frames of a message together',
      frames: [frameOf({ first: TEXT, payload: 'x'.repeat(60) }), frameOf({ first: FIN, payload: 'x'.repeat(60) })],
      maxBytes: 100,
    },
  ]) {
    it(`has ws refuse ${what} beyond the limit, of which nothing is collected`, () => {
      const { messages, heldBytes, passed } = read([...frames, small], 100, { maxBytes });
      expect(messages).to.deep.equal([]);
      expect(heldBytes).to.be.below(100);
      expect(passed.readBigUInt64BE(passed.length - 8)).to.equal(BigInt(maxBytes + 1));
    });
  }

  for (const { what, frame } of [
    { what: 'without a mask', frame: { first: FIN | TEXT, payload: text, mask: null } },
    { what: 'with a reserved bit', frame: { first: FIN | 0x40 | TEXT, payload: text } },
    { what: 'of an unknown kind', frame: { first: FIN | 3, payload: text } },
    { what: 'that is a long ping', frame: { first: FIN | PING, payload: text } },
  ]) {
    it(`leaves a frame ${what} to ws, which refuses it`, () => {
      const bytes = frameOf(frame);
      expect(read([bytes], 1000).passed).to.deep.equal(bytes);
    });
  }

  it('reads nothing after the frame that closes, nor when there is no room', () => {
    const close = frameOf({ first: FIN | CLOSE, payload: Buffer.of(3, 232) });
    expect(read([close, large, small], 3).passed).to.deep.equal(close);
    expect(read([large, small], 1000, { room: 5000 })).to.deep.include({ messages: [], heldBytes: 6000 - 14 });
  });
});
