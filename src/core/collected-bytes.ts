import { LARGE_BYTES } from './json-size.ts';

export interface Collected {
  length(): number;
  add(piece: Buffer): void;
  whole(): Buffer;
}

/**
 * The memory for a whole body is taken when a quarter of it has come, so that one that is only
 * announced takes none, and no turn of the event loop copies more than this quarter.
 */
const COME = 1 / 4;

/**
 * Collects the bytes of a body, of which `expectedBytes` come if the client has said how many. Large
 * ones have memory of their own, which can be moved to a thread.
 */
export function collectBytes(expectedBytes = 0): Collected {
  const pieces: Buffer[] = [];
  let whole: Buffer | undefined;
  let length = 0;
  /** Of what was held when the memory was taken. */
  let copied = 0;

  function add(piece: Buffer): void {
    if (whole === undefined) pieces.push(piece);
    else piece.copy(whole, length);
    length += piece.length;
    if (whole !== undefined) copyHeld(whole, 1);
    else if (expectedBytes > LARGE_BYTES && length >= expectedBytes * COME)
      whole = Buffer.allocUnsafeSlow(expectedBytes);
  }

  function copyHeld(to: Buffer, count: number): void {
    for (const held of pieces.splice(0, count)) copied += held.copy(to, copied);
  }

  return {
    length: () => length,
    add,
    whole() {
      if (whole === undefined) return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
      copyHeld(whole, pieces.length);
      return whole;
    },
  };
}

/** Returns these bytes as a buffer, without a copy. */
export function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** Returns the memory that can be moved: that of many bytes which have it for themselves. */
export function memoryOf({ buffer, length }: Uint8Array): readonly ArrayBuffer[] {
  return length > LARGE_BYTES && length === buffer.byteLength && buffer instanceof ArrayBuffer ? [buffer] : [];
}
