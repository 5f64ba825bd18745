/** One oddity or several at a recorded answer or at a conversation, and what is wrong with what becomes of it. */

import { isDeepStrictEqual } from 'node:util';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { isDialectName, type DialectName } from '../../../src/core/dialects.ts';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { expectWellFormed } from '../../support/well-formed.ts';
import { findComplaints, type Rules } from '../../clients/complaints.ts';
import { askedOf, goOn } from '../../support/conversation.ts';
import { translate, type Answer, type MachineSettings } from '../../support/machine.ts';
import { readAnswer } from '../../support/read-answer.ts';
import { loadFixtures } from '../../support/fixtures.ts';
import { loadRecordings, readSaid } from '../../support/recordings.ts';
import { endIn, isOneAnswer, isStream, type AnswerOddity, type Json } from './answer.ts';
import { answerOf, meaningOf, toSse, type Meaning } from './meaning.ts';
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
const PLAIN = new Set(['call', 'call-after-text', 'calls-parallel', 'reasoning-before-call', 'text', 'text-multibyte']);

/** Returns all recorded answers that came to an end, at the dialect that knows nothing and at their own. */
export function loadAnswers(): Recorded[] {
  const plain = loadFixtures().filter(({ name }) => PLAIN.has(name));
  const own = plain.map(({ name, sse }) => ({ name, provider: '', body: sse, isStream: true, tools: [] }));
  const recorded = loadRecordings()
    .filter(({ status }) => status === 200)
    .map((each) => ({ ...each, isStream: each.contentType === 'text/event-stream' }));
  return [...own, ...recorded].flatMap(({ name, provider, body, isStream: isEvents, tools }) => {
    const read = isEvents ? readAnswer(body) : undefined;
    const chunks = (read?.chunks ?? [JSON.parse(body.toString()) as Json]) as Json[];
    if (read?.failure !== undefined || chunks[0]?.['error'] || !isOneAnswer(chunks)) return [];
    const done = read?.done ?? true;
    const request = requestOf(tools, readSaid(Buffer.from(body)).calls);
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
function oddChunks({ chunks }: Recorded, oddities: readonly AnswerOddity[]): Json[] | undefined {
  let changed: Json[] | undefined = structuredClone(chunks) as Json[];
  for (const oddity of oddities) changed = changed && oddity.apply(structuredClone(changed));
  return changed;
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
  const chunks = oddChunks(recorded, oddities);
  if (chunks === undefined || (wire !== undefined && (!isStream(chunks) || !recorded.done || endIn(chunks) < 0)))
    return NOTHING_TO_CHANGE;
  // Words of the backend that break an answer are written last.
  const settings: MachineSettings = Object.assign(
    { dialect: recorded.dialect },
    ...oddities.map((each) => each.settings),
  );
  const done = recorded.done || oddities.some(({ takes }) => takes.includes('end'));
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

/** Returns the turn after each recorded answer. */
export function loadConversations(answers: readonly Recorded[]): Conversation[] {
  return answers.map(({ name, dialect, chunks, done, request }) => {
    const { output } = expectWellFormed(translate(answerOf(chunks, done), request, { dialect }));
    const next = goOn(request, output);
    return { name, dialect, request: next as unknown as Request, chat: askedOf(next, { dialect }) };
  });
}

/** As `faultOf`, of a request. */
export function faultOfRequest(
  { request, dialect, chat }: Conversation,
  oddities: readonly RequestOddity[],
): string | undefined {
  let odd: Request | undefined = structuredClone(request);
  for (const oddity of oddities) odd = odd && oddity.apply(structuredClone(odd));
  if (odd === undefined) return NOTHING_TO_CHANGE;
  try {
    const asked = askedOf(odd as unknown as CreateResponse, { dialect });
    if (oddities.every(({ means }) => means === 'same'))
      return isDeepStrictEqual(asked, chat) ? undefined : `asked ${JSON.stringify(asked.messages).slice(0, 900)}`;
    const known = new Set(findComplaints(chat, RULES).map(withoutPlaces));
    const complaints = findComplaints(asked, RULES).filter(
      (each) => !known.has(withoutPlaces(each)) && !OF_DIALECTS.test(each),
    );
    const lost = textsOf(chat).filter((text) => !textsOf(asked).includes(text));
    return complaints.length + lost.length === 0
      ? undefined
      : [...complaints, ...lost.map((text) => `lost ${text}`)].join('; ');
  } catch (thrown) {
    return String(thrown).slice(0, 500);
  }
}

/** In which order who may speak, and what has thoughts, is told of each dialect elsewhere (test/core/dialect-rules.test.ts). */
const OF_DIALECTS = /unknown field reasoning|part of type thinking|assistant message has parts|role developer/;
const RULES: Rules = { anyOrder: true, reasoningField: 'reasoning_content', mayLackReasoning: true };

function withoutPlaces(complaint: string): string {
  return complaint.replaceAll(/\[\d+\]/g, '');
}

/** What a model reads of the calls, in no order. */
function textsOf({ messages }: ChatRequest): string[] {
  return messages.flatMap((message) =>
    'tool_calls' in message ? (message.tool_calls ?? []).map((call) => JSON.stringify(call.function)) : [],
  );
}
