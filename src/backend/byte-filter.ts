/** Changes the bytes of an answer on their way to a client, wherever the reads are cut. */
export interface ByteFilter {
  /** Takes over the bytes. Returns what can be passed on by now. */
  feed(bytes: Uint8Array): Uint8Array;
  /** Returns what was held back until the end. */
  end(): Uint8Array;
}

export const NO_BYTES: Uint8Array = new Uint8Array();
