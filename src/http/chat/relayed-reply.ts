import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ErrorCode } from '../../core/errors.ts';
import type { RelayedReply } from '../../requests/relay.ts';
import { closeWhenStalled, untilWritable } from '../stalled-client.ts';
import type { StopSignal } from '../../core/stop-signal.ts';

export interface RelayedReplyOptions {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  /** Aborts when the request ends early; a write does not wait for the client any longer then. */
  readonly signal: StopSignal;
  /** A client that takes nothing for so long is gone. */
  readonly stallMs: number;
}

/** The ends which are decided here. All others are the connection to the backend breaking. */
const DECIDED_HERE = new Set<ErrorCode>(['request_cancelled', 'gateway_interrupted', 'upstream_timeout']);

/**
 * An event stream. Its headers are sent at once: the client should know that the backend has answered, also when the first
 * event takes its time. When it breaks at the backend it breaks here, as it would without the gateway; when it is ended here,
 * an error event says why, which chat clients throw.
 */
export function openRelayedStream(res: ServerResponse, options: RelayedReplyOptions): RelayedReply {
  const { signal, stallMs } = options;
  /** What was sent last, enough to see a blank line in it. */
  let tail: Uint8Array = Buffer.from('\n\n');
  res.writeHead(options.status, options.headers);
  res.flushHeaders();
  closeWhenStalled(res, stallMs);

  return {
    write(bytes) {
      if (bytes.length === 0 || res.destroyed) return undefined;
      tail = bytes.length < LONGEST_BLANK_LINE ? Buffer.concat([tail.subarray(-LONGEST_BLANK_LINE), bytes]) : bytes;
      return res.write(bytes) ? undefined : untilWritable(res, signal);
    },
    end: () => void res.end(),
    fail(error) {
      // In the middle of an event nothing can be said that would be understood.
      if (DECIDED_HERE.has(error.code) && endsEvent(tail)) res.end(`data: ${JSON.stringify(error.toBody())}\n\n`);
      else res.destroy();
    },
  };
}

/** The end of a line, and of an empty one, both by CRLF. */
const LONGEST_BLANK_LINE = 4;

function endsEvent(bytes: Uint8Array): boolean {
  const end = Buffer.from(bytes.subarray(-LONGEST_BLANK_LINE)).toString('latin1');
  return /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)$/.test(end);
}

/**
 * Any other answer. What came last is held back until it is known whether it is the end, so that a client which has all of its
 * reply finds a final record.
 */
export function openRelayedReply(res: ServerResponse, options: RelayedReplyOptions): RelayedReply {
  const { signal, stallMs } = options;
  let last: Uint8Array | undefined;

  return {
    write(bytes) {
      if (bytes.length === 0 || res.destroyed) return undefined;
      const previous = last;
      last = bytes;
      if (previous === undefined) return undefined;
      begin();
      return res.write(previous) ? undefined : untilWritable(res, signal);
    },
    end() {
      begin();
      res.end(last);
    },
    fail(error) {
      if (!res.headersSent) throw error;
      res.destroy();
    },
  };

  function begin(): void {
    if (res.headersSent) return;
    res.writeHead(options.status, options.headers);
    closeWhenStalled(res, stallMs);
  }
}
