import type { ServerResponse } from 'node:http';
import type { Translator } from '../../core/reply/translator.ts';
import type { ResponseEvent } from '../../contract/types.ts';
import type { Incoming, Reply, ReplyGate } from '../../requests/incoming.ts';
import type { EventStream } from './event-stream.ts';
import { countUnreadReply } from '../stalled-client.ts';

export interface JsonReplyOptions {
  /** Returns JSON. */
  readonly toPieces: () => readonly (string | Uint8Array)[];
}

/** Sends the finished response as JSON. */
export function createJsonReply(res: ServerResponse, translator: Translator, { toPieces }: JsonReplyOptions): Reply {
  return {
    answered(headers) {
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    },
    write: () => undefined,
    end() {
      if (translator.failure !== null) throw translator.failure;
      const pieces = toPieces();
      const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
      res.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': length,
      });
      for (const piece of pieces.slice(0, -1)) res.write(piece);
      res.end(pieces.at(-1));
      countUnreadReply(res, length);
    },
  };
}

export interface StreamReplyOptions extends Pick<ReplyGate, 'whenDecided'> {
  readonly headerHoldMs: number;
  readonly incoming: Pick<Incoming, 'onceServed'>;
  /** Returns undefined if the client has disconnected. */
  readonly open: (headers: Readonly<Record<string, string>>) => EventStream | undefined;
}

/** Holds events back until the backend answers, so that a failure before that has a status. */
export function createStreamReply(translator: Translator, options: StreamReplyOptions): Reply {
  let stream: EventStream | undefined;
  let waiting: ResponseEvent[] = [];
  let backendHeaders: Readonly<Record<string, string>> | undefined;
  const hold = setTimeout(() => void openOnceDecided(), options.headerHoldMs);
  options.incoming.onceServed(() => clearTimeout(hold));

  return {
    answered(headers) {
      backendHeaders = headers;
    },
    write(events) {
      if (stream !== undefined) return stream.write(events);
      // Not spread, since a call takes a limited number of arguments.
      for (const event of events) waiting.push(event);
      return backendHeaders === undefined ? undefined : open();
    },
    end(events) {
      if (stream === undefined && translator.failure !== null) {
        clearTimeout(hold);
        throw translator.failure;
      }
      if (stream === undefined) void open();
      stream?.end(events);
    },
  };

  async function openOnceDecided(): Promise<void> {
    try {
      await options.whenDecided();
    } catch {
      // The request ends, and can still end with a status.
      return;
    }
    // An answer that has ended is told with its end, whose record may have begun with it.
    if (stream === undefined && translator.failure === null && !translator.ended) void open();
  }

  function open(): Promise<void> | undefined {
    clearTimeout(hold);
    stream = options.open(backendHeaders ?? {});
    const events = waiting;
    waiting = [];
    return stream?.write(events);
  }
}
