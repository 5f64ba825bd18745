import type { ServerResponse } from 'node:http';
import type { ResponseEvent } from '../../contract/types.ts';
import { createEventWriter } from './event-text.ts';
import { closeWhenStalled, untilWritable } from '../stalled-client.ts';
import type { StopSignal } from '../../core/stop-signal.ts';

export interface EventStream {
  /** Writes whole events in one write. The promise, when there is one, resolves as soon as the client can take more. */
  write(events: readonly ResponseEvent[]): Promise<void> | undefined;
  /** Writes the last events and `[DONE]`, and ends the reply at once. */
  end(events: readonly ResponseEvent[]): void;
}

export interface EventStreamOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the request ends early; a write does not wait for the client any longer then. */
  readonly signal: StopSignal;
  /** After so much silence a comment is sent, which keeps proxies from cutting the connection. */
  readonly commentMs: number;
  /** After so much silence these events are sent: some clients time silence by events and do not see comments. */
  readonly eventMs: number;
  readonly keepAliveEvents: () => readonly ResponseEvent[];
  /** A client that takes nothing for so long is gone. */
  readonly stallMs: number;
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Sends the headers of an event stream and returns what writes to it. */
export function openEventStream(res: ServerResponse, options: EventStreamOptions): EventStream {
  res.writeHead(200, { ...options.headers, ...HEADERS });
  res.flushHeaders();
  const toText = createEventWriter();
  const comment = setTimeout(sendComment, options.commentMs);
  const events = setTimeout(sendKeepAlive, options.eventMs);
  closeWhenStalled(res, options.stallMs);
  res.once('close', stopTimers);

  return {
    write(batch) {
      if (batch.length === 0 || res.destroyed) return undefined;
      comment.refresh();
      events.refresh();
      return res.write(textOf(batch)) ? undefined : untilWritable(res, options.signal);
    },
    end(batch) {
      stopTimers();
      if (!res.destroyed) res.end(`${textOf(batch)}data: [DONE]\n\n`);
    },
  };

  function textOf(batch: readonly ResponseEvent[]): string {
    let text = '';
    for (const event of batch) text += toText(event);
    return text;
  }

  function sendComment(): void {
    // A client that does not read needs no sign of life, and must not cost memory.
    if (!res.writableNeedDrain && !res.destroyed) res.write(': keep-alive\n\n');
    comment.refresh();
  }

  function sendKeepAlive(): void {
    if (!res.writableNeedDrain && !res.destroyed) res.write(textOf(options.keepAliveEvents()));
    events.refresh();
  }

  function stopTimers(): void {
    clearTimeout(comment);
    clearTimeout(events);
  }
}
