import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ChatMessage } from '../../../src/core/chat.ts';
import { DIALECTS, type DialectName } from '../../../src/core/dialects.ts';
import type { Piece } from '../../../src/core/request/items.ts';
import { NO_OUTPUT, toMessages } from '../../../src/core/request/turns.ts';
import { runs } from '../../support/property.ts';

const id = fc.constantFrom('a', 'b', 'c');
const picture = { type: 'image_url', image_url: { url: 'data:,a' } } as const;

/** Every text is marked by its place, so that it can be found again. */
const anyPiece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constant('user'), content: fc.constant('user') }),
  fc.record({
    kind: fc.constant('system'),
    role: fc.constantFrom('system', 'developer'),
    text: fc.constantFrom('system', ''),
  }),
  fc.record({
    kind: fc.constant('assistant'),
    text: fc.constantFrom('says', ''),
    refusal: fc.constantFrom('', 'refuses'),
  }),
  fc.record({ kind: fc.constant('reasoning'), text: fc.constantFrom('thinks', '') }),
  fc.record({ kind: fc.constant('call'), callId: id, name: fc.constant('look'), arguments: fc.constant('{}') }),
  fc.record({
    kind: fc.constant('output'),
    callId: id,
    text: fc.constantFrom('output', ''),
    media: fc.constantFrom([], [picture]),
  }),
);
const anyHistory = fc.array(anyPiece, { maxLength: 14 }).map((pieces) => pieces.map(marked));

function marked(piece: Piece, place: number): Piece {
  const mark = (text: string) => (text === '' ? '' : `${text} ${place};`);
  switch (piece.kind) {
    case 'user':
      return { ...piece, content: mark('user') };
    case 'assistant':
      return { ...piece, text: mark(piece.text), refusal: mark(piece.refusal) };
    case 'call':
      return { ...piece, arguments: mark('call') };
    default:
      return { ...piece, text: mark(piece.text) };
  }
}

function textsOf(piece: Piece): string[] {
  switch (piece.kind) {
    case 'user':
      return typeof piece.content === 'string' ? [piece.content] : [];
    case 'assistant':
      return [piece.text, piece.refusal].filter((text) => text !== '');
    case 'call':
      return [piece.arguments];
    default:
      return piece.text === '' ? [] : [piece.text];
  }
}

/** What strict backends demand of the order of messages. */
function expectStrictOrder(messages: readonly ChatMessage[]): void {
  let awaited: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(message.tool_call_id, 'outputs come in call order, directly after their calls').to.equal(awaited.shift());
      continue;
    }
    expect(awaited, 'every call has its output before anything else is said').to.deep.equal([]);
    if (message.role !== 'assistant') {
      expect(message.content, 'nobody says nothing').not.to.be.oneOf(['', null]);
      continue;
    }
    awaited = (message.tool_calls ?? []).map((call) => call.id);
    expect(message.tool_calls, 'there is no empty list of calls').not.to.deep.equal([]);
    const saysMore = awaited.length > 0 || message.refusal !== undefined;
    if (message.content === null) expect(saysMore, 'content is null beside calls or a refusal only').to.equal(true);
  }
  expect(awaited, 'every call has its output').to.deep.equal([]);
}

describe('messages', () => {
  const dialects = fc.constantFrom(...(Object.keys(DIALECTS) as DialectName[]));

  it('are in the order that strict backends want, whatever the history', () => {
    fc.assert(
      fc.property(anyHistory, dialects, (pieces, dialect) => {
        const messages = toMessages(pieces, DIALECTS[dialect]);
        expectStrictOrder(messages);
        const systems = messages.flatMap(({ role }, place) =>
          role === 'system' || role === 'developer' ? [place] : [],
        );
        if (DIALECTS[dialect].systemPlace === 'merged-first') expect(systems).to.be.deep.oneOf([[], [0]]);
      }),
      runs(2000),
    );
  });

  it('of a turn are those of the turn before with new ones behind them, whatever is sent and answered', () => {
    const isOfModel = ({ kind }: Piece) => kind === 'assistant' || kind === 'reasoning' || kind === 'call';
    const message: Piece = { kind: 'user', content: 'Go on.' };
    const answered: Piece = { kind: 'assistant', text: '', refusal: '' };
    fc.assert(
      fc.property(fc.array(anyHistory, { maxLength: 5 }), dialects, (turns, dialect) => {
        const pieces: Piece[] = [];
        let before: string[] = [];
        for (const turn of turns) {
          pieces.push(...turn.filter((piece) => !isOfModel(piece)), message);
          const messages = toMessages(pieces, DIALECTS[dialect]).map((each) => JSON.stringify(each));
          expect(messages.slice(0, before.length)).to.deep.equal(before);
          before = messages;
          pieces.push(...turn.filter(isOfModel), answered);
        }
      }),
      runs(2000),
    );
  });

  it('lose nothing and say nothing twice', () => {
    fc.assert(
      fc.property(anyHistory, dialects, (history, dialect) => {
        // A thought is told with what is said.
        const pieces = history.flatMap((piece, place): Piece[] =>
          piece.kind === 'reasoning' ? [piece, { kind: 'assistant', text: `so ${place};`, refusal: '' }] : [piece],
        );
        const told = JSON.stringify(toMessages(pieces, DIALECTS[dialect]));
        const count = (text: string) => told.split(text).length - 1;
        for (const piece of pieces) {
          const shown = piece.kind !== 'reasoning' || DIALECTS[dialect].reasoningField !== 'as-sent';
          for (const text of textsOf(piece)) expect(count(text), text).to.equal(shown ? 1 : 0);
        }
        const media = pieces.flatMap((piece) => (piece.kind === 'output' ? piece.media : []));
        expect(count(picture.image_url.url)).to.equal(media.length);
      }),
      runs(2000),
    );
  });

  it('answer a call by hand only when its output is nowhere', () => {
    fc.assert(
      fc.property(anyHistory, (pieces) => {
        const messages = toMessages(pieces, DIALECTS.openai);
        const orphans = messages.filter((message) => JSON.stringify(message).includes('Output of an earlier'));
        const outputs = pieces.filter(({ kind }) => kind === 'output').length;
        const calls = pieces.filter(({ kind }) => kind === 'call').length;
        const byHand = messages.filter(({ role, content }) => role === 'tool' && content === NO_OUTPUT).length;
        expect(calls - byHand).to.equal(outputs - orphans.length);
      }),
      runs(1000),
    );
  });
});
