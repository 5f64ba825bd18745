import type { ServerResponse } from 'node:http';
import type { EventReply } from '../../requests/incoming.ts';
import { countUnreadReply } from '../../access/stalled-client.ts';

export interface JsonReplyOptions {
  /** Returns JSON. */
  readonly toPieces: () => readonly (string | Uint8Array)[];
}

/** Sends the finished response as JSON. */
export function createJsonReply(res: ServerResponse, { toPieces }: JsonReplyOptions): EventReply {
  return {
    open(headers) {
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      return { write: () => undefined, end };
    },
  };

  function end(): void {
    const pieces = toPieces();
    const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    res.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': length,
    });
    for (const piece of pieces.slice(0, -1)) res.write(piece);
    res.end(pieces.at(-1));
    countUnreadReply(res, length);
  }
}
