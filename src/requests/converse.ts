import type { RoutedAskOptions, RoutedChatBackend } from '../backend/failover.ts';
import type { BegunAnswer } from '../backend/chat.ts';
import type { Route } from '../core/routes.ts';
import type { ChatBatch } from '../core/chat.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import { toApiError } from '../core/errors.ts';
import type { Translator } from '../core/reply/translator.ts';
import { isWhole } from '../core/reply/usage.ts';
import type { ResponseEvent } from '../contract/types.ts';
import type { Compaction } from './compact.ts';
import { readOn } from './read-on.ts';
import { noteBackendCall, noteRead, noteUpstream } from '../telemetry/facts.ts';
import type { IncomingCreate } from './incoming.ts';
import { nameRefused } from './left-out.ts';
import type { ResponsePlan } from './plan.ts';
import type { OpenPrompt } from './prompt-turns.ts';
import type { EventTelling } from './telling.ts';

export interface Conversation {
  readonly backend: RoutedChatBackend;
  readonly exposesUpstream: boolean;
  readonly incoming: IncomingCreate;
  /** Makes the request for a backend of another kind, as `RoutedAskOptions` has it. */
  readonly reroute: RoutedAskOptions<ChatBody>['reroute'] | undefined;
  readonly compaction: Compaction | undefined;
  readonly translator: Translator;
  readonly telling: EventTelling;
  readonly prompt: OpenPrompt;
}

/** Some backends never end their stream after the finish reason. */
const USAGE_WAIT_MS = 5000;

/** Resolves when the response has ended, whose last events `telling` has kept. Does not throw. */
export async function converse(
  { translation, route: ofAnswer }: ResponsePlan,
  { backend, exposesUpstream, incoming, reroute, compaction, translator, telling, prompt }: Conversation,
): Promise<void> {
  const { facts } = incoming;
  const headers = { ...incoming.caller.backendHeaders, ...noteBackendCall(facts) };

  try {
    const chat = compaction === undefined ? translation.chat : await compact(compaction);
    if (chat !== undefined) await ask(chat, ofAnswer, translator);
  } catch (thrown) {
    const error = await telling.failureOf(thrown);
    await telling.send(error.code === 'request_cancelled' ? translator.cancel() : translator.fail(error));
  }

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
    await telling.send(translator.addCompaction(encryptedContent, { isLast: next === undefined }));
    return next?.();
  }

  async function ask(chat: ChatBody, route: Route, reader: Translator): Promise<void> {
    let begun: BegunAnswer | undefined;
    const awaitsUsage = (): boolean => reader.finishing && !reader.ended && !isWhole(reader.reported);
    const reading = readOn(telling, { awaitsUsage, take, takeUsage });
    try {
      await backend.ask(
        chat,
        {
          signal: reading.signal,
          headers,
          route,
          // A request that is compacted is made in two parts, which belong together.
          ...(compaction === undefined && reroute && { reroute }),
          caller: incoming.caller.holder().name,
          note(asked) {
            noteUpstream(incoming, asked, exposesUpstream);
            prompt.asked(asked);
          },
          // A summary is no turn of the conversation.
          ...(reader === translator && { sent: prompt.sent }),
        },
        {
          begin(answer) {
            facts.backend = 'answered';
            incoming.caller.noteAccepted?.();
            begun = answer;
            nameRefused(incoming, answer.leftOut);
            telling.answered(answer.headers);
          },
          take: (batch) => reading.take(batch),
        },
      );
    } finally {
      reading.end();
    }
    await telling.whenReady(reader === translator && reader.ended);
    if (reading.isForUsage()) telling.signal.throwIfAborted();
    if (!reader.ended) await send(reader.end(false));

    /** Nobody is left to be told, so what has come is kept out of the reply. */
    function takeUsage({ chunks, done }: ChatBatch): void {
      reader.feed(chunks);
      if (done || isWhole(reader.reported)) telling.signal.throwIfAborted();
    }

    /** Returns a promise if the client reads slowly, which pauses the backend. */
    function take({ chunks, done }: ChatBatch): Promise<void> | undefined {
      const events = reader.feed(chunks);
      noteRead(facts, chunks.length, reader.outputLength > 0);
      const isLast = done && !reader.ended;
      const busy = send(events, isLast);
      if (isLast) void send(reader.end(true));
      if (reader.failure !== null) throw reader.failure;
      if (reader.finishing && !reader.ended) {
        begun?.limitTotal(USAGE_WAIT_MS);
        begun = undefined;
      }
      return busy;
    }

    /** A summary is for nobody but the model. */
    function send(events: readonly ResponseEvent[], isLast = false): Promise<void> | undefined {
      return reader === translator ? telling.send(events, isLast) : undefined;
    }
  }
}
