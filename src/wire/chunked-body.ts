import type { ServerResponse } from 'node:http';

/** The body of a reply whose length is not known when it begins. */
export interface ChunkedBody {
  /** Returns false if the client reads slowly. */
  write(piece: string | Uint8Array): boolean;
  end(text?: string): void;
}

const LINE_END = '\r\n';
const LAST_CHUNK = `0${LINE_END}${LINE_END}`;
/** A copy of more costs more than further pieces. */
const MAX_COPIED_BYTES = 16 * 1024;

/**
 * Begins the body after `writeHead`. Node writes a chunk (RFC 9112, section 7.1) as four pieces. As
 * one it saves a sixth of the instructions for each word of a slow stream.
 */
export function openChunkedBody(res: ServerResponse): ChunkedBody {
  // A client of HTTP/1.0 knows no chunks.
  const isChunked = res.chunkedEncoding;
  res.chunkedEncoding = false;

  return {
    write(piece) {
      if (!isChunked) return res.write(piece);
      if (piece.length === 0) return true;
      return typeof piece === 'string' ? writeText(piece, '') : writeBytes(piece);
    },
    end(text = '') {
      if (!isChunked) res.write(text);
      else if (text === '') res.write(LAST_CHUNK, 'latin1');
      else writeText(text, LAST_CHUNK);
      res.end();
    },
  };

  function writeText(text: string, end: string): boolean {
    const length = Buffer.byteLength(text);
    // Where they are the same bytes, Latin-1 is the cheaper way to them.
    const encoding = length === text.length ? 'latin1' : 'utf8';
    if (length > MAX_COPIED_BYTES) return writeInPieces(length, text, { encoding, end });
    return res.write(`${beginning(length)}${text}${LINE_END}${end}`, encoding);
  }

  function writeBytes(bytes: Uint8Array): boolean {
    if (bytes.length > MAX_COPIED_BYTES) return writeInPieces(bytes.length, bytes, { encoding: 'latin1', end: '' });
    return res.write(Buffer.concat([Buffer.from(beginning(bytes.length), 'latin1'), bytes, CRLF]));
  }

  /** Bytes have no use for the encoding. */
  function writeInPieces(
    length: number,
    content: string | Uint8Array,
    { encoding, end }: { readonly encoding: BufferEncoding; readonly end: string },
  ): boolean {
    res.write(beginning(length), 'latin1');
    res.write(content, encoding);
    return res.write(`${LINE_END}${end}`, 'latin1');
  }
}

const CRLF = Buffer.from(LINE_END, 'latin1');

function beginning(length: number): string {
  return `${length.toString(16)}${LINE_END}`;
}
