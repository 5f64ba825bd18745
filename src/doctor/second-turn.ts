import type { CallState, ChatChunk, ChatMessage, ChatRequest, MessageState, ThoughtsField } from '../core/chat.ts';
import { callPiecesOf, choiceOf, deltaOf, messageStateOf, textPiecesOf } from '../core/reply/chunk.ts';
import { isObject, readJson } from '../core/json.ts';
import { ABOUT_WEATHER, isCut, limited, no, OUT_OF_TOKENS, unclear, WEATHER, yes, type Finish } from './probes.ts';
import { askOnce, type Question } from './question.ts';

export interface SecondTurn {
  readonly finish: Finish;
  /** What the backend attached to its call, and refuses a second turn without. */
  readonly wanted: readonly string[];
}

/** Answers a call of the model, with what the backend attached to it and without. */
export async function askSecondTurn(question: Question): Promise<SecondTurn> {
  const first = await askOnce(question, toRequest(question, ABOUT_WEATHER));
  if (first.kind === 'refused') return notWanted(first.finish);
  const message = first.answer.chunks.map(messageOf).find((one) => callPiecesOf(one).length > 0);
  if (isCut(first.answer)) return notWanted(unclear(OUT_OF_TOKENS));
  if (message === undefined) return notWanted(unclear('the model made no call to answer'));
  // Servers refuse other arguments, and the gateway mends them.
  if (callPiecesOf(message).some(({ arguments: text }) => text !== '' && !isObject(readJson(text)))) {
    return notWanted(unclear('the model made no whole call to answer'));
  }
  const attached = attachedTo(message);
  const given = await askOnce(question, answerTo(question, message, stateOf(message)));
  if (attached.length === 0) {
    return notWanted(given.kind === 'refused' ? given.finish : yes('nothing is attached to the call'));
  }
  const names = attached.join(' and ');
  const bare = await askOnce(question, answerTo(question, message, undefined));
  if (given.kind === 'refused') {
    const { result, reason } = given.finish;
    const isItsFault = bare.kind === 'answered' && result === 'no';
    return notWanted(isItsFault ? no(`it refuses its own ${names} back: ${reason}`) : given.finish);
  }
  if (bare.kind === 'answered') return notWanted(yes(`taken with its ${names} and without`));
  if (bare.finish.result !== 'no') return notWanted(yes(`taken with its ${names}`));
  return { finish: yes(`it wants its ${names} back, else ${bare.finish.reason}`), wanted: attached };
}

function notWanted(finish: Finish): SecondTurn {
  return { finish, wanted: [] };
}

function toRequest({ manner }: Question, messages: readonly ChatMessage[]): ChatRequest {
  return { ...limited(manner, messages), tools: [WEATHER] };
}

function messageOf(chunk: ChatChunk): ChatChunk {
  const choice = choiceOf(chunk);
  return choice === undefined ? {} : deltaOf(choice);
}

type State = MessageState & ThoughtsField;

function stateOf(message: ChatChunk): State {
  const { reasoning_content: content, reasoning, reasoning_text: ofCopilot } = message;
  return {
    ...(typeof content === 'string' && content !== '' && { reasoning_content: content }),
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning }),
    ...(typeof ofCopilot === 'string' && ofCopilot !== '' && { reasoning_text: ofCopilot }),
    ...messageStateOf(message),
  };
}

function attachedTo(message: ChatChunk): string[] {
  return [...new Set([stateOf(message), ...callPiecesOf(message).map(callStateOfPiece)].flatMap(Object.keys))];
}

function callStateOfPiece({ extra_content: extra }: CallState): CallState {
  return extra === undefined ? {} : { extra_content: extra };
}

function answerTo(question: Question, message: ChatChunk, state: State | undefined): ChatRequest {
  const texts = textPiecesOf(message).filter(({ kind }) => kind === 'text');
  const calls = callPiecesOf(message).map((piece, at) => ({
    id: piece.id === '' ? `call_${at}` : piece.id,
    type: 'function' as const,
    function: { name: piece.name, arguments: piece.arguments === '' ? '{}' : piece.arguments },
    ...(state !== undefined && callStateOfPiece(piece)),
  }));
  return toRequest(question, [
    ...ABOUT_WEATHER,
    { role: 'assistant', content: texts.map(({ text }) => text).join('') || null, tool_calls: calls, ...state },
    ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '18 degrees' })),
  ]);
}
