import { expect } from 'chai';
import { collectBytes, freeBytes, memoryOf } from '../../src/core/collected-bytes.ts';

const KIB = 1024;

describe('the bytes of a body', () => {
  function collect(total: number, pieceBytes: number, expectedBytes?: number) {
    const sent = Buffer.from(Array.from({ length: total }, (_, index) => index % 251));
    const body = collectBytes(expectedBytes);
    for (let at = 0; at < total; at += pieceBytes) body.add(Buffer.from(sent.subarray(at, at + pieceBytes)));
    expect(body.length()).to.equal(total);
    expect(body.whole().equals(sent)).to.equal(true);
    return body.whole();
  }

  for (const { what, total, pieceBytes, expectedBytes, canMove } of [
    { what: 'none', total: 0, pieceBytes: 1, expectedBytes: 0, canMove: false },
    { what: 'few at once', total: 100, pieceBytes: 100, expectedBytes: 100, canMove: false },
    { what: 'few in pieces', total: 100, pieceBytes: 7, expectedBytes: 100, canMove: false },
    { what: 'many in pieces', total: 600 * KIB, pieceBytes: 1021, expectedBytes: 600 * KIB, canMove: true },
    { what: 'many in tiny pieces', total: 300 * KIB, pieceBytes: 3, expectedBytes: 300 * KIB, canMove: true },
    { what: 'many in one piece', total: 600 * KIB, pieceBytes: 600 * KIB, expectedBytes: 600 * KIB, canMove: true },
    { what: 'many, of which nobody said how many', total: 600 * KIB, pieceBytes: 65_536, canMove: true },
  ]) {
    it(`(${what}) come together as they were sent`, () => {
      expect(memoryOf(collect(total, pieceBytes, expectedBytes)).length === 1).to.equal(canMove);
    });
  }

  it('that are only announced take no memory', () => {
    const before = process.memoryUsage().arrayBuffers;
    const announced = Array.from({ length: 16 }, () => collectBytes(32 * KIB * KIB));
    for (const body of announced) body.add(Buffer.alloc(KIB));
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(KIB * KIB);
  });

  it('take few objects when they come one by one', () => {
    const body = collectBytes();
    for (let index = 0; index < 64 * KIB; index++) body.add(Buffer.of(index % 251));
    const concat = Buffer.concat.bind(Buffer);
    let objects = 0;
    Buffer.concat = (list, ...more) => {
      objects = list.length;
      return concat(list, ...more);
    };
    try {
      const whole = body.whole();
      expect(whole.length).to.equal(64 * KIB);
      expect(whole.every((byte, index) => byte === index % 251)).to.equal(true);
    } finally {
      Buffer.concat = concat;
    }
    expect(objects).to.be.within(1, 64);
  });

  it('are copied piece by piece, and no quarter of them at once', () => {
    let copies = 0;
    const pieces = Array.from({ length: 512 }, (_, n) => {
      const piece = Buffer.alloc(64 * KIB, n);
      const copy: Buffer['copy'] = (...to) => {
        copies++;
        return Buffer.prototype.copy.apply(piece, to);
      };
      return Object.assign(piece, { copy });
    });
    const body = collectBytes(32 * KIB * KIB);
    for (const piece of pieces) {
      const before = copies;
      body.add(piece);
      expect(copies - before).to.be.at.most(2);
    }
    expect(copies).to.equal(pieces.length);
    const whole = body.whole();
    for (let n = 0; n < 512; n++) {
      expect(whole.subarray(n * 64 * KIB, (n + 1) * 64 * KIB).equals(Buffer.alloc(64 * KIB, n))).to.equal(true);
    }
  });

  it('take the memory of a whole body, and give that of each piece back as soon as it is copied', () => {
    const before = process.memoryUsage().arrayBuffers;
    const body = collectBytes(32 * KIB * KIB);
    for (let piece = 0; piece < 512; piece++) body.add(Buffer.alloc(64 * KIB));
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(33 * KIB * KIB);
    expect(body.length()).to.equal(32 * KIB * KIB);
  });

  for (const [count, of] of [
    [4, 'pieces'],
    [300, 'the whole'],
  ] as const) {
    it(`give the memory of ${of} back when they are dropped`, () => {
      const body = collectBytes(32 * KIB * KIB);
      const pieces = Array.from({ length: count }, () => Buffer.alloc(64 * KIB));
      for (const piece of pieces) body.add(piece);
      body.drop();
      expect(pieces.filter(({ length }) => length > 0)).to.deep.equal([]);
      expect(body.whole()).to.have.length(0);
    });
  }

  it('leave the memory that a piece shares with others', () => {
    const [shared, whole] = [Buffer.alloc(128 * KIB, 1), Buffer.alloc(64 * KIB)];
    freeBytes(shared.subarray(0, 64 * KIB));
    freeBytes(whole);
    expect([shared[0], whole.length]).to.deep.equal([1, 0]);
  });

  it('that share their memory with others are not moved', () => {
    expect(memoryOf(Buffer.alloc(600 * KIB).subarray(1))).to.deep.equal([]);
    expect(memoryOf(Buffer.from(new SharedArrayBuffer(600 * KIB)))).to.deep.equal([]);
  });
});
