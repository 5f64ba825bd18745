export interface Collected {
  length(): number;
  /** Takes the piece, which must not be used afterwards. */
  add(piece: Buffer): void;
  whole(): Buffer;
  /** Gives the memory back of what nobody will ask for. */
  drop(): void;
}

/**
 * The memory for a whole body is taken when a quarter of it has come, so that one that is only
 * announced takes none, and no turn of the event loop copies more than this quarter.
 */
const COME = 1 / 4;
/** A smaller piece is copied: an object for each would take some hundred bytes more than is counted. */
const SMALL_BYTES = 1024;
const SLAB_BYTES = 4 * SMALL_BYTES;

/** Larger ones have memory of their own. */
const LARGE_BYTES = 256 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * Collects the bytes of a body, of which `expectedBytes` come if the client has said how many. Large
 * ones have memory of their own, which can be moved to a thread.
 */
export function collectBytes(expectedBytes = 0): Collected {
  const pieces: Buffer[] = [];
  /** The small pieces that came last. */
  let slab: Buffer = NOTHING;
  let slabBytes = 0;
  let whole: Buffer | undefined;
  let length = 0;
  /** Of what was held when the memory was taken. */
  let copied = 0;

  function add(piece: Buffer): void {
    const before = length;
    length += piece.length;
    if (whole === undefined) keep(piece);
    else {
      piece.copy(whole, before);
      freeBytes(piece);
    }
    if (whole !== undefined) copyPieces(whole, 1);
    else if (expectedBytes > LARGE_BYTES && length >= expectedBytes * COME) {
      endSlab();
      whole = Buffer.allocUnsafeSlow(expectedBytes);
    }
  }

  /** Nothing is copied of a body that comes at once. */
  function keep(piece: Buffer): void {
    if (length === piece.length || piece.length >= SMALL_BYTES) {
      endSlab();
      pieces.push(piece);
      return;
    }
    if (slabBytes + piece.length > slab.length) {
      endSlab();
      slab = Buffer.allocUnsafe(SLAB_BYTES);
    }
    slabBytes += piece.copy(slab, slabBytes);
  }

  function endSlab(): void {
    if (slabBytes === 0) return;
    pieces.push(slab.subarray(0, slabBytes));
    slab = slab.subarray(slabBytes);
    slabBytes = 0;
  }

  function copyPieces(to: Buffer, count: number): void {
    for (const kept of pieces.splice(0, count)) {
      copied += kept.copy(to, copied);
      freeBytes(kept);
    }
  }

  return {
    length: () => length,
    add,
    whole() {
      endSlab();
      if (whole === undefined) return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
      copyPieces(whole, pieces.length);
      return whole;
    },
    drop() {
      for (const kept of pieces.splice(0)) freeBytes(kept);
      if (whole !== undefined) freeBytes(whole);
    },
  };
}

/**
 * Gives the memory of bytes back at once, if they have it for themselves. Of 64 KiB that nobody refers to any more V8 learns late,
 * and takes some of them for a reason to collect all garbage.
 */
export function freeBytes({ buffer, length }: Buffer): void {
  if (length > SMALL_BYTES && length === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Returns these bytes as a buffer, without a copy. */
export function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** Returns the memory that can be moved: that of many bytes which have it for themselves. */
export function memoryOf({ buffer, length }: Uint8Array): readonly ArrayBuffer[] {
  return length > LARGE_BYTES && length === buffer.byteLength && buffer instanceof ArrayBuffer ? [buffer] : [];
}
