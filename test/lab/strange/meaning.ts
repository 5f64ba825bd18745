/** What an answer comes to for a client, so that two answers can be compared. */

import { readJson } from '../../../src/core/json.ts';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';
import { createChatMeter } from '../../../src/core/reply/chat-meter.ts';
import type { CreateResponse, ResponseResource } from '../../../src/contract/types.ts';
import { askedOf, goOn } from '../../support/conversation.ts';
import { expectLonger } from '../../support/chat-prefix.ts';
import { translate, type Answer, type MachineSettings } from '../../support/machine.ts';
import { readAnswer } from '../../support/read-answer.ts';
import { expectWellFormed } from '../../support/well-formed.ts';
import { choicesIn, type Chunks } from './answer.ts';

export interface Meaning {
  readonly status: string;
  readonly incomplete: string | undefined;
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly usage: ResponseResource['usage'];
  /** What a managed key pays for the same bytes on chat completions, and how its record ends. */
  readonly charged: unknown;
}

/** Writes the chunks as the stream that they came in. */
export function toSse(chunks: Chunks, done: boolean): string {
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}${done ? 'data: [DONE]\n\n' : ''}`;
}

export function isCompletion(chunks: Chunks): boolean {
  return chunks.length === 1 && choicesIn(chunks[0] ?? {}).some(({ message }) => message !== undefined);
}

/** Reads a stream, or the one chunk of a completion, as the gateway does. */
export function answerOf(chunks: Chunks, done: boolean): Answer {
  const [completion] = chunks;
  if (completion !== undefined && isCompletion(chunks))
    return { chunks: [chunkFromCompletion(completion)], done: true };
  return readAnswer(Buffer.from(toSse(chunks, done)));
}

/** Throws an AssertionError unless the events are well-formed, and the next turn is the longer request of a strict backend. */
export function meaningOf(answer: Answer, request: CreateResponse, settings: MachineSettings): Meaning {
  const response = expectWellFormed(translate(answer, request, settings));
  if (response.status !== 'failed')
    expectLonger(
      askedOf(goOn(request, response.output), settings),
      askedOf(request, settings),
      settings.dialect ?? 'generic',
    );
  const { status, output, output_text: text, usage, incomplete_details: incomplete } = response;
  return {
    status,
    incomplete: incomplete?.reason,
    text,
    // White space beside a tag is no thought.
    thoughts: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary.map((part) => part.text) : []))
      .join('')
      .trim(),
    // Equal objects are equal in any order and with any white space.
    calls: output.flatMap((item) =>
      item.type === 'function_call' ? [{ name: item.name, arguments: readJson(item.arguments) ?? item.arguments }] : [],
    ),
    usage,
    charged: chargedFor(answer),
  };
}

function chargedFor({ chunks, done, failure }: Answer): unknown {
  const meter = createChatMeter(1);
  for (const chunk of chunks) meter.feed(chunk);
  if (failure === undefined) meter.end(done);
  else meter.fail(failure);
  return { usage: meter.reported.usage, incomplete: meter.incompleteReason, failed: meter.failure !== null };
}
