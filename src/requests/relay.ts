/** The story of a chat completion that is counted: the bytes are the client's and the backend's own, the record is ours. */

import type { RelayedRead } from '../backend/answer.ts';
import type { ChatRelay, RelayedAnswer, RelayedRefusal, RelayRequest } from '../backend/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { createChatMeter } from '../core/reply/chat-meter.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { accept, type Accepted, type AcceptServices } from './accept.ts';
import { noteBackendCall, noteRead } from './facts.ts';
import type { Incoming } from './incoming.ts';
import type { Plan } from './prepare.ts';
import { sendDuplicate } from './show-record.ts';

/** A request for a chat completion. */
export interface IncomingChat extends Incoming {
  /** Begins the reply with the status and the headers of the backend's answer. */
  openReply(answer: RelayedAnswer, signal: StopSignal): RelayedReply;
  /** Sends what the backend refused the request with. */
  sendRefusal(refusal: RelayedRefusal): void;
}

/** The bytes of a backend's answer on their way to the client. */
export interface RelayedReply {
  /** The promise, when there is one, resolves as soon as the client can take more. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** Ends the reply before its end. Throws the error when the client can still be told of it by a status. */
  fail(error: ApiError): void;
}

export interface ChatPlan extends Plan {
  /** What is passed on, and the headers that go with it. */
  readonly request: RelayRequest;
  readonly headers: Readonly<Record<string, string>>;
}

export interface RelayServices extends AcceptServices {
  readonly relay: ChatRelay;
}

/** Passes one chat completion on. Throws the ApiError of a failure which the client has not been told of. */
export async function relayChat(incoming: IncomingChat, plan: ChatPlan, services: RelayServices): Promise<void> {
  const accepted = await accept(incoming, plan, services);
  if (accepted.kind === 'duplicate') return sendDuplicate(incoming, accepted.record);
  try {
    await pass(incoming, plan, accepted, services);
  } catch (thrown) {
    accepted.settleThrown(thrown);
    throw thrown;
  } finally {
    accepted.release();
  }
}

async function pass(
  incoming: IncomingChat,
  { request, headers, choices }: ChatPlan,
  accepted: Accepted,
  services: RelayServices,
): Promise<void> {
  const { facts } = incoming;
  const { signal } = accepted;
  const meter = createChatMeter(choices);
  let reply: RelayedReply | undefined;
  try {
    const asking = { signal, headers: { ...headers, ...noteBackendCall(facts) } };
    const refusal = await services.relay.relay(request, asking, { begin, take });
    await accepted.whenDecided();
    observe(() => (refusal === undefined ? meter.end(false) : meter.fail(refusal.error)));
    if (refusal === undefined) reply?.end();
    else incoming.sendRefusal(refusal);
  } catch (thrown) {
    const error = await accepted.failureOf(thrown);
    const wasOver = meter.ended;
    observe(() => meter.fail(error));
    if (reply === undefined) throw error;
    if (wasOver) reply.end();
    else reply.fail(error);
  }

  async function begin(answer: RelayedAnswer): Promise<void> {
    await accepted.whenDecided();
    facts.backend = 'answered';
    reply = incoming.openReply(answer, signal);
  }

  function take(read: RelayedRead): Promise<void> | undefined {
    const undecided = accepted.whenDecided();
    return undecided === undefined ? hand(read) : undecided.then(() => hand(read));
  }

  /** Waits for a client that reads slowly, which in turn slows the backend down. */
  function hand({ bytes, chunks, done, failure }: RelayedRead): Promise<void> | undefined {
    observe(() => {
      for (const chunk of chunks) meter.feed(chunk);
      noteRead(facts, chunks.length, meter.hasOutput);
      if (failure !== undefined) meter.fail(failure);
      else if (done) meter.end(true);
    });
    return reply?.write(bytes);
  }

  /** The record is final before the client can know of the end. */
  function observe(step: () => void): void {
    const wasOver = meter.ended;
    step();
    if (!wasOver && meter.ended) accepted.settle(meter);
  }
}
