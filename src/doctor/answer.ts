import { createAnswerReader } from '../backend/answer-reader.ts';
import { failureOf, ONLY_SETTINGS } from '../backend/failures.ts';
import type { RawReply } from './inquiry.ts';
import type { ChatChunk } from '../core/chat.ts';
import { beginCall, createCallList, findCall } from '../core/reply/match-call.ts';
import { callPiecesOf, choiceOf, deltaOf, finishReasonOf, textPiecesOf } from '../core/reply/chunk.ts';
import { TAGS } from '../core/reply/think-tags.ts';
import { ApiError } from '../core/errors.ts';
import { readUsage } from '../core/reply/usage.ts';
import type { Usage } from '../contract/types.ts';

export interface BackendAnswer {
  readonly text: string;
  /** Holds the tag of a block in the text, such as `<think>`, and `</think>` for one that the template opened. */
  readonly reasoningIn: readonly string[];
  readonly calls: readonly AnsweredCall[];
  readonly finishReason: string | undefined;
  readonly usage: Usage | undefined;
  readonly isUsageApart: boolean;
  readonly isStream: boolean;
  /** Is true for `[DONE]`, and for one whole document. */
  readonly isDone: boolean;
  readonly chunks: readonly ChatChunk[];
}

interface AnsweredCall {
  readonly name: string;
  readonly arguments: string;
}

/** Returns the error of a reply without secrets; undefined for a 2xx. */
export function refusalIn(reply: RawReply, secrets: readonly string[]): ApiError | undefined {
  if (reply.status >= 200 && reply.status < 300) return undefined;
  const { status, headers, text: body } = reply;
  return failureOf({ status, headers, body, keyOwner: 'caller', secrets }).error;
}

/** Reads a 2xx reply. Throws ApiError where it is no completion, or reports a failure. */
export function readAnswer(reply: RawReply, secrets: readonly string[]): BackendAnswer {
  const { status, headers, text } = reply;
  const reader = createAnswerReader(headers, {
    toError: (body) => failureOf({ status, headers, body, keyOwner: 'caller', secrets }).error,
    onOperatorProblem: undefined,
    settings: ONLY_SETTINGS,
  });
  const reads = [reader.feed(Buffer.from(text)), reader.end()];
  const failure = reads.find((read) => read.failure !== undefined)?.failure;
  if (failure !== undefined) throw failure;
  const chunks = reads.flatMap((read) => read.chunks);
  const isStream = !/^\s*\{/.test(text);
  return {
    ...readChunks(chunks),
    isStream,
    isDone: reads.some(({ done }) => done),
    chunks,
  };
}

function readChunks(chunks: readonly ChatChunk[]): Omit<BackendAnswer, 'isStream' | 'isDone' | 'chunks'> {
  const pieces = chunks.flatMap(piecesOf).filter(({ kind }) => kind === 'text');
  const text = pieces.map((piece) => piece.text).join('');
  const withUsage = chunks.findLast((chunk) => readUsage(chunk, choiceOf(chunk)) !== undefined);
  const usageChoice = withUsage && choiceOf(withUsage);
  return {
    text: withoutThoughts(text),
    reasoningIn: [...new Set([...chunks.flatMap(reasoningFieldsOf), ...thinkTagsIn(text)])],
    calls: callsOf(chunks),
    finishReason: chunks.map(choiceOf).reduce<string | undefined>((last, choice) => {
      return (choice && finishReasonOf(choice)) ?? last;
    }, undefined),
    usage: withUsage && readUsage(withUsage, usageChoice),
    isUsageApart: withUsage !== undefined && usageChoice === undefined,
  };
}

function withoutThoughts(text: string): string {
  const [tag] = thinkTagsIn(text);
  if (tag === undefined) return text;
  const close = TAGS.find(({ open }) => open === tag)?.close ?? tag;
  const [, ...answer] = text.split(close);
  return answer.join(close);
}

/** A tag in the middle, of which the model speaks, opens and closes. */
function thinkTagsIn(text: string): readonly string[] {
  const tag = TAGS.find(({ open }) => text.trimStart().startsWith(open));
  if (tag !== undefined) return [tag.open];
  const [before, ...after] = text.split('</think>');
  return after.length > 0 && before?.includes('<think>') === false ? ['</think>'] : [];
}

function piecesOf(chunk: ChatChunk): ReturnType<typeof textPiecesOf> {
  const choice = choiceOf(chunk);
  return choice === undefined ? [] : textPiecesOf(deltaOf(choice));
}

/** Encrypted reasoning has no text. */
function reasoningFieldsOf(chunk: ChatChunk): string[] {
  const choice = choiceOf(chunk);
  if (choice === undefined || !piecesOf(chunk).some(({ kind }) => kind === 'reasoning')) return [];
  const delta = deltaOf(choice);
  const fields = ['reasoning_content', 'reasoning', 'reasoning_text', 'reasoning_details'].filter((name) =>
    hasContent(delta[name]),
  );
  return fields.length > 0 ? fields : ['thinking parts'];
}

function hasContent(value: unknown): boolean {
  return (typeof value === 'string' || Array.isArray(value)) && value.length > 0;
}

function callsOf(chunks: readonly ChatChunk[]): readonly AnsweredCall[] {
  const calls = createCallList();
  for (const [number, chunk] of chunks.entries()) {
    const choice = choiceOf(chunk);
    for (const piece of choice === undefined ? [] : callPiecesOf(deltaOf(choice))) {
      const known = findCall(calls, piece, number);
      const call = known ?? beginCall(piece);
      if (known === undefined) calls.add(call);
      call.lastChunk = number;
      call.name ||= piece.name;
      call.arguments.feed(piece.arguments);
    }
  }
  return calls.all.map(({ name, arguments: given }) => {
    given.end(false);
    return { name, arguments: given.emitted === '' && given.isWhole ? '{}' : given.emitted };
  });
}
