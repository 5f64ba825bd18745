/** Passes a chat completion through unchanged, and keeps a record of the request. */

import type { RelayedRead } from '../backend/answer.ts';
import type { RoutedChatRelay } from '../backend/failover.ts';
import type { RelayedAnswer } from '../backend/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { createChatMeter } from '../core/reply/chat-meter.ts';
import { createTextMeter } from '../core/reply/text-in-json.ts';
import { isWhole } from '../core/reply/usage.ts';
import { accept, prepareOnce, type AcceptServices } from './accept.ts';
import type { Bill } from './bill.ts';
import { readOn } from './read-on.ts';
import { noteBackendCall, noteRead, noteUpstream } from '../telemetry/facts.ts';
import type { IncomingChat } from './incoming.ts';
import type { BackendSpec } from '../core/routes.ts';
import { rerouterOf } from './reroute.ts';
import type { ChatPlan } from './plan.ts';
import type { OpenPrompt } from './prompt-turns.ts';
import { sendDuplicate } from './show-record.ts';
import { openTelling, tellBytes, type Telling } from './telling.ts';

export interface RelayServices extends AcceptServices {
  readonly relay: RoutedChatRelay;
}

/** Throws the ApiError of a failure that can still be sent as a status. */
export async function relayChat(incoming: IncomingChat, services: RelayServices): Promise<void> {
  const plan = await prepareOnce(incoming, 'chat.completions', services);
  if ('record' in plan) return sendDuplicate(incoming, plan.record, services);
  const accepted = await accept(incoming, plan, services);
  if (accepted.kind === 'duplicate') return sendDuplicate(incoming, accepted.record, services);
  const telling = openTelling(incoming, accepted);
  try {
    await relay({ incoming, plan, bill: accepted.bill, prompt: accepted.prompt, telling }, services);
  } catch (thrown) {
    throw await telling.endThrown(thrown);
  } finally {
    accepted.release();
  }
}

interface Relaying {
  readonly bill: Bill;
  readonly prompt: OpenPrompt;
  readonly incoming: IncomingChat;
  readonly plan: ChatPlan;
  readonly telling: Telling;
}

async function relay(
  { incoming, plan, bill, prompt, telling: beginnings }: Relaying,
  services: RelayServices,
): Promise<void> {
  const { facts } = incoming;
  const { request, route, headers, choices } = plan;
  const meter = createChatMeter(choices);
  const telling = tellBytes(beginnings, meter, incoming.reply);
  let isJson = false;
  const textLengthWith = createTextMeter();
  /** Of what was not parsed, or not yet. In JSON only its text counts, as it would in a stream. */
  let unreadLength = 0;
  /** Set once the answer cannot be read any further, while the rest is passed on. */
  let unreadable: ApiError | undefined;
  // A completion in JSON comes with its finish reason and its usage.
  const isAlmostOver = (): boolean => meter.finishing || unreadLength > 0;
  const awaitsUsage = (): boolean => isAlmostOver() && !meter.ended && !isWhole(meter.reported);
  const reroute = rerouterOf(plan, {
    prepare: (backend) => incoming.prepare(backend),
    use: (next) => (bill.reroute(next) ? next.request : undefined),
  });
  const reading = readOn(telling, { awaitsUsage, take, takeUsage });
  try {
    const asking = {
      signal: reading.signal,
      headers: { ...headers, ...noteBackendCall(facts) },
      route,
      ...(reroute && { reroute }),
      caller: incoming.caller.holder().name,
      note(backend: BackendSpec) {
        noteUpstream(incoming, backend, services.policy().exposesUpstream);
        prompt.asked(backend);
      },
      sent: prompt.sent,
    };
    const refusal = await services.relay.relay(request, asking, { begin, take: (read) => reading.take(read) });
    await telling.whenReady();
    if (reading.isForUsage()) telling.signal.throwIfAborted();
    if (unreadable !== undefined) failUnread(unreadable);
    else if (refusal === undefined) meter.end(false);
    else meter.fail(refusal.error);
    await telling.sendEnd({ refusal, unreadable });
  } catch (thrown) {
    const error = await telling.failureOf(thrown);
    // JSON that was cut has not been parsed.
    if (reading.isForUsage() || unreadable !== undefined) failUnread(error);
    else meter.fail(error);
    await telling.sendFailure(error);
  } finally {
    reading.end();
  }

  async function begin(answer: RelayedAnswer): Promise<void> {
    await telling.begin(answer);
    facts.backend = 'answered';
    isJson = !answer.isEventStream;
  }

  /** Nobody is left to be told. */
  function takeUsage(read: RelayedRead): void {
    measure(read);
    if (read.done || isWhole(meter.reported)) telling.signal.throwIfAborted();
  }

  function measure({ bytes, chunks, failure, unparsed }: RelayedRead): void {
    for (const chunk of chunks) meter.feed(chunk);
    if (isJson) unreadLength = chunks.length > 0 ? 0 : textLengthWith(bytes);
    else if (unreadable !== undefined || unparsed !== undefined) unreadLength += bytes.length;
    if (unparsed === undefined) return;
    meter.feed(unparsed);
    unreadable ??= failure;
  }

  /** What the client may have got without being read counts as output. */
  function failUnread(error: ApiError): void {
    meter.addUnread(unreadLength);
    meter.fail(error);
  }

  /** A returned promise pauses the backend while the store or the client is slow. */
  function take(read: RelayedRead): Promise<void> | undefined {
    const { bytes, chunks, done, failure } = read;
    measure(read);
    noteRead(facts, chunks.length, meter.hasOutput);
    if (failure !== undefined && unreadable === undefined) meter.fail(failure);
    else if (done) meter.end(true);
    return telling.send(bytes);
  }
}
