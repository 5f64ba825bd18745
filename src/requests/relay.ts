/** Passes a chat completion through unchanged, and keeps a record of the request. */

import type { RelayedRead } from '../backend/answer.ts';
import type { RoutedChatRelay } from '../backend/failover.ts';
import type { RelayedAnswer, RelayedRefusal, RelayRequest } from '../backend/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { createChatMeter } from '../core/reply/chat-meter.ts';
import { isWhole } from '../core/reply/usage.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { accept, type Accepted, type AcceptServices } from './accept.ts';
import { readOn } from './read-on.ts';
import { noteBackendCall, noteRead, noteUpstream } from './facts.ts';
import type { Incoming } from './incoming.ts';
import { isOfOneKind, type BackendSpec, type RoutedBackend } from '../core/routes.ts';
import { moverOf } from './move.ts';
import type { Plan } from './plan.ts';
import { sendDuplicate } from './show-record.ts';

export interface IncomingChat extends Incoming {
  /** As `IncomingCreate` has it. */
  prepare(backend?: RoutedBackend): Promise<ChatPlan>;
  openReply(answer: RelayedAnswer, signal: StopSignal): RelayedReply;
  sendRefusal(refusal: RelayedRefusal): void;
}

export interface RelayedReply {
  /** A returned promise resolves when the client can take more. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** Says that a stream is over whose backend has not said so after the finish reason. */
  finish(): void;
  /** Cuts the reply off. Throws the error if it can still be sent as a status. */
  fail(error: ApiError): void;
}

export interface ChatPlan extends Plan {
  readonly request: RelayRequest;
  readonly headers: Readonly<Record<string, string>>;
}

export interface RelayServices extends AcceptServices {
  readonly relay: RoutedChatRelay;
}

/** Throws the ApiError of a failure that can still be sent as a status. */
export async function relayChat(incoming: IncomingChat, services: RelayServices): Promise<void> {
  const plan = await incoming.prepare();
  const accepted = await accept(incoming, plan, services);
  if (accepted.kind === 'duplicate') return sendDuplicate(incoming, accepted.record, services);
  try {
    await relay(incoming, plan, accepted, services);
  } catch (thrown) {
    throw await accepted.settleThrown(thrown);
  } finally {
    accepted.release();
  }
}

async function relay(
  incoming: IncomingChat,
  plan: ChatPlan,
  accepted: Accepted,
  services: RelayServices,
): Promise<void> {
  const { facts } = incoming;
  const { request, route, headers, choices } = plan;
  const { signal } = accepted;
  const meter = createChatMeter(choices);
  let reply: RelayedReply | undefined;
  let isEndTold = false;
  let telling: Promise<void> | undefined;
  let isJson = false;
  /** Of what was not parsed, or not yet. */
  let unreadBytes = 0;
  /** Set once the answer cannot be read any further, while the rest is passed on. */
  let unreadable: ApiError | undefined;
  // A completion in JSON comes with its finish reason and its usage.
  const isAlmostOver = (): boolean => meter.finishing || unreadBytes > 0;
  const awaitsUsage = (): boolean => isAlmostOver() && !meter.ended && !isWhole(meter.reported);
  const reading = readOn(accepted, { awaitsUsage, take, takeUsage });
  try {
    const asking = {
      signal: reading.signal,
      headers: { ...headers, ...noteBackendCall(facts) },
      route,
      ...(!isOfOneKind(route) && {
        move: moverOf(plan, {
          prepare: (backend) => incoming.prepare(backend),
          use: (next) => (accepted.move(next) ? next.request : undefined),
        }),
      }),
      caller: incoming.caller.holder().name,
      note: (backend: BackendSpec) => noteUpstream(incoming, backend, services.exposeUpstream),
    };
    const refusal = await services.relay.relay(request, asking, { begin, take: (read) => reading.take(read) });
    await accepted.whenDecided();
    if (reading.isForUsage()) signal.throwIfAborted();
    if (unreadable !== undefined) failUnread(unreadable);
    else if (refusal === undefined) meter.end(false);
    else meter.fail(refusal.error);
    const failure = await settle();
    if (refusal !== undefined) incoming.sendRefusal(refusal);
    else if (failure === null || failure === unreadable || isEndTold) reply?.end();
    else throw failure;
  } catch (thrown) {
    const error = await accepted.failureOf(thrown);
    // What stops the reading while the end is being recorded comes too late.
    await telling?.catch(() => undefined);
    // JSON that was cut has not been parsed.
    if (reading.isForUsage() || unreadable !== undefined) failUnread(error);
    else meter.fail(error);
    const failure = await accepted.settle(meter);
    if (reply === undefined) throw failure ?? error;
    // A connection that breaks after the finish reason has broken nothing.
    if (isEndTold) reply.end();
    else if (failure === null) reply.finish();
    else reply.fail(failure);
  } finally {
    reading.end();
  }

  async function begin(answer: RelayedAnswer): Promise<void> {
    await accepted.whenDecided();
    facts.backend = 'answered';
    isJson = !answer.isEventStream;
    reply = incoming.openReply(answer, signal);
  }

  /** Nobody is left to be told. */
  function takeUsage(read: RelayedRead): void {
    measure(read);
    if (read.done || isWhole(meter.reported)) signal.throwIfAborted();
  }

  function measure({ bytes, chunks, failure, unparsed }: RelayedRead): void {
    for (const chunk of chunks) meter.feed(chunk);
    if (isJson && chunks.length > 0) unreadBytes = 0;
    else if (isJson || unreadable !== undefined || unparsed !== undefined) unreadBytes += bytes.length;
    if (unparsed === undefined) return;
    meter.feed(unparsed);
    unreadable ??= failure;
  }

  /** What the client may have got without being read counts as output. */
  function failUnread(error: ApiError): void {
    meter.addUnread(unreadBytes);
    meter.fail(error);
  }

  /** A returned promise pauses the backend while the store or the client is slow. */
  function take(read: RelayedRead): Promise<void> | undefined {
    const { bytes, chunks, done, failure } = read;
    const wasOver = meter.ended;
    measure(read);
    noteRead(facts, chunks.length, meter.hasOutput);
    if (failure !== undefined && unreadable === undefined) meter.fail(failure);
    else if (done) meter.end(true);
    if (wasOver || !meter.ended) return reply?.write(bytes);
    // These bytes tell the end.
    telling = settleBeforeTelling();
    return telling.then(() => reply?.write(bytes));
  }

  async function settleBeforeTelling(): Promise<void> {
    await settle();
    isEndTold = true;
  }

  /** Throws the failure of a record that has not ended as the answer did. */
  async function settle(): Promise<ApiError | null> {
    facts.unknownFinish = meter.unknownReason;
    const failure = await accepted.settle(meter);
    if (failure !== null && failure !== meter.failure) throw failure;
    return failure;
  }
}
