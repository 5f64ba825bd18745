import { createCallIds } from './call-ids.ts';
import type {
  CallState,
  ChatAssistantMessage,
  ChatAssistantPart,
  ChatMessage,
  ChatPart,
  ChatToolCall,
  MessageState,
  ThoughtsField,
} from '../chat.ts';
import { plainFieldOf, type Dialect } from '../dialects.ts';
import { uniqueOfItem } from '../ids.ts';
import type { AssistantPiece, Piece, ReasoningPiece } from './items.ts';
import type { ReplyState, ThoughtsForm } from '../reply/reply-state.ts';
import { unreachable } from '../errors.ts';
import { hasState } from '../reply/chunk.ts';

interface Call {
  readonly id: string;
  readonly givenId: string;
  readonly name: string;
  readonly arguments: string;
  isRepeated: boolean;
  output: { readonly text: string; readonly media: readonly ChatPart[] } | undefined;
}

type CallPiece = Extract<Piece, { kind: 'call' }>;

interface Output {
  readonly texts: string[];
  readonly refusals: string[];
  readonly reasoning: ReasoningPiece[];
  readonly media: ChatPart[];
}

interface AssistantTurn extends Output {
  readonly kind: 'assistant';
  readonly calls: Call[];
  /** What was said behind the last call. */
  later: Output | undefined;
  readonly index: number;
  /** How often the model had been asked before, as far as the history shows. */
  readonly round: number;
  answered: boolean;
  /** The calls by what they say, once an id is repeated. */
  callsByContent?: Map<string, Call>;
  /** The outputs of calls that are repeated. */
  repeatedOutputs?: Set<string>;
}

type Turn = AssistantTurn | { readonly kind: 'message'; readonly message: ChatMessage };

type TurnRules = Pick<
  Dialect,
  | 'systemRole'
  | 'systemPlace'
  | 'userMessages'
  | 'afterOutputs'
  | 'reasoningField'
  | 'reasoningAlways'
  | 'refusalField'
  | 'foreignCallState'
  | 'callIds'
>;

export const NO_OUTPUT = 'No output was recorded for this call.';
/** With this begins a message that has the images of outputs. */
export const FROM_OUTPUT = 'From the output of ';

/**
 * Returns the messages in the order that strict backends need: the outputs of a turn follow its
 * calls directly, whatever order the client replayed. A longer history adds messages behind those
 * that the backend has read, and changes none of them. `usedField` is the one in which the model has
 * sent thoughts before.
 */
export function toMessages(pieces: readonly Piece[], dialect: TurnRules, usedField?: ThoughtsForm): ChatMessage[] {
  const turns: Turn[] = [];
  const systemTexts: string[] = [];
  const ownIds = new Set(pieces.flatMap(ownCallIdsOf));
  const callIds = pieces.flatMap((piece) => (piece.kind === 'call' && !ownIds.has(piece.callId) ? [piece.callId] : []));
  const toCallId = createCallIds(callIds, dialect.callIds);
  const unanswered = new Map<string, { readonly turn: AssistantTurn; readonly calls: Call[] }[]>();
  const turnsOfCall = new Map<string, AssistantTurn[]>();
  let rounds = 0;

  for (const piece of pieces) {
    switch (piece.kind) {
      case 'system':
        if (piece.text !== '') addSystem(piece);
        break;
      case 'user':
        turns.push({ kind: 'message', message: { role: 'user', content: piece.content } });
        break;
      case 'assistant':
        addOutputOf(piece);
        break;
      case 'reasoning':
        if (piece.text !== '' || piece.state !== undefined) currentOutput().reasoning.push(piece);
        break;
      case 'call':
        addCall(piece);
        break;
      case 'output':
        addOutput(piece);
        break;
      default:
        unreachable(piece);
    }
  }
  for (const turn of turns) if (turn.kind === 'assistant') moveReasoning(turn);
  const system: ChatMessage[] =
    systemTexts.length > 0 ? [{ role: systemRole('system'), content: systemTexts.join('\n\n') }] : [];
  const rules = { ...dialect, usedField: usedField ?? fieldOfStates(pieces) };
  const messages = turns.flatMap((turn) => (turn.kind === 'message' ? [turn.message] : toTurnMessages(turn, rules)));
  return inOrder([...system, ...messages], dialect);

  function systemRole(given: 'system' | 'developer'): 'system' | 'developer' {
    return dialect.systemRole === 'as-given' ? given : dialect.systemRole;
  }

  function addSystem({ role, text }: Extract<Piece, { kind: 'system' }>): void {
    if (dialect.systemPlace === 'merged-first' && turns.length === 0) {
      systemTexts.push(text);
      return;
    }
    const message: ChatMessage =
      dialect.systemPlace === 'merged-first'
        ? { role: 'user', content: `${DEVELOPER_SAYS}\n\n${text}\n\n${END_OF_DEVELOPER}` }
        : { role: systemRole(role), content: text };
    turns.push({ kind: 'message', message });
  }

  function addOutputOf({ text, refusal, media = [] }: AssistantPiece): void {
    const output = currentOutput();
    if (text !== '') output.texts.push(text);
    if (refusal !== '') output.refusals.push(refusal);
    output.media.push(...media);
  }

  function currentOutput(): Output {
    const turn = currentTurn();
    return turn.calls.length === 0 ? turn : (turn.later ??= noOutput());
  }

  function currentTurn(): AssistantTurn {
    const last = turns.at(-1);
    if (last?.kind === 'assistant' && !last.answered) return last;
    if (last?.kind === 'message') rounds += 1;
    const turn: AssistantTurn = {
      kind: 'assistant',
      ...noOutput(),
      calls: [],
      later: undefined,
      index: turns.length,
      round: rounds,
      answered: false,
    };
    turns.push(turn);
    return turn;
  }

  function addCall(piece: CallPiece): void {
    const turn = currentTurn();
    const { callId: givenId, name } = piece;
    const isRepeated = turnsOfCall.get(givenId)?.at(-1) === turn;
    const same = isRepeated ? sameCallIn(turn, piece) : undefined;
    if (same !== undefined) {
      same.isRepeated = true;
      return;
    }
    const call: Call = {
      id: toCallId(givenId, isRepeated),
      givenId,
      name,
      arguments: piece.arguments,
      isRepeated: false,
      output: undefined,
    };
    joinLater(turn);
    turn.calls.push(call);
    turn.callsByContent?.set(contentOf(givenId, name, piece.arguments), call);
    const turnsWithId = turnsOfCall.get(givenId) ?? [];
    turnsOfCall.set(givenId, turnsWithId);
    if (turnsWithId.at(-1) !== turn) turnsWithId.push(turn);
    const waiting = unanswered.get(piece.callId) ?? [];
    unanswered.set(piece.callId, waiting);
    const nearest = waiting.at(-1);
    if (nearest?.turn === turn) nearest.calls.push(call);
    else waiting.push({ turn, calls: [call] });
  }

  /** Some clients replay state after the outputs of its calls. The calls show its turn. */
  function moveReasoning(turn: AssistantTurn): void {
    for (const output of turn.later === undefined ? [turn] : [turn, turn.later])
      for (const piece of output.reasoning.splice(0)) (turnOf(piece, turn) ?? output).reasoning.push(piece);
  }

  function turnOf({ state }: ReasoningPiece, turn: AssistantTurn): AssistantTurn | undefined {
    for (const { call_id: callId } of state?.calls ?? []) {
      const turnsWithId = turnsOfCall.get(callId) ?? [];
      const found = turnsWithId.findLast(({ index }) => index <= turn.index) ?? turnsWithId[0];
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Backends reuse call ids in later turns, so an output belongs to the nearest earlier turn with
   * an unanswered call of that id. Once the model has answered a later message, it has read that the
   * call has no output.
   */
  function addOutput(piece: Extract<Piece, { kind: 'output' }>): void {
    const waiting = unanswered.get(piece.callId);
    const nearest = waiting?.at(-1);
    const call = nearest?.turn.round === rounds ? nearest.calls.shift() : undefined;
    if (nearest === undefined || call === undefined) {
      if (!isRepeatedOutput(piece)) turns.push({ kind: 'message', message: toOrphanMessage(piece) });
      return;
    }
    if (nearest.calls.length === 0) waiting?.pop();
    call.output = { text: piece.text, media: piece.media };
    if (call.isRepeated) (nearest.turn.repeatedOutputs ??= new Set()).add(contentOf(piece.callId, piece.text));
    nearest.turn.answered = true;
  }

  function isRepeatedOutput({ callId, text }: Extract<Piece, { kind: 'output' }>): boolean {
    return turnsOfCall.get(callId)?.at(-1)?.repeatedOutputs?.has(contentOf(callId, text)) ?? false;
  }
}

/** A template that merges messages of the user must show where this one ends. */
const DEVELOPER_SAYS = '[Message of the developer, which is not from the user:]';
const END_OF_DEVELOPER = '[End of the message of the developer.]';

/** Backends refuse two calls with one id in one message. A search among all of them would be quadratic. */
function sameCallIn(turn: AssistantTurn, { callId, name, arguments: given }: CallPiece): Call | undefined {
  turn.callsByContent ??= new Map(turn.calls.map((call) => [contentOf(call.givenId, call.name, call.arguments), call]));
  return turn.callsByContent.get(contentOf(callId, name, given));
}

function contentOf(...texts: readonly string[]): string {
  return texts.map((text) => `${text.length}:${text}`).join('');
}

/** OpenRouter's state for Gemini refers to the backend's own call ids, so they stay unchanged. */
function ownCallIdsOf(piece: Piece): string[] {
  const calls = piece.kind === 'reasoning' ? (piece.state?.calls ?? []) : [];
  return calls.map(({ call_id: id }) => id).filter((id) => uniqueOfItem(id) === undefined);
}

/** No backend takes a tool message whose call is missing. Leaving it out would lose its content. */
function toOrphanMessage(piece: Extract<Piece, { kind: 'output' }>): ChatMessage {
  const text = `Output of an earlier tool call (${piece.callId}):\n${piece.text}`;
  return {
    role: 'user',
    content: piece.media.length === 0 ? text : [{ type: 'text', text }, ...piece.media],
  };
}

/** Many chat templates raise an error when roles do not alternate. */
function inOrder(messages: readonly ChatMessage[], { userMessages, afterOutputs }: TurnRules): ChatMessage[] {
  const ordered: ChatMessage[] = [];
  // Joining user messages one by one would copy the parts again each time.
  let userRun: UserContent[] = [];
  let isRunRead = false;

  function endUserRun(): void {
    if (userRun.length > 0) ordered.push({ role: 'user', content: joinContents(userRun) });
    userRun = [];
    isRunRead = false;
  }

  for (const message of messages) {
    if (message === NO_ANSWER) {
      isRunRead = userRun.length > 0;
      continue;
    }
    if (isRunRead && message.role === 'user') {
      endUserRun();
      ordered.push(NO_ANSWER);
    }
    if (message.role !== 'user') {
      endUserRun();
      ordered.push(message);
      continue;
    }
    userRun.push(message.content);
    if (userMessages === 'as-given') endUserRun();
  }
  endUserRun();
  return afterOutputs === 'assistant' ? withAcknowledgements(ordered) : ordered;
}

/** Returns the messages with one of the assistant between each output of a tool and what else follows it. */
export function withAcknowledgements(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.flatMap((message, index) => {
    const follows = messages[index - 1]?.role === 'tool' && message.role !== 'tool' && message.role !== 'assistant';
    return follows ? [ACKNOWLEDGED, message] : [message];
  });
}

/** Stands between two messages of the user that are not one, because the model has read the first alone. */
const NO_ANSWER: ChatMessage = { role: 'assistant', content: 'I gave no answer.' };

const ACKNOWLEDGED: ChatMessage = { role: 'assistant', content: 'I have read the output.' };

type UserContent = Extract<ChatMessage, { role: 'user' }>['content'];

function joinContents(contents: readonly UserContent[]): UserContent {
  const texts = contents.filter((content) => typeof content === 'string');
  if (texts.length === contents.length) return texts.join('\n\n');
  const firstParts = contents.findIndex((content) => typeof content !== 'string');
  return [...toParts(texts.slice(0, firstParts).join('\n\n')), ...contents.slice(firstParts).flatMap(toParts)];
}

function toParts(content: UserContent): readonly ChatPart[] {
  if (typeof content !== 'string') return content;
  return content === '' ? [] : [{ type: 'text', text: content }];
}

/** A state that is here was sent by this model, which another process may have asked. */
function fieldOfStates(pieces: readonly Piece[]): ThoughtsForm | undefined {
  return pieces.flatMap((piece) => (piece.kind === 'reasoning' ? (piece.state?.thoughtsForm ?? []) : []))[0];
}

interface AssistantRules extends TurnRules {
  readonly usedField: ThoughtsForm | undefined;
}

function noOutput(): Output {
  return { texts: [], refusals: [], reasoning: [], media: [] };
}

function joinLater(turn: AssistantTurn): void {
  const { later } = turn;
  if (later === undefined) return;
  turn.texts.push(...later.texts);
  turn.refusals.push(...later.refusals);
  turn.reasoning.push(...later.reasoning);
  turn.media.push(...later.media);
  turn.later = undefined;
}

function toTurnMessages(turn: AssistantTurn, dialect: AssistantRules): ChatMessage[] {
  const { later } = turn;
  // A client may have asked without the outputs, so that this is the answer to that.
  if (!turn.answered && later !== undefined)
    return [
      { ...turn, later: undefined },
      { ...turn, ...later, calls: [], later: undefined },
    ].flatMap((part) => toTurnMessages(part, dialect));
  joinLater(turn);
  const assistant = toAssistantMessage(turn, dialect);
  if (assistant === undefined) return [NO_ANSWER];
  const media = [...turn.media, ...turn.calls.flatMap((call) => toMediaParts(call))];
  return [
    assistant,
    ...turn.calls.map(toToolMessage),
    // Tool messages take only text, so images follow after all of them.
    ...(media.length > 0 ? [{ role: 'user', content: media } as const] : []),
  ];
}

function toAssistantMessage(turn: AssistantTurn, dialect: AssistantRules): ChatAssistantMessage | undefined {
  const refusal = turn.refusals.join('\n');
  const text = (dialect.refusalField ? turn.texts : [...turn.texts, ...turn.refusals]).join('\n');
  // Thoughts alone are no message: it "must not be empty" (MoonshotAI/kimi-code#1985).
  if (text === '' && refusal === '' && turn.calls.length === 0) return undefined;
  const { reasoningField, usedField } = dialect;
  const pieces = withoutRepeated(turn.reasoning).filter(
    ({ isForeign }) => isForeign !== true || reasoningField !== 'as-used' || usedField !== undefined,
  );
  const states = pieces.flatMap(({ state }) => state ?? []);
  const form = toForm(dialect, states.at(-1));
  const thoughts = pieces.map((piece) => piece.text).filter((thought) => thought !== '');
  const reasoning = form === null ? '' : thoughts.join('\n');
  const attached: MessageState = {};
  for (const { message } of states) Object.assign(attached, message);
  const stateOfCall = new Map<string, CallState>(
    states.flatMap(({ calls }) => calls).map(({ call_id: id, ...state }) => [id, state]),
  );
  const [first] = turn.calls;
  if (first !== undefined && dialect.foreignCallState !== undefined && ![...stateOfCall.values()].some(hasState)) {
    stateOfCall.set(first.givenId, dialect.foreignCallState);
  }
  // null is allowed only with calls or a refusal.
  const content = text === '' && (turn.calls.length > 0 || refusal !== '') ? null : text;
  return {
    role: 'assistant',
    content: form === 'thinking-part' && reasoning !== '' ? toThinking(reasoning, text) : content,
    ...(dialect.refusalField && refusal !== '' && { refusal }),
    ...toReasoningField(reasoning === '' ? noThoughts(turn, dialect) : reasoning, form),
    ...attached,
    ...(turn.calls.length > 0 && {
      tool_calls: turn.calls.map((call) => toToolCall(call, stateOfCall.get(call.givenId))),
    }),
  };
}

/** Thoughts go back in the field in which they came, if that is known. */
function toForm(
  { reasoningField: field, usedField }: AssistantRules,
  state: ReplyState | undefined,
): ThoughtsForm | null {
  if (field === null) return null;
  const plain = (field === 'as-used' ? usedField : undefined) ?? plainFieldOf(field);
  return state?.thoughtsForm ?? (plain === 'as-sent' ? null : plain);
}

/** Returns what stands for thoughts that are not there; undefined where the field may be absent. */
function noThoughts({ calls }: AssistantTurn, { reasoningAlways }: TurnRules): string | undefined {
  if (reasoningAlways === 'calls') return calls.length > 0 ? ' ' : undefined;
  return reasoningAlways ? '' : undefined;
}

/** A later state of a reply contains its earlier states and their plain text. */
function withoutRepeated(pieces: readonly ReasoningPiece[]): ReasoningPiece[] {
  const latest = new Map(pieces.flatMap((piece) => (piece.state === undefined ? [] : [[piece.state.reply, piece]])));
  return pieces.filter((piece) => piece.reply === undefined || (latest.get(piece.reply) ?? piece) === piece);
}

function toThinking(reasoning: string, text: string): ChatAssistantPart[] {
  const thinking: ChatAssistantPart = { type: 'thinking', thinking: [{ type: 'text', text: reasoning }] };
  return text === '' ? [thinking] : [thinking, { type: 'text', text }];
}

function toReasoningField(reasoning: string | undefined, form: ThoughtsForm | null): ThoughtsField {
  return reasoning === undefined || form === null || form === 'thinking-part' ? {} : { [form]: reasoning };
}

function toToolCall(call: Call, state: CallState | undefined): ChatToolCall {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments }, ...state };
}

function toToolMessage(call: Call): ChatMessage {
  return { role: 'tool', tool_call_id: call.id, content: toolText(call.output) };
}

function toolText(output: Call['output']): string {
  if (output === undefined) return NO_OUTPUT;
  if (output.text === '' && output.media.length > 0) return 'The output follows in the next user message.';
  return output.text;
}

function toMediaParts(call: Call): readonly ChatPart[] {
  const media = call.output?.media ?? [];
  return media.length === 0 ? [] : [{ type: 'text', text: `${FROM_OUTPUT}${call.name} (${call.id}):` }, ...media];
}
