/** One oddity or several at a recorded answer or at a conversation, and what is wrong with what becomes of it. */

import { isDeepStrictEqual } from 'node:util';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { DIALECTS, isDialectName, type DialectName } from '../../../src/core/dialects.ts';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { expectWellFormed } from '../../support/well-formed.ts';
import { findComplaints, type Rules } from '../../clients/complaints.ts';
import { BACKENDS } from '../../clients/turns/backends.ts';
import { expectLonger } from '../../support/chat-prefix.ts';
import { askedOf, goOn } from '../../support/conversation.ts';
import { translate, type Answer, type MachineSettings } from '../../support/machine.ts';
import { readAnswer } from '../../support/read-answer.ts';
import { loadFixtures } from '../../support/fixtures.ts';
import { loadRecordings, readRecordedAnswer } from '../../support/recordings.ts';
import { completionOf, endIn, isOneAnswer, isStream, type AnswerOddity, type Json } from './answer.ts';
import { answerOf, isCompletion, meaningOf, toSse, type Meaning } from './meaning.ts';
import type { Request, RequestOddity } from './requests.ts';
import type { WireOddity } from './wires.ts';

/** A recorded answer, with what it means to one dialect. */
export interface Recorded {
  readonly name: string;
  readonly dialect: DialectName;
  readonly chunks: readonly Json[];
  readonly done: boolean;
  readonly request: CreateResponse;
  readonly meaning: Meaning;
}

/** Plain answers of our own, for where the recordings are not found. */
const PLAIN = new Set([
  'call',
  'call-after-text',
  'calls-interleaved',
  'calls-parallel',
  'reasoning-before-call',
  'text',
  'text-multibyte',
]);

/** Returns all recorded answers that came to an end, at the dialect that knows nothing and at their own; `isPlain` only ours. */
export function loadAnswers({ isPlain = false } = {}): Recorded[] {
  const plain = loadFixtures().filter(({ name }) => PLAIN.has(name));
  const streams = plain.map(({ name, sse }) => ({ name, provider: '', body: sse, isStream: true, tools: [] }));
  const completions = streams.map(({ name, body, ...rest }) => {
    const completion = completionOf(readAnswer(body).chunks);
    return { ...rest, name: `${name}, whole`, body: Buffer.from(JSON.stringify(completion)), isStream: false };
  });
  const recorded = (isPlain ? [] : loadRecordings())
    .filter(({ status }) => status === 200)
    .map((each) => ({ ...each, isStream: each.contentType === 'text/event-stream' }));
  return [...streams, ...completions, ...recorded].flatMap(({ name, provider, body, isStream: isEvents, tools }) => {
    const read = isEvents ? readAnswer(body) : undefined;
    const chunks = (read?.chunks ?? [JSON.parse(body.toString()) as Json]) as Json[];
    if (read?.failure !== undefined || chunks[0]?.['error'] || !isOneAnswer(chunks)) return [];
    const done = read?.done ?? true;
    const request = requestOf(tools, readRecordedAnswer(Buffer.from(body)).calls);
    const dialects: DialectName[] = isDialectName(provider) ? ['generic', provider] : ['generic'];
    return dialects.map((dialect) => {
      const meaning = meaningOf(answerOf(chunks, done), request, { dialect });
      return { name, dialect, chunks, done, request, meaning };
    });
  });
}

/** Offers the tools that are called, which not every recording has. */
function requestOf(tools: readonly object[], calls: readonly { readonly name: string }[]): CreateResponse {
  const names = new Set(calls.map(({ name }) => name));
  for (const tool of tools) names.delete(String((tool as Json)['name']));
  const called = Array.from(names, (name) => ({ type: 'function', name }));
  return { model: 'test-model', input: 'Hello', tools: [...tools, ...called] as NonNullable<CreateResponse['tools']> };
}

/** Returns the chunks with all of the oddities; undefined where one of them has nothing to change. */
function oddChunks(
  { chunks, done }: Recorded,
  oddities: readonly AnswerOddity[],
  wire?: WireOddity,
): Json[] | undefined {
  let changed: Json[] | undefined = copyOf(chunks as Json[]);
  for (const oddity of oddities) changed = changed && oddity.apply(changed);
  const hasWire = changed !== undefined && isStream(changed) && done && endIn(changed) >= 0;
  return wire === undefined || hasWire ? changed : undefined;
}

/** Returns the body of the odd answer as a backend sends it; undefined where there is nothing to change. */
export function oddBody(recorded: Recorded, oddities: readonly AnswerOddity[], wire?: WireOddity): string | undefined {
  const chunks = oddChunks(recorded, oddities, wire);
  if (chunks === undefined) return undefined;
  if (isCompletion(chunks)) return JSON.stringify(chunks[0]);
  const sse = toSse(chunks, isDone(recorded, oddities));
  return wire === undefined ? sse : wire.apply(sse);
}

/** In a third of the time of `structuredClone`, which was a third of all. */
function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

function isDone({ done }: Recorded, oddities: readonly AnswerOddity[]): boolean {
  return done || oddities.some(({ takes }) => takes.includes('end'));
}

/** Whether both may come together: neither changes what the other has changed. */
export function canMeet(one: AnswerOddity, other: AnswerOddity): boolean {
  return (
    one.takes.every((clue) => !other.takes.includes(clue)) && !(one.means === 'broken' && other.means === 'broken')
  );
}

export const NOTHING_TO_CHANGE = 'nothing to change';

/** Says what is wrong; undefined where nothing is; `NOTHING_TO_CHANGE` where the oddities do not apply. */
export function faultOf(recorded: Recorded, oddities: readonly AnswerOddity[], wire?: WireOddity): string | undefined {
  const chunks = oddChunks(recorded, oddities, wire);
  if (chunks === undefined) return NOTHING_TO_CHANGE;
  // Words of the backend that break an answer are written last.
  const settings: MachineSettings = Object.assign(
    { dialect: recorded.dialect },
    ...oddities.map((each) => each.settings),
  );
  const done = isDone(recorded, oddities);
  try {
    const answer = wire === undefined ? answerOf(chunks, done) : readWire(chunks, done, wire);
    const meaning = meaningOf(answer, recorded.request, settings);
    if (oddities.some(({ means }) => means === 'broken'))
      return meaning.status === 'completed' ? 'it is told as completed' : undefined;
    const names = Object.keys(meaning) as (keyof Meaning)[];
    const wrong = names.filter((name) => !isDeepStrictEqual(meaning[name], recorded.meaning[name]));
    return wrong.length === 0
      ? undefined
      : wrong.map((name) => differenceIn(name, meaning, recorded.meaning)).join('; ');
  } catch (thrown) {
    return String(thrown).slice(0, 500);
  }
}

function readWire(chunks: readonly Json[], done: boolean, { apply, segment }: WireOddity): Answer {
  const bytes = Buffer.from(apply(toSse(chunks, done)));
  if (segment === undefined) return readAnswer(bytes);
  return readAnswer(
    bytes,
    Array.from({ length: Math.floor(bytes.length / segment) }, (_, at) => (at + 1) * segment),
  );
}

function differenceIn(name: keyof Meaning, is: Meaning, was: Meaning): string {
  return `${name} is ${JSON.stringify(is[name])?.slice(0, 300)}, and not ${JSON.stringify(was[name])?.slice(0, 300)}`;
}

/** A request of a second turn, and what the backend is asked with it. */
export interface Conversation {
  readonly name: string;
  readonly dialect: DialectName;
  readonly request: Request;
  readonly chat: ChatRequest;
}

/** One answer of ours with calls of each kind of tool. */
const KINDS = new Set([
  'apply-patch-call',
  'custom-call',
  'local-shell-call',
  'namespace-call',
  'shell-call',
  'tool-search-call',
  'tools-kinds-in-parallel',
]);

/** Returns the turn after each of these answers, and after our own ones at every dialect. */
export function loadConversations(answers: readonly Recorded[]): Conversation[] {
  const dialects = Object.keys(DIALECTS).filter(isDialectName);
  const own = loadFixtures()
    .filter(({ name }) => KINDS.has(name))
    .flatMap(({ name, sse, request }) =>
      dialects.map((dialect) => ({ name, dialect, request, answer: readAnswer(sse) })),
    );
  const given = answers.map((each) => ({ ...each, answer: answerOf(each.chunks, each.done) }));
  return [...given, ...own].map(({ name, dialect, request, answer }) => {
    const { output } = expectWellFormed(translate(answer, request, { dialect }));
    const next = goOn(request, output);
    return { name, dialect, request: next as unknown as Request, chat: askedOf(next, { dialect }) };
  });
}

/** As `faultOf`, of a request. */
export function faultOfRequest(
  { request, dialect, chat }: Conversation,
  oddities: readonly RequestOddity[],
): string | undefined {
  let odd: Request | undefined = copyOf(request);
  for (const oddity of oddities) odd = odd && oddity.apply(odd);
  if (odd === undefined) return NOTHING_TO_CHANGE;
  try {
    const asked = askedOf(odd as unknown as CreateResponse, { dialect });
    const answers = asked.messages.at(-1)?.role === 'assistant' ? [] : [ANSWER];
    const later = { ...odd, input: [...odd.input, ...answers, QUESTION] };
    expectLonger(askedOf(later as unknown as CreateResponse, { dialect }), asked, dialect);
    if (oddities.every(({ means }) => means === 'same'))
      return isDeepStrictEqual(asked, chat) ? undefined : `asked ${JSON.stringify(asked.messages).slice(0, 900)}`;
    const known = new Set(complaintsOf(chat, dialect));
    const complaints = complaintsOf(asked, dialect).filter((each) => !known.has(each));
    const lost = textsOf(chat).filter((text) => !textsOf(asked).includes(text));
    return complaints.length + lost.length === 0
      ? undefined
      : [...complaints, ...lost.map((text) => `lost ${text}`)].join('; ');
  } catch (thrown) {
    return String(thrown).slice(0, 500);
  }
}

/** What a client has behind it a turn later. */
const ANSWER = { type: 'message', role: 'assistant', content: 'Done.' };
const QUESTION = { type: 'message', role: 'user', content: 'Go on.' };

/** In which order who may speak, and what has thoughts, is told of each dialect elsewhere (test/core/dialect-rules.test.ts). */
const OF_DIALECTS = /unknown field reasoning|part of type thinking|assistant message has parts|role developer/;
const RULES: Rules = { anyOrder: true, reasoningField: 'reasoning_content', mayLackReasoning: true };

/** What the strictest of all backends has against the request, and each that is of this kind; without places. */
function complaintsOf(chat: ChatRequest, dialect: DialectName): string[] {
  const ofKind = Object.values(BACKENDS).filter((backend) => backend.dialect === dialect);
  const refusals = ofKind
    .flatMap(({ rules }) => rules)
    .flatMap(({ refusal }) => refusal(chat as unknown as Parameters<typeof refusal>[0]) ?? []);
  const complaints = findComplaints(chat, RULES).filter((each) => !OF_DIALECTS.test(each));
  return [...refusals, ...complaints].map((each) => each.replaceAll(/\[\d+\]/g, ''));
}

/** What a model reads of the calls, in no order. */
function textsOf({ messages }: ChatRequest): string[] {
  return messages.flatMap((message) =>
    'tool_calls' in message ? (message.tool_calls ?? []).map((call) => JSON.stringify(call.function)) : [],
  );
}
