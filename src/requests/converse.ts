import type { ChatBackend } from '../backend/chat.ts';
import type { ChatBatch, ChatRequest } from '../core/chat.ts';
import { ApiError, toApiError } from '../core/errors.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { ResponseEvent } from '../contract/types.ts';
import type { Compaction } from './compact.ts';
import type { Reply } from '../http/responses/reply.ts';
import { noteRead, type RequestFacts } from './facts.ts';
import type { RunningRequest } from './running.ts';

export interface Exchange {
  readonly backend: ChatBackend;
  readonly chat: ChatRequest;
  readonly backendHeaders: Readonly<Record<string, string>>;
  readonly translator: Translator;
  /** What is done first. It says what the backend is asked for then, in the place of `chat`. */
  readonly compaction?: Compaction | undefined;
  readonly reply: Reply;
  readonly facts: Pick<RequestFacts, 'backend' | 'firstOutputAtMs' | 'chunks'>;
  /** Its signal aborts with an ApiError that says why the request ends early. */
  readonly run: Pick<RunningRequest, 'signal' | 'cancelDecided'>;
  /** Called once, when it is known how the response ends and before the client is told. */
  readonly onEnd: () => void;
  /** A mistake of our own; the client learns no more than that there was one. */
  readonly onInternalError: (thrown: unknown) => void;
}

/** How long the usage may take to arrive after the backend's finish reason, whatever else comes. Some backends never end their stream. */
const USAGE_WAIT_MS = 5000;

/**
 * Asks the backend and hands its answer, translated, to the reply: one path for streams and JSON. Throws the ApiError of a
 * failure that the client has not been told of by then.
 */
export async function runExchange(exchange: Exchange): Promise<void> {
  const { translator, reply, run, facts } = exchange;
  const { signal } = run;
  let endKnown = false;

  try {
    await deliver(translator.start());
    const chat = exchange.compaction === undefined ? exchange.chat : await compact(exchange.compaction);
    if (chat !== undefined) await ask(chat, translator);
  } catch (thrown) {
    await run.cancelDecided;
    const error = toApiError(signal.aborted ? signal.reason : thrown);
    if (error.code === 'internal_error') exchange.onInternalError(thrown);
    await deliver(error.code === 'request_cancelled' ? translator.cancel() : translator.fail(error));
  }
  reply.end();

  /** Lets the backend write a summary and tells the client of the compaction. Returns what the backend is asked for next. */
  async function compact({ chat, summary, finish }: Compaction): Promise<ChatRequest | undefined> {
    try {
      await ask(chat, summary);
    } catch (thrown) {
      // What it has written may be complete all the same.
      summary.fail(toApiError(thrown));
      if (summary.failure !== null) throw thrown;
    } finally {
      translator.addSpent(summary);
    }
    const { encryptedContent, next } = finish();
    await deliver(translator.addCompaction(encryptedContent, { isLast: next === undefined }));
    return next;
  }

  async function ask(chat: ChatRequest, reader: Translator): Promise<void> {
    const answer = await exchange.backend.ask(chat, { signal, headers: exchange.backendHeaders });
    facts.backend = 'answered';
    reply.answered(answer.headers);
    await pump(answer.batches, reader);
  }

  async function pump(batches: AsyncIterable<ChatBatch>, reader: Translator): Promise<void> {
    const iterator = batches[Symbol.asyncIterator]();
    let usageDeadlineMs: number | undefined;
    try {
      while (!reader.ended) {
        if (reader.finishing) usageDeadlineMs ??= performance.now() + USAGE_WAIT_MS;
        const read = iterator.next();
        const next = await (usageDeadlineMs === undefined ? read : untilDeadline(read, usageDeadlineMs));
        if (run.cancelDecided !== undefined) {
          await run.cancelDecided;
          signal.throwIfAborted();
        }
        const events = next.done === true ? reader.end(false) : translate(next.value, reader);
        // Nobody is told of a summary but by the compaction that it becomes.
        const delivery = reader === translator ? deliver(events) : undefined;
        // Nearly always there is nothing to wait for, and a wait for nothing costs a turn of the promises.
        if (delivery !== undefined) await delivery;
      }
    } finally {
      await iterator.return?.();
    }
  }

  function translate(batch: ChatBatch, reader: Translator): readonly ResponseEvent[] {
    const events: ResponseEvent[] = [];
    for (const chunk of batch.chunks) for (const event of reader.feed(chunk)) events.push(event);
    noteRead(facts, batch.chunks.length, reader.outputLength > 0);
    if (batch.done) for (const event of reader.end(true)) events.push(event);
    return events;
  }

  /** Waits for a client that reads slowly, which in turn slows the backend down. */
  function deliver(events: readonly ResponseEvent[]): Promise<void> | undefined {
    if (translator.ended && !endKnown) {
      endKnown = true;
      exchange.onEnd();
    }
    return reply.write(events);
  }
}

/** What is there already counts as in time. Throws ApiError `upstream_timeout` after the deadline. */
async function untilDeadline(
  next: Promise<IteratorResult<ChatBatch, unknown>>,
  deadlineMs: number,
): Promise<IteratorResult<ChatBatch, unknown>> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ApiError('upstream_timeout')), Math.max(0, deadlineMs - performance.now()));
  });
  // The loser of the race may be rejected later, when the iteration is given up.
  next.catch(() => undefined);
  try {
    return await Promise.race([next, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}
