/**
 * The only place that writes to a client. What may be sent, and when:
 *
 * - Nothing is sent before the record of the request is on disk, so that a client that knows of a
 *   request finds it.
 * - Nothing is sent while a cancel is being decided, so that the client and the record agree.
 * - What ends an answer is sent once the end of the record is on disk, and agrees with it.
 * - Until something was sent, a failure is a status. Afterwards it is the end of what was sent.
 */

import type { RelayedAnswer } from '../backend/chat.ts';
import type { RelayedRefusal } from '../backend/refusal.ts';
import { toApiError, type ApiError } from '../core/errors.ts';
import type { Translator } from '../core/reply/translator.ts';
import { NOTHING_REPORTED } from '../core/reply/usage.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { ResponseEvent } from '../contract/types.ts';
import type { Opened } from './accept.ts';
import type { ReplyHead } from '../telemetry/facts.ts';
import { failureToTell } from './failure-told.ts';
import type { ByteReply, EventReply, EventSink, Incoming } from './incoming.ts';
import type { Ending } from './outcome.ts';
import { takesLonger, yieldToEventLoop } from './soon.ts';

export interface Telling {
  /** Aborts with the ApiError for which the request ends early. */
  readonly signal: StopSignal;
  /**
   * Returns undefined if the next part of the answer may be read, since it may be sent at
   * once. Otherwise it resolves when that is so, and rejects if the request must end. A record that
   * waits begins now, unless the answer is whole with this part.
   */
  whenReady(isWhole?: boolean): Promise<void> | undefined;
  /** Waits until a cancel is decided, and returns why the request fails. Logs an internal error. */
  failureOf(thrown: unknown): Promise<ApiError>;
  /** Ends the record, unless that has been done. Resolves with the failure that agrees with it, or null. */
  end(ending: Ending): Promise<ApiError | null>;
  /** Ends the record of a request that failed by a throw. Resolves with what to throw in its place. */
  endThrown(thrown: unknown): Promise<unknown>;
  /** Whether anything may be sent now. */
  isAllowed(): boolean;
}

const NOTHING_CAME = { incompleteReason: null, reported: NOTHING_REPORTED, outputLength: 0 } as const;

/** Returns when a client may be told of a request that was accepted. */
export function openTelling(incoming: ReplyHead, { run, record, bill }: Opened): Telling {
  const { facts } = incoming;
  return { signal: run.signal, whenReady, failureOf, end, endThrown, isAllowed };

  function isAllowed(): boolean {
    const { is } = record.state();
    return is === 'begun' || is === 'ended';
  }

  function whenReady(isWhole = false): Promise<void> | undefined {
    const mayWait = isWhole && run.cancelDecided === undefined;
    const written = mayWait ? whenWritten() : record.begin();
    const decided = written === undefined ? run.cancelDecided : written.then(() => run.cancelDecided);
    return decided?.then(() => run.signal.throwIfAborted());
  }

  function whenWritten(): Promise<void> | undefined {
    const state = record.state();
    return state.is === 'beginning' ? state.written : undefined;
  }

  async function failureOf(thrown: unknown): Promise<ApiError> {
    await whenWritten();
    await run.cancelDecided;
    const reason = toApiError(run.signal.aborted ? run.signal.reason : thrown);
    const state = record.state();
    const error = state.is === 'refused' ? failureToTell(reason, { kind: 'refused', why: state.why }) : reason;
    if (error.code === 'internal_error') facts.log.error({ err: thrown }, 'the gateway failed');
    return error;
  }

  async function end(ending: Ending): Promise<ApiError | null> {
    const ended = await record.end(() => bill.settle(ending));
    const failure = failureToTell(ending.failure, ended);
    if (failure !== ending.failure) facts.errorCode = failure?.code;
    // A retry with the same key would only get a 409 for the duplicate.
    const keepsKey = 'keepsKey' in ended && (ended.keepsKey || failure !== ending.failure);
    if (failure !== null && keepsKey && !incoming.hasReplyBegun()) incoming.setHeader('x-should-retry', 'false');
    return failure;
  }

  async function endThrown(thrown: unknown): Promise<unknown> {
    const error = toApiError(thrown);
    const failure = await end({ ...NOTHING_CAME, failure: error, hasOutput: incoming.hasReplyBegun() });
    return failure === error ? thrown : failure;
  }
}

const RECORDED = Symbol('the end is recorded');

/** The end of an answer that may be sent, because the record has ended. Only `endRecord` makes one. */
export interface RecordedEnd {
  readonly [RECORDED]: true;
  readonly failure: ApiError | null;
  /** Whether nothing of the answer may be sent that would have been sent with its end. */
  readonly isRevoked: boolean;
}

export interface EventTelling extends Telling {
  /** The backend has begun to answer, so that a stream can begin. */
  answered(headers: Readonly<Record<string, string>>): void;
  /**
   * Sends these events, or keeps them until they may be sent: the last words of an answer until its
   * record is being ended, and the events that end the response until `sendEnd`. A returned promise
   * resolves when the client can take more.
   */
  send(events: readonly ResponseEvent[], isLast?: boolean): Promise<void> | undefined;
  /** Ends the record. If that takes long, what was kept before the end is sent meanwhile. */
  endRecord(ending: Ending): Promise<RecordedEnd>;
  /** Sends the end. Throws the ApiError of a failure that can still be sent as a status. */
  sendEnd(end: RecordedEnd): Promise<void>;
}

/** Longer than a commit takes on most disks, and nothing to somebody who reads. */
const SENT_WITHIN_MS = 20;

/** Tells the events of a response: as they come in a stream, and all at the end in JSON. */
export function tellEvents(
  telling: Telling,
  translator: Translator,
  { reply, incoming }: { readonly reply: EventReply; readonly incoming: Pick<Incoming, 'onceServed'> },
): EventTelling {
  const { headerHoldMs } = reply;
  let sink: EventSink | undefined;
  let headers: Readonly<Record<string, string>> | undefined;
  let kept = [...translator.start()];
  let last: readonly ResponseEvent[] = [];
  let hasWords = false;
  // Events are kept until the backend answers, so that a failure before that has a status.
  const timer = headerHoldMs === undefined ? undefined : setTimeout(() => void openWhenReady(), headerHoldMs);
  if (timer !== undefined) incoming.onceServed(() => clearTimeout(timer));

  return {
    ...telling,
    answered(backendHeaders) {
      headers = backendHeaders;
    },
    send(events, isLast = false) {
      if (translator.ended) {
        if (events.length > 0) last = events;
        return undefined;
      }
      if (headerHoldMs === undefined) return undefined;
      if (sink !== undefined && !isLast) return sink.write(events);
      // Not spread, since a call takes a limited number of arguments.
      for (const event of events) kept.push(event);
      hasWords ||= events.length > 0;
      return isLast || headers === undefined ? undefined : open();
    },
    async endRecord(ending) {
      const ended = telling.end(ending);
      // One write to the client in place of two saves up to a quarter of the CPU of a short stream.
      if (hasWords && kept.length > 0 && telling.isAllowed() && (await takesLonger(ended, SENT_WITHIN_MS))) void open();
      const failure = await ended;
      const isRevoked = failure !== null && failure !== ending.failure;
      if (isRevoked) last = translator.revoke(last, failure);
      return { [RECORDED]: true, failure, isRevoked };
    },
    async sendEnd({ failure, isRevoked }) {
      clearTimeout(timer);
      const isStatus = isRevoked || !hasWords || !telling.isAllowed();
      if (failure !== null && sink === undefined && isStatus) throw failure;
      sink ??= reply.open(headers ?? {});
      const events = kept.length === 0 ? last : [...kept, ...last];
      kept = [];
      if (translator.isLarge) await endInSlices(sink, events);
      else sink?.end(events);
    },
  };

  async function openWhenReady(): Promise<void> {
    try {
      await telling.whenReady();
    } catch {
      // The request ends, and can still end with a status.
      return;
    }
    if (sink === undefined && translator.failure === null) void open();
  }

  function open(): Promise<void> | undefined {
    if (!telling.isAllowed()) return undefined;
    clearTimeout(timer);
    sink ??= reply.open(headers ?? {});
    const events = kept;
    kept = [];
    return sink?.write(events);
  }
}

/** The last events of a large answer repeat all of it several times. */
async function endInSlices(sink: EventSink | undefined, events: readonly ResponseEvent[]): Promise<void> {
  let sinceMs = performance.now();
  for (const event of events.slice(0, -1)) {
    // What the client does not take has been counted, and is not waited for.
    void sink?.write([event]);
    if (performance.now() - sinceMs < SLICE_MS) continue;
    await yieldToEventLoop();
    sinceMs = performance.now();
  }
  sink?.end(events.slice(-1));
}

const SLICE_MS = 5;

/** Sends all of a response of which there is no record. */
export function tellUnrecorded(reply: EventReply, events: readonly ResponseEvent[]): void {
  reply.open({})?.end(events);
}

export interface ByteTelling extends Telling {
  /** Sends the head of the answer, when it may be sent. */
  begin(answer: RelayedAnswer): Promise<void>;
  /** Sends these bytes. If the answer has ended with them, the record ends first. */
  send(bytes: Uint8Array): Promise<void> | undefined;
  /**
   * Ends the record, and then the reply. Throws a failure that has to be told, but not that of an answer
   * which could not be read to its end while all of it was passed on.
   */
  sendEnd(end: {
    readonly refusal: RelayedRefusal | undefined;
    readonly unreadable: ApiError | undefined;
  }): Promise<void>;
  /** Ends the record of an answer that broke off, and then the reply. Throws the error if it can still be a status. */
  sendFailure(error: ApiError): Promise<void>;
}

/** What the meter of a relayed answer knows. */
export interface MeteredEnding extends Ending {
  readonly ended: boolean;
}

/** Tells a relayed answer byte for byte. The meter says when it has ended. */
export function tellBytes(telling: Telling, meter: MeteredEnding, replies: ByteReply): ByteTelling {
  let sink: ReturnType<ByteReply['open']> | undefined;
  let isEndRecorded = false;
  let ending: Promise<void> | undefined;

  return {
    ...telling,
    async failureOf(thrown) {
      const error = await telling.failureOf(thrown);
      // What stops the reading while the end is being recorded comes too late.
      await ending?.catch(() => undefined);
      return error;
    },
    async begin(answer) {
      await telling.whenReady();
      sink = replies.open(answer, telling.signal);
    },
    send(bytes) {
      if (!meter.ended || isEndRecorded) return sink?.write(bytes);
      ending ??= endFirst();
      return ending.then(() => sink?.write(bytes));
    },
    async sendEnd({ refusal, unreadable }) {
      const failure = await endAsMetered();
      if (refusal !== undefined) replies.refuse(refusal);
      else if (failure === null || failure === unreadable || isEndRecorded) sink?.end();
      else throw failure;
    },
    async sendFailure(error) {
      const failure = await telling.end(meter);
      if (sink === undefined) throw failure ?? error;
      // A connection that breaks after the finish reason has broken nothing.
      if (isEndRecorded) sink.end();
      else if (failure === null) sink.finish();
      else sink.fail(failure);
    },
  };

  async function endFirst(): Promise<void> {
    await endAsMetered();
    isEndRecorded = true;
  }

  /** Throws the failure of a record that has not ended as the answer did. */
  async function endAsMetered(): Promise<ApiError | null> {
    const failure = await telling.end(meter);
    if (failure !== null && failure !== meter.failure) throw failure;
    return failure;
  }
}
