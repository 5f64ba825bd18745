import type { RoutedAskOptions, RoutedChatBackend } from '../backend/failover.ts';
import type { BegunAnswer } from '../backend/chat.ts';
import type { Route } from '../core/routes.ts';
import type { ChatBatch } from '../core/chat.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import { toApiError, type ApiError } from '../core/errors.ts';
import type { Translator } from '../core/reply/translator.ts';
import { isWhole } from '../core/reply/usage.ts';
import type { ResponseEvent } from '../contract/types.ts';
import type { Accepted } from './accept.ts';
import type { Compaction } from './compact.ts';
import { readOn } from './read-on.ts';
import { noteBackendCall, noteRead, noteUpstream } from './facts.ts';
import type { IncomingCreate, Reply } from './incoming.ts';
import { nameRefused } from './left-out.ts';

export interface Conversation {
  readonly backend: RoutedChatBackend;
  readonly exposeUpstream: boolean;
  readonly incoming: Pick<IncomingCreate, 'caller' | 'facts' | 'setHeader' | 'hasReplyBegun'>;
  readonly chat: ChatBody;
  readonly route: Route;
  /** Makes it for a backend of another kind, as `RoutedAskOptions` has it. */
  readonly move?: NonNullable<RoutedAskOptions<ChatBody>['move']>;
  readonly compaction: Compaction | undefined;
  readonly translator: Translator;
  readonly reply: Reply;
  readonly accepted: Accepted;
}

/** Some backends never end their stream after the finish reason. */
const USAGE_WAIT_MS = 5000;

/** The events that have not been sent yet. */
export interface Unsent {
  /** What the last read of an answer has said. It may be told before the record has ended, once that has begun. */
  readonly said: readonly ResponseEvent[];
  /** What ends the response, which may not. */
  readonly end: readonly ResponseEvent[];
}

/** Resolves when the response has ended. Does not throw. */
export async function converse(conversation: Conversation): Promise<Unsent> {
  const { backend, exposeUpstream, incoming, translator, reply, accepted } = conversation;
  const { facts } = incoming;
  const headers = { ...incoming.caller.backendHeaders, ...noteBackendCall(facts) };
  let unsent: Unsent = { said: [], end: [] };

  try {
    await send(translator.start());
    const chat = conversation.compaction === undefined ? conversation.chat : await compact(conversation.compaction);
    if (chat !== undefined) await ask(chat, conversation.route, translator);
  } catch (thrown) {
    const error = await accepted.failureOf(thrown);
    await send(error.code === 'request_cancelled' ? translator.cancel() : translator.fail(error));
  }
  return unsent;

  async function compact({ chat, route, summary, finish }: Compaction): Promise<ChatBody | undefined> {
    try {
      await ask(chat, route, summary);
    } catch (thrown) {
      // The summary may be complete even if the connection broke after it.
      summary.fail(toApiError(thrown));
      if (summary.failure !== null) throw thrown;
    } finally {
      translator.addSpent(summary);
    }
    const { encryptedContent, next } = finish();
    await send(translator.addCompaction(encryptedContent, { isLast: next === undefined }));
    return next;
  }

  async function ask(chat: ChatBody, route: Route, reader: Translator): Promise<void> {
    let begun: BegunAnswer | undefined;
    const awaitsUsage = (): boolean => reader.finishing && !reader.ended && !isWhole(reader.reported);
    const reading = readOn(accepted, { awaitsUsage, take, takeUsage });
    try {
      await backend.ask(
        chat,
        {
          signal: reading.signal,
          headers,
          route,
          // A request that is compacted is made in two parts, which belong together.
          ...(conversation.compaction === undefined && conversation.move && { move: conversation.move }),
          caller: incoming.caller.holder().name,
          note: (asked) => noteUpstream(incoming, asked, exposeUpstream),
        },
        {
          begin(answer) {
            facts.backend = 'answered';
            incoming.caller.noteAccepted?.();
            begun = answer;
            nameRefused(incoming, answer.leftOut);
            reply.answered(answer.headers);
          },
          take: (batch) => reading.take(batch),
        },
      );
    } finally {
      reading.end();
    }
    await accepted.whenDecided(reader === translator && reader.ended);
    if (reading.isForUsage()) accepted.signal.throwIfAborted();
    if (!reader.ended) await pass(reader.end(false), reader);

    /** Nobody is left to be told, so what has come is kept out of the reply. */
    function takeUsage({ chunks, done }: ChatBatch): void {
      reader.feed(chunks);
      if (done || isWhole(reader.reported)) accepted.signal.throwIfAborted();
    }

    function take({ chunks, done }: ChatBatch): Promise<void> | undefined {
      const events = reader.feed(chunks);
      noteRead(facts, chunks.length, reader.outputLength > 0);
      if (done && !reader.ended) return takeLast(events);
      const busy = pass(events, reader);
      if (reader.failure !== null) throw reader.failure;
      if (reader.finishing && !reader.ended) {
        begun?.limitTotal(USAGE_WAIT_MS);
        begun = undefined;
      }
      return busy;
    }

    /** Nothing more comes from the backend, and the record does not wait for a client that reads slowly. */
    function takeLast(said: readonly ResponseEvent[]): Promise<void> | undefined {
      const end = reader.end(true);
      const { failure } = reader;
      if (reader === translator) {
        unsent = { said: failure === null ? said : [], end };
        // If nothing is said, a failure can still be sent as a status.
        if (failure !== null && said.length > 0) return tellAndFail(said, failure);
      }
      if (failure !== null) throw failure;
      return undefined;
    }
  }

  async function tellAndFail(said: readonly ResponseEvent[], failure: ApiError): Promise<never> {
    await accepted.whenDecided();
    void reply.write(said);
    throw failure;
  }

  function pass(events: readonly ResponseEvent[], reader: Translator): Promise<void> | undefined {
    return reader === translator ? send(events) : undefined;
  }

  /** Returns a promise if the client reads slowly, which pauses the backend. */
  function send(events: readonly ResponseEvent[]): Promise<void> | undefined {
    if (!translator.ended) return reply.write(events);
    if (events.length > 0) unsent = { said: [], end: events };
    return undefined;
  }
}
