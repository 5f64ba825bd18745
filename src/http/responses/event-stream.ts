import type { ServerResponse } from 'node:http';
import type { ResponseEvent } from '../../contract/types.ts';
import type { EventSink, EventStreamOptions } from '../../requests/incoming.ts';
import { createEventWriter } from './event-text.ts';
import { createPiecesWriter } from '../../wire/json-pieces.ts';
import { openChunkedBody } from '../../wire/chunked-body.ts';
import { takeBytes } from '../../access/load.ts';
import { closeWhenStalled, countUnread, awaitWritable, heldBytesOf } from '../../access/stalled-client.ts';
import { onceServed } from '../../wire/until-served.ts';

export interface HttpStreamOptions extends EventStreamOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Proxies keep the connection open if a comment comes after so much silence. */
  readonly commentMs: number;
  readonly stallMs: number;
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Returns the writer of an event stream. Its headers are sent with the first events. */
export function openEventStream(res: ServerResponse, options: HttpStreamOptions): EventSink {
  const { translator } = options;
  res.writeHead(200, { ...options.headers, ...HEADERS });
  const body = openChunkedBody(res);
  const toText = createEventWriter();
  const pieces = createPiecesWriter(options.echo);
  const comment = setTimeout(sendComment, options.commentMs);
  const events = setTimeout(sendKeepAlive, options.eventMs);
  const noteUnread = countUnread(
    (bytes) => takeBytes(res.req, bytes),
    // Node holds back the first write of a turn, with the headers, until the turn is over.
    () => process.nextTick(() => res.destroy()),
  );
  const untilWritable = awaitWritable(res, options.signal);
  closeWhenStalled(res, options.stallMs);
  onceServed(res, stopTimers);

  return {
    write(batch) {
      if (batch.length === 0 || res.destroyed) return undefined;
      comment.refresh();
      events.refresh();
      if (body.write(textOf(batch))) return undefined;
      noteUnread(heldBytesOf(translator));
      return untilWritable();
    },
    end(batch) {
      stopTimers();
      if (res.destroyed) return;
      body.end(`${textOf(batch)}data: [DONE]\n\n`);
      if (res.writableLength > 0) noteUnread(heldBytesOf(translator));
    },
  };

  /** Returns what is left to write, after events that are written in pieces. */
  function textOf(batch: readonly ResponseEvent[]): string {
    let text = '';
    for (const event of batch) {
      const json = pieces.event(event);
      if (json === undefined) {
        text += toText(event);
        continue;
      }
      text += `event: ${event.type}\ndata: `;
      for (const piece of json) {
        if (typeof piece === 'string') {
          text += piece;
          continue;
        }
        body.write(text);
        body.write(piece);
        text = '';
      }
      text += '\n\n';
    }
    return text;
  }

  function sendComment(): void {
    // A client that does not read needs no keep-alive, which would only fill memory.
    if (!res.writableNeedDrain && !res.destroyed) body.write(': keep-alive\n\n');
    comment.refresh();
  }

  function sendKeepAlive(): void {
    if (!res.writableNeedDrain && !res.destroyed) body.write(textOf(translator.keepAlive()));
    events.refresh();
  }

  function stopTimers(): void {
    clearTimeout(comment);
    clearTimeout(events);
  }
}
