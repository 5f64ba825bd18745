import type { ServerResponse } from 'node:http';
import type { Translator } from '../../core/reply/translator.ts';
import type { ResponseEvent } from '../../contract/types.ts';
import type { Incoming, Reply } from '../../requests/incoming.ts';
import type { EventStream, EventStreamOptions } from './event-stream.ts';
import { closeWhenStalled } from '../stalled-client.ts';

export interface JsonReplyOptions extends Pick<EventStreamOptions, 'stallMs'> {
  /** What the client gets in the place of the response. */
  readonly toBody?: () => object;
}

/** A client that wants JSON gets the snapshot which the events have made. */
export function createJsonReply(
  res: ServerResponse,
  translator: Translator,
  { stallMs, toBody = () => translator.response }: JsonReplyOptions,
): Reply {
  return {
    answered(headers) {
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    },
    write: () => undefined,
    end() {
      if (translator.failure !== null) throw translator.failure;
      const body = JSON.stringify(toBody());
      res.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
      });
      res.end(body);
      // What the connection has taken already needs no watch.
      if (res.writableLength > 0) closeWhenStalled(res, stallMs);
    },
  };
}

export interface StreamReplyOptions {
  /** The longest time that the first events wait for the backend. */
  readonly headerHoldMs: number;
  readonly incoming: Pick<Incoming, 'onceServed'>;
  /** Begins the stream, with these headers of the backend's answer; undefined when the client is gone. */
  readonly open: (headers: Readonly<Record<string, string>>) => EventStream | undefined;
}

/**
 * A client that wants a stream gets every event. All wait for the first events of the backend's answer, so that a failure
 *  before them is an ordinary error with a status.
 */
export function createStreamReply(translator: Translator, options: StreamReplyOptions): Reply {
  let stream: EventStream | undefined;
  let waiting: ResponseEvent[] = [];
  let backendHeaders: Readonly<Record<string, string>> | undefined;
  const hold = setTimeout(() => void open(), options.headerHoldMs);
  options.incoming.onceServed(() => clearTimeout(hold));

  return {
    answered(headers) {
      backendHeaders = headers;
    },
    write(events) {
      if (stream !== undefined) return stream.write(events);
      // Not spread: there may be more of them than a call takes arguments.
      for (const event of events) waiting.push(event);
      return backendHeaders !== undefined && translator.failure === null ? open() : undefined;
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

  function open(): Promise<void> | undefined {
    clearTimeout(hold);
    stream = options.open(backendHeaders ?? {});
    const events = waiting;
    waiting = [];
    return stream?.write(events);
  }
}
