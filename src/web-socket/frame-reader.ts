/**
 * Reads what is large in the place of `ws`, which would join and unmask 30 MB in one turn of the event
 * loop. Pieces are unmasked and collected as they arrive, and `ws` gets an empty frame for each that
 * was collected, so that it judges the protocol as ever (RFC 6455, section 5).
 */
import { isUtf8 } from 'node:buffer';
import { collectBytes, type Collected } from '../core/collected-bytes.ts';

export interface FrameReaderOptions {
  /** Limits one message. */
  readonly maxBytes: number;
  /** Takes room for bytes that are collected. Returns whether there is any; else nothing more is read. */
  readonly takeBytes: (bytes: number) => boolean;
  /** Is how `ws` reads. It tells of a message before it returns. */
  readonly pass: (bytes: Buffer) => void;
  /** Whether the connection takes no further message now. Then the rest waits for `resume`. */
  readonly isPaused: () => boolean;
}

export interface FrameReader {
  /** Reads bytes as they arrive, and changes them. */
  read(bytes: Buffer): void;
  /** Reads what has waited. */
  resume(): void;
  /** Whether a large message has come in part. */
  isCollecting(): boolean;
  /** Whether a message, or a frame of one, has come in part. */
  isHalfRead(): boolean;
  /** Returns the message of which `ws` tells, if it was collected. */
  message(): Buffer | undefined;
  /** Drops all that comes from now on. */
  stop(): void;
}

/** A message of one frame that is no larger goes to `ws` as it is. */
const SMALL_BYTES = 64 * 1024;
const MASK_BYTES = 4;
const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;

interface Header {
  /** The bits FIN, RSV1 to RSV3, and the opcode. */
  readonly first: number;
  readonly isMasked: boolean;
  readonly headerBytes: number;
  readonly payloadBytes: number;
}

interface Arriving extends Pick<Header, 'first' | 'payloadBytes'> {
  readonly mask: Buffer;
  readBytes: number;
}

interface Message {
  readonly isText: boolean;
  readonly body: Collected;
}

const NOTHING = Buffer.alloc(0);

/** Returns a reader of the frames of one client. */
export function openFrameReader({ maxBytes, takeBytes, pass, isPaused }: FrameReaderOptions): FrameReader {
  /** The first bytes of a header, or all that has come since the pause. */
  let unread: Buffer = NOTHING;
  /** What is left of a frame that goes to `ws`. */
  let passing = { isClose: false, bytes: 0 };
  let arriving: Arriving | undefined;
  let collected: Message | undefined;
  let whole: Buffer | undefined;
  let isOver = false;

  return {
    read,
    resume: () => read(NOTHING),
    isCollecting: () => collected !== undefined,
    isHalfRead: () => !isOver && (collected !== undefined || passing.bytes > 0 || unread.length > 0),
    message: () => whole,
    stop,
  };

  function stop(): void {
    isOver = true;
    collected?.body.drop();
    collected = undefined;
  }

  function read(piece: Buffer): void {
    unread = unread.length === 0 ? piece : Buffer.concat([unread, piece]);
    while (unread.length > 0 && mayRead()) {
      const { length } = unread;
      const readBytes = readSome(unread);
      if (readBytes === 0) return;
      // What has been collected whole is no longer there.
      unread = readBytes === length ? NOTHING : unread.subarray(readBytes);
    }
    if (isOver) unread = NOTHING;
  }

  function mayRead(): boolean {
    return !isOver && !isPaused();
  }

  /** Returns how many of the bytes it has read; none of a header that has not come whole. */
  function readSome(bytes: Buffer): number {
    if (arriving !== undefined) return collect(arriving, bytes);
    if (passing.bytes > 0) return passOn(bytes);
    const header = headerIn(bytes);
    if (header === undefined) return 0;
    if (isCollected(header)) {
      const mask = Buffer.from(bytes.subarray(header.headerBytes - MASK_BYTES, header.headerBytes));
      begin(header, mask);
      return header.headerBytes;
    }
    passing = { isClose: (header.first & OPCODE) === CLOSE, bytes: header.headerBytes + header.payloadBytes };
    return passOn(bytes);
  }

  function passOn(bytes: Buffer): number {
    const passed = bytes.subarray(0, passing.bytes);
    passing.bytes -= passed.length;
    pass(passed);
    // `ws` has no use for what comes after it.
    if (passing.isClose && passing.bytes === 0) isOver = true;
    return passed.length;
  }

  function begin({ first, payloadBytes }: Header, mask: Buffer): void {
    if ((collected?.body.length() ?? 0) + payloadBytes > maxBytes) {
      pass(tooLong(first, maxBytes));
      stop();
      return;
    }
    collected ??= {
      isText: (first & OPCODE) === TEXT,
      body: collectBytes((first & FIN) === 0 ? undefined : payloadBytes),
    };
    arriving = { first, payloadBytes, mask, readBytes: 0 };
    if (payloadBytes === 0) end(first, collected);
  }

  function collect(frame: Arriving, bytes: Buffer): number {
    const payload = bytes.subarray(0, frame.payloadBytes - frame.readBytes);
    const { length } = payload;
    if (collected === undefined || !takeBytes(length)) {
      stop();
      return bytes.length;
    }
    unmask(payload, frame.mask, frame.readBytes);
    collected.body.add(payload);
    frame.readBytes += length;
    if (frame.readBytes === frame.payloadBytes) end(frame.first, collected);
    return length;
  }

  function end(first: number, { isText, body }: Message): void {
    arriving = undefined;
    if ((first & FIN) === 0) {
      pass(standIn(first));
      return;
    }
    collected = undefined;
    whole = body.whole();
    pass(standIn(first, isText && !isUtf8(whole) ? [NO_UTF8] : []));
    whole = undefined;
  }
}

const FIN = 0x80;
const RESERVED = 0x70;
const OPCODE = 0x0f;
const MASKED = 0x80;
/** A byte that is in no UTF-8, so that `ws` refuses the message. */
const NO_UTF8 = 0xff;

/** Returns undefined as long as the header has not come whole. */
function headerIn(bytes: Buffer): Header | undefined {
  const [first = 0, second = 0] = bytes;
  const isMasked = (second & MASKED) !== 0;
  const length = second & ~MASKED;
  const lengthBytes = length === 127 ? 8 : length === 126 ? 2 : 0;
  const headerBytes = 2 + lengthBytes + (isMasked ? MASK_BYTES : 0);
  if (bytes.length < headerBytes) return undefined;
  const payloadBytes =
    lengthBytes === 8 ? Number(bytes.readBigUInt64BE(2)) : lengthBytes === 2 ? bytes.readUInt16BE(2) : length;
  return { first, isMasked, headerBytes, payloadBytes };
}

/** What breaks the protocol goes to `ws`, which refuses it. */
function isCollected({ first, isMasked, payloadBytes }: Header): boolean {
  const opcode = first & OPCODE;
  if (!isMasked || (first & RESERVED) !== 0 || opcode > BINARY) return false;
  return payloadBytes > SMALL_BYTES || opcode === CONTINUATION || (first & FIN) === 0;
}

/** Returns the frame that `ws` gets in the place of one that was collected. */
function standIn(first: number, payload: readonly number[] = []): Buffer {
  return Buffer.from([first, MASKED | payload.length, 0, 0, 0, 0, ...payload]);
}

/** Returns the beginning of a frame that `ws` refuses. */
function tooLong(first: number, maxBytes: number): Buffer {
  const header = Buffer.from([first, MASKED | 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeBigUInt64BE(BigInt(maxBytes + 1), 2);
  return header;
}

/** Four bytes at a time take a third of the time. */
function unmask(bytes: Buffer, mask: Buffer, readBytes: number): void {
  const { buffer, byteOffset, length } = bytes;
  const start = -byteOffset & 3;
  const words = length < 2 * 4 ? new Uint32Array() : new Uint32Array(buffer, byteOffset + start, (length - start) >> 2);
  const [word = 0] = new Uint32Array(Uint8Array.from(mask, (_, index) => byteOf(start + index)).buffer);
  for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) ^ word;
  for (let at = 0; at < Math.min(start, length); at++) bytes[at] = (bytes[at] ?? 0) ^ byteOf(at);
  for (let at = start + words.length * 4; at < length; at++) bytes[at] = (bytes[at] ?? 0) ^ byteOf(at);

  function byteOf(at: number): number {
    return mask[(readBytes + at) & 3] ?? 0;
  }
}
