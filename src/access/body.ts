import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { ApiError, toApiError, codeOf } from '../core/errors.ts';
import { collectBytes, freeBytes } from '../core/collected-bytes.ts';
import { giveBackBytes, holderNameOf, takeBytes } from './load.ts';
import { limitFairly } from '../core/limit-concurrency.ts';
import { readPiece } from '../wire/event-loop.ts';
import { watchPace } from '../wire/pace.ts';

const DISCARD_MS = 2000;
/** A larger body is read by pieces, in turns with others. */
const WHOLE_BYTES = 64 * 1024;
/** Each costs far more than its bytes, and Node would read 2 MiB of them in one turn. */
const PIECES_IN_TURN = 256;
/** What expands to more is decompressed in its turn. */
const SOON_EXPANDED_BYTES = 256 * 1024;
/** Above this size a body may expand 100-fold. gzip reaches 1,000, but no prompt reaches 100. */
const FREE_EXPANDED_BYTES = 1024 * 1024;
const MAX_EXPANSION = 100;
/** A few hundred bytes can expand to `maxBytes` each, and zlib works on all of them at once. */
const MAX_LARGE_AT_ONCE = 4;
/** RFC 9659 limits the window to 8 MiB in HTTP. */
const ZSTD_WINDOW_LOG_MAX = 23;

export interface BodyLimits {
  readonly maxBytes: number;
}

/** Throws ApiError `unsupported_media_type`, and what `readBody` throws. Does not parse the body. */
export async function readJsonBody(req: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  checkMediaType(req.headers['content-type']);
  return readBody(req, limits);
}

/**
 * Reads and decompresses a request body of at most `maxBytes` before and after decompression.
 * Throws ApiError `payload_too_large`, `unsupported_content_encoding`, `invalid_request` for
 * damaged data, `request_timeout` for a body that comes too slowly, `client_disconnected`, and what
 * `Share.take` throws.
 */
export async function readBody(req: IncomingMessage, { maxBytes }: BodyLimits): Promise<Buffer> {
  const decompress = decompressorFor(req.headers['content-encoding']);
  if (Number(req.headers['content-length']) > maxBytes) throw tooLarge(maxBytes);
  const received = await collect(req, maxBytes);
  if (decompress === undefined || received.length === 0) return received;
  return decompress(received, { maxBytes, req });
}

/** Drops a body, so that a client that still sends reads the reply. Closes a slow connection. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  const timer = setTimeout(() => req.destroy(), DISCARD_MS);
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
  req.on('data', (piece: Buffer) => {
    freeBytes(piece);
    req.pause();
    readPiece(() => req.resume());
  });
  req.resume();
}

function checkMediaType(contentType: string | undefined): void {
  if (contentType === undefined) return;
  const essence = contentType.split(';', 1)[0]?.trim() ?? '';
  if (/^application\/(?:[^\s/]+\+)?json$/i.test(essence)) return;
  throw new ApiError('unsupported_media_type', {
    message:
      'The body must be JSON, sent with "Content-Type: application/json". ' +
      '(curl -d sends another type unless it is told: add -H "Content-Type: application/json".)',
  });
}

interface DecompressOptions {
  readonly maxBytes: number;
  readonly req: IncomingMessage;
}

type Decompressor = (bytes: Buffer, options: DecompressOptions) => Promise<Buffer>;

const CHUNKS = { chunkSize: 64 * 1024 };

const DECOMPRESSORS = new Map<string, Decompressor>([
  ['gzip', bounded('gzip', () => createGunzip(CHUNKS))],
  ['x-gzip', bounded('gzip', () => createGunzip(CHUNKS))],
  ['deflate', bounded('deflate', (bytes) => (hasZlibHeader(bytes) ? createInflate : createInflateRaw)(CHUNKS))],
  ['br', bounded('br', () => createBrotliDecompress(CHUNKS))],
  [
    'zstd',
    bounded('zstd', () =>
      createZstdDecompress({ ...CHUNKS, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
    ),
  ],
]);

function decompressorFor(contentEncoding: string | undefined): Decompressor | undefined {
  if (contentEncoding === undefined) return undefined;
  const layers = contentEncoding
    .toLowerCase()
    .split(',')
    .map((layer) => layer.trim())
    .filter((layer) => layer !== '' && layer !== 'identity');
  const [layer] = layers;
  if (layer === undefined) return undefined;
  const decompressor = DECOMPRESSORS.get(layer);
  if (decompressor !== undefined && layers.length === 1) return decompressor;
  throw new ApiError('unsupported_content_encoding', {
    message: 'The Content-Encoding must be one of gzip, deflate, br or zstd, applied once.',
    headers: { 'accept-encoding': 'gzip, deflate, br, zstd' },
  });
}

const queued = limitFairly(MAX_LARGE_AT_ONCE);

/** A body that turns out to be large starts again in its turn, so that small ones never wait. */
function bounded(encoding: string, open: (bytes: Buffer) => Transform): Decompressor {
  async function attempt(bytes: Buffer, { maxBytes, req }: DecompressOptions): Promise<Buffer | 'too large'> {
    const whole = collectBytes();
    let taken = 0;
    try {
      for await (const chunk of open(bytes).end(bytes) as AsyncIterable<Buffer>) {
        if (req.socket.destroyed) throw new ApiError('client_disconnected');
        whole.add(chunk);
        if (whole.length() > maxBytes) {
          whole.drop();
          giveBackBytes(req, taken);
          return 'too large';
        }
        const added = whole.length() - bytes.length - taken;
        if (added <= 0) continue;
        takeBytes(req, added);
        taken += added;
      }
      return whole.whole();
    } catch (error) {
      if (error instanceof ApiError || /mem|alloc/i.test(codeOf(error))) throw error;
      throw new ApiError('invalid_request', {
        message: `The body could not be decompressed as ${encoding}: it is damaged or cut short.`,
        cause: error,
      });
    }
  }

  return async (bytes, { maxBytes, req }) => {
    const soon =
      bytes.length < SOON_EXPANDED_BYTES
        ? await attempt(bytes, { maxBytes: Math.min(SOON_EXPANDED_BYTES, maxBytes), req })
        : 'too large';
    if (soon !== 'too large') return soon;
    const maxExpanded = Math.max(FREE_EXPANDED_BYTES, bytes.length * MAX_EXPANSION);
    const most = Math.min(maxBytes, maxExpanded);
    const whole = await queued(holderNameOf(req), () => attempt(bytes, { maxBytes: most, req }));
    if (whole === 'too large') throw maxExpanded < maxBytes ? expandsTooFar() : tooLarge(maxBytes);
    return whole;
  };
}

/** "deflate" means the zlib format (RFC 9110), but some clients send the raw stream. */
function hasZlibHeader(bytes: Buffer): boolean {
  const first = bytes[0] ?? 0;
  return (first & 0x0f) === 8 && (first * 256 + (bytes[1] ?? 0)) % 31 === 0;
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    message: `The body may have at most ${maxBytes} bytes after decompression.`,
  });
}

function expandsTooFar(): ApiError {
  return new ApiError('payload_too_large', {
    message: `The decompressed body may have at most 1 MiB, or ${MAX_EXPANSION} times the compressed size if that is more.`,
  });
}

function collect(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (req.readableEnded) throw new Error('the body has been read before');
  if (req.destroyed) throw new ApiError('client_disconnected');
  return new Promise((resolve, reject) => {
    const body = collectBytes(Number(req.headers['content-length'] ?? 0));
    let isSettled = false;
    let pieces = 0;

    const stopWatching = watchPace(req, () => refuse(new ApiError('request_timeout')));
    const onData = (chunk: Buffer): void => {
      const { length } = chunk;
      body.add(chunk);
      if (body.length() > maxBytes) {
        refuse(tooLarge(maxBytes));
        return;
      }
      try {
        takeBytes(req, length);
      } catch (error) {
        refuse(toApiError(error));
        return;
      }
      pieces += 1;
      if (pieces % PIECES_IN_TURN === 0) rest(req.socket);
      if (body.length() <= WHOLE_BYTES) return;
      req.pause();
      readPiece(() => {
        if (!isSettled) req.resume();
      });
    };
    const onEnd = (): void => settle(() => resolve(body.whole()));
    const onGone = (): void => refuse(new ApiError('client_disconnected'));
    const refuse = (reason: ApiError): void =>
      settle(() => {
        body.drop();
        reject(reason);
      });
    const settle = (act: () => void): void => {
      // A flowing stream without a listener would lose its data.
      req.pause();
      isSettled = true;
      stopWatching();
      req.off('data', onData).off('end', onEnd).off('close', onGone);
      act();
    };

    req.on('data', onData).on('end', onEnd).on('close', onGone);
  });
}

/** Reads no more of a connection until its turn comes, even if the request asks for more. */
function rest(socket: Socket): void {
  if (socket.isPaused()) return;
  const pauseAgain = (): unknown => socket.pause();
  socket.on('resume', pauseAgain).pause();
  readPiece(() => socket.off('resume', pauseAgain).resume());
}
