/**
 * An HTTP/1.1 client on bare sockets. It takes a fraction of what a whole client would: on a core shared with the backend,
 * the load would otherwise be what is measured, and all quick targets would look alike.
 */
import { connect } from 'node:net';

export interface Connection {
  /** Sends a request and hands out the bytes of the body as they come. Resolves with the head when the answer is whole. */
  exchange(request: Buffer, onBody: OnBody): Promise<Head>;
  /** Stops reading, as a client that hangs does. */
  pause(): void;
  destroy(): void;
}

export interface Head {
  readonly status: number;
  readonly text: string;
}

type OnBody = (bytes: Buffer, head: Head) => void;
/** Takes what was read, and returns the head once the answer is whole. */
type Reader = (bytes: Buffer) => Head | undefined;

const LINE_END = '\r\n';
const EMPTY = Buffer.alloc(0);

export function openConnection(url: string): Connection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let exchange: { read: Reader; resolve: (head: Head) => void; reject: (error: Error) => void } | undefined;

  function fail(error: Error): void {
    exchange?.reject(error);
    exchange = undefined;
  }
  socket.on('data', (bytes) => {
    const head = exchange?.read(bytes);
    if (head === undefined) return;
    exchange?.resolve(head);
    exchange = undefined;
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the connection was closed before the answer was whole')));
  return {
    exchange: (request, onBody) =>
      new Promise((resolve, reject) => {
        exchange = { read: createReader(onBody), resolve, reject };
        socket.write(request);
      }),
    pause: () => void socket.pause(),
    destroy: () => void socket.destroy(),
  };
}

function createReader(onBody: OnBody): Reader {
  let unread: Buffer = EMPTY;
  let head: Head | undefined;
  let readBody: (bytes: Buffer) => boolean = () => false;

  return (bytes) => {
    if (head === undefined) {
      unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
      const end = unread.indexOf('\r\n\r\n');
      if (end < 0) return undefined;
      const parsed = parseHead(unread.toString('latin1', 0, end));
      head = parsed;
      const length = /\r\ncontent-length: *(\d+)/i.exec(parsed.text)?.[1];
      const toBody = (piece: Buffer) => onBody(piece, parsed);
      readBody = length === undefined ? createChunkReader(toBody) : createLengthReader(Number(length), toBody);
      bytes = unread.subarray(end + 4);
    }
    return readBody(bytes) ? head : undefined;
  };
}

function parseHead(text: string): Head {
  return { status: Number(text.slice(9, 12)), text };
}

function createLengthReader(length: number, onBody: (bytes: Buffer) => void): (bytes: Buffer) => boolean {
  let left = length;
  return (bytes) => {
    if (bytes.length > 0) onBody(bytes);
    left -= bytes.length;
    return left <= 0;
  };
}

/** Chunks as HTTP frames them. No server here sends trailers. */
function createChunkReader(onBody: (bytes: Buffer) => void): (bytes: Buffer) => boolean {
  let unread: Buffer = EMPTY;
  let left = 0;
  let isLast = false;
  return (bytes) => {
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
    let at = 0;
    while (at < unread.length) {
      if (left > 0) {
        const piece = unread.subarray(at, at + left);
        onBody(piece);
        left -= piece.length;
        at += piece.length;
      } else {
        const end = unread.indexOf(LINE_END, at);
        if (end < 0) break;
        // The end of a chunk is an empty line, and so is the end of all of them.
        if (end === at && isLast) return true;
        if (end > at) left = Number.parseInt(unread.toString('latin1', at, end), 16);
        isLast = end > at && left === 0;
        at = end + LINE_END.length;
      }
    }
    unread = unread.subarray(at);
    return false;
  };
}
