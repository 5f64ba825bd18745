import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ErrorCode } from '../../core/errors.ts';
import type { ByteSink } from '../../requests/incoming.ts';
import { openChunkedBody } from '../../wire/chunked-body.ts';
import { awaitWritable, closeWhenStalled } from '../../access/stalled-client.ts';
import type { StopSignal } from '../../core/stop-signal.ts';

export interface RelayedReplyOptions {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly signal: StopSignal;
  readonly stallMs: number;
}

/** The gateway decides these ends. Any other one is a broken connection to the backend. */
const DECIDED_HERE = new Set<ErrorCode>(['request_cancelled', 'gateway_interrupted', 'upstream_timeout']);

/**
 * Sends the headers at once. A stream that the backend breaks, breaks here too; one that the
 * gateway ends gets an error event, which chat clients throw.
 */
export function openRelayedStream(res: ServerResponse, options: RelayedReplyOptions): ByteSink {
  const { signal, stallMs } = options;
  let tail: Uint8Array = Buffer.from('\n\n');
  res.writeHead(options.status, options.headers);
  res.flushHeaders();
  const body = openChunkedBody(res);
  const untilWritable = awaitWritable(res, signal);
  closeWhenStalled(res, stallMs);

  return {
    write(bytes) {
      if (bytes.length === 0 || res.destroyed) return undefined;
      tail = bytes.length < LONGEST_BLANK_LINE ? Buffer.concat([tail.subarray(-LONGEST_BLANK_LINE), bytes]) : bytes;
      return body.write(bytes) ? undefined : untilWritable();
    },
    end: () => body.end(),
    finish: () => endWith('[DONE]'),
    fail(error) {
      if (DECIDED_HERE.has(error.code)) endWith(JSON.stringify(error.toBody()));
      else res.destroy();
    },
  };

  /** An event in the middle of another one would not be understood. */
  function endWith(data: string): void {
    if (endsEvent(tail)) body.end(`data: ${data}\n\n`);
    else res.destroy();
  }
}

const LONGEST_BLANK_LINE = 4;

function endsEvent(bytes: Uint8Array): boolean {
  const end = Buffer.from(bytes.subarray(-LONGEST_BLANK_LINE)).toString('latin1');
  return /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)$/.test(end);
}

/** Holds the last read back, so that a client that has the whole reply finds a final record. */
export function openRelayedReply(res: ServerResponse, options: RelayedReplyOptions): ByteSink {
  const { signal, stallMs } = options;
  const untilWritable = awaitWritable(res, signal);
  let last: Uint8Array | undefined;

  return {
    write(bytes) {
      if (bytes.length === 0 || res.destroyed) return undefined;
      const previous = last;
      last = bytes;
      if (previous === undefined) return undefined;
      begin();
      return res.write(previous) ? undefined : untilWritable();
    },
    end,
    finish: end,
    fail(error) {
      if (!res.headersSent) throw error;
      res.destroy();
    },
  };

  function end(): void {
    begin();
    res.end(last);
  }

  function begin(): void {
    if (res.headersSent) return;
    res.writeHead(options.status, options.headers);
    closeWhenStalled(res, stallMs);
  }
}
