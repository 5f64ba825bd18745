/** What the first bytes of a medium say of it, as far as its decoder believes the same. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Profiles and thumbnails may come before the size of a JPEG. */
const IMAGE_HEADER_BYTES = 256 * 1024;

/** Returns the size in pixels of a still image; undefined if it cannot be read. */
export function imageSizeOf(base64: string): ImageSize | undefined {
  const bytes = decoded(base64, IMAGE_HEADER_BYTES);
  const size = bytes && (pngSizeOf(bytes) ?? jpegSizeOf(bytes) ?? webpSizeOf(bytes));
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

/** Returns the length in seconds of a WAV or MP3, and no less; undefined if it cannot be read. */
export function secondsOf(base64: string): number | undefined {
  const bytes = decoded(base64, base64.length);
  return bytes && (wavSecondsOf(bytes) || mp3SecondsOf(bytes));
}

/** Decoders differ in what they do with other characters. */
function decoded(base64: string, maxBytes: number): Buffer | undefined {
  const start = base64.slice(0, Math.ceil(maxBytes / 3) * 4);
  return /^[A-Za-z0-9+/]+={0,2}$/.test(start) ? Buffer.from(start, 'base64') : undefined;
}

function pngSizeOf(bytes: Buffer): ImageSize | undefined {
  const isPng = bytes.length >= 24 && bytes.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n' && isAt(bytes, 12, 'IHDR');
  return isPng ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : undefined;
}

/** The markers of frames (ITU T.81, table B.1); a frame without a height says it only at its end. */
const FRAME = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]);

function jpegSizeOf(bytes: Buffer): ImageSize | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return undefined;
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1] ?? 0;
    if (FRAME.has(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** RFC 9649. One that moves may be read frame by frame. */
function webpSizeOf(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || !isAt(bytes, 0, 'RIFF') || !isAt(bytes, 8, 'WEBP')) return undefined;
  if (isAt(bytes, 12, 'VP8 ')) {
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  }
  if (isAt(bytes, 12, 'VP8L')) {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  const isMoving = ((bytes[20] ?? 0) & 2) !== 0;
  if (!isAt(bytes, 12, 'VP8X') || isMoving) return undefined;
  return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
}

/** Samples as numbers: integers, or floating point. */
const PLAIN_SAMPLES = new Set([1, 3]);
/** The format then stands behind the fields of the older formats. */
const EXTENSIBLE = 0xfffe;

/** Decoders do not believe what a file says of its bytes per second. */
function wavSecondsOf(bytes: Buffer): number | undefined {
  if (!isAt(bytes, 0, 'RIFF') || !isAt(bytes, 8, 'WAVE')) return undefined;
  let bytesPerSecond: number | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    if (isAt(bytes, at, 'data')) return bytesPerSecond && bytes.length / bytesPerSecond;
    if (isAt(bytes, at, 'fmt ')) {
      // Of two formats nobody knows which one is used.
      if (bytesPerSecond !== undefined) return undefined;
      bytesPerSecond = bytesPerSecondAt(bytes, at + 8);
    }
    const size = bytes.readUInt32LE(at + 4);
    at += 8 + size + (size % 2);
  }
  return undefined;
}

/** Returns 0 for samples that are compressed. */
function bytesPerSecondAt(bytes: Buffer, at: number): number {
  if (at + 16 > bytes.length) return 0;
  const named = bytes.readUInt16LE(at);
  const format = named === EXTENSIBLE && at + 26 <= bytes.length ? bytes.readUInt16LE(at + 24) : named;
  if (!PLAIN_SAMPLES.has(format)) return 0;
  return (bytes.readUInt16LE(at + 2) * bytes.readUInt32LE(at + 4) * bytes.readUInt16LE(at + 14)) / 8;
}

/** In kbit/s, by the index in a frame of layer III, for MPEG 1 and for the later versions. */
const BITRATES = {
  one: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  later: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
/** In Hz; MPEG 2 has half of it, and MPEG 2.5 a quarter. */
const SAMPLE_RATES = [44_100, 48_000, 32_000];

/** Adds up all frames, since each may have a bitrate of its own. Decoders look for further frames behind what is none. */
function mp3SecondsOf(bytes: Buffer): number | undefined {
  let at = isAt(bytes, 0, 'ID3') && bytes.length > 10 ? 10 + sizeOfTag(bytes) : 0;
  let seconds = 0;
  while (at < bytes.length) {
    const isLastTag = isAt(bytes, at, 'TAG') && bytes.length - at === 128;
    if (isLastTag) break;
    const frame = at + 4 <= bytes.length ? frameOf(bytes.readUInt32BE(at)) : undefined;
    if (frame === undefined) return undefined;
    seconds += frame.seconds;
    at += frame.bytes;
  }
  return seconds > 0 ? seconds : undefined;
}

/** Each byte has seven bits (id3.org, ID3v2.4.0, section 6.2). */
function sizeOfTag(bytes: Buffer): number {
  return [6, 7, 8, 9].reduce((size, at) => size * 128 + ((bytes[at] ?? 0) & 0x7f), 0);
}

function frameOf(header: number): { readonly bytes: number; readonly seconds: number } | undefined {
  const version = (header >>> 19) & 3;
  const isFrame = header >>> 21 === 0x7ff && version !== 1 && ((header >>> 17) & 3) === 1;
  const isFirst = version === 3;
  const kbits = (isFirst ? BITRATES.one : BITRATES.later)[(header >>> 12) & 15] ?? 0;
  const rate = (SAMPLE_RATES[(header >>> 10) & 3] ?? 0) / (isFirst ? 1 : version === 2 ? 2 : 4);
  if (!isFrame || kbits === 0 || rate === 0) return undefined;
  const samples = isFirst ? 1152 : 576;
  const padding = (header >>> 9) & 1;
  return { bytes: Math.floor((samples * kbits * 125) / rate) + padding, seconds: samples / rate };
}

function isAt(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text;
}
