import { expect } from 'chai';
import { createCallList, findCall, type BackendCall } from '../../../src/core/reply/match-call.ts';
import { createCallArguments } from '../../../src/core/reply/call-arguments.ts';
import type { CallPiece } from '../../../src/core/reply/chunk.ts';

const call = ({ given = '', ...fields }: Partial<BackendCall> & { readonly given?: string }): BackendCall => ({
  choice: 0,
  index: 0,
  backendId: 'call_a',
  name: 'look',
  arguments: argumentsOf(given),
  lastChunk: 1,
  isSaidAgain: false,
  writer: undefined,
  callId: undefined,
  state: {},
  closed: false,
  ...fields,
});
const piece = (fields: Partial<CallPiece>): CallPiece => ({
  choice: 0,
  index: 0,
  id: '',
  name: '',
  arguments: '',
  ...fields,
});

describe('findCall', () => {
  const a = call({});
  const b = call({ index: 1, backendId: 'call_b', name: 'see' });
  const whole = call({ given: '{"x":1}' });
  const begun = call({ given: '{"x' });
  const unindexed = call({ index: undefined });
  const unnamed = call({ name: '' });

  /** `at`: the number of the chunk that the piece is in; the calls had their last pieces in chunk 1. */
  const cases: {
    readonly name: string;
    readonly calls: readonly BackendCall[];
    readonly piece: Partial<CallPiece>;
    readonly at?: number;
    readonly expected: BackendCall | undefined;
  }[] = [
    { name: 'begins the first call', calls: [], piece: { id: 'call_a', name: 'look' }, expected: undefined },
    { name: 'goes by the index', calls: [a, b], piece: { index: 0, arguments: '{' }, expected: a },
    {
      name: 'goes by the index when the id is repeated',
      calls: [a, b],
      piece: { index: 1, id: 'call_b' },
      expected: b,
    },
    {
      name: 'begins a call at a new index',
      calls: [a],
      piece: { index: 1, id: 'call_b', name: 'see' },
      expected: undefined,
    },
    {
      name: 'goes by the id at another index',
      calls: [a, b],
      piece: { index: 7, id: 'call_a', name: 'look' },
      expected: a,
    },
    {
      name: 'begins a call of another name at another index with a known id',
      calls: [begun],
      piece: { index: 1, id: 'call_a', name: 'see' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'without id and name goes on with the last call when its index is new',
      calls: [whole, begun],
      piece: { index: 7, arguments: '":1}' },
      expected: begun,
    },
    {
      name: 'without id and name goes on with the last call when that of its index is whole',
      calls: [whole, call({ index: 1, backendId: 'call_b', given: '{"x' })],
      piece: { index: 0, arguments: '":1}' },
      expected: call({ index: 1, backendId: 'call_b', given: '{"x' }),
    },
    {
      name: 'of white space stays with the call of its index',
      calls: [whole, b],
      piece: { index: 0, arguments: ' ' },
      expected: whole,
    },
    {
      name: 'takes the whole call said again without an id for the same call',
      calls: [whole],
      piece: { name: 'look', arguments: '{"x":1}' },
      at: 2,
      expected: whole,
    },
    {
      name: 'begins an equal call where neither an index nor an id says that it is the same',
      calls: [call({ index: undefined, backendId: '', given: '{"x":1}' })],
      piece: { index: undefined, name: 'look', arguments: '{"x":1}' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'takes the whole call without an id in another choice for the same call',
      calls: [whole],
      piece: { choice: 1, name: 'look', arguments: '{"x":1}' },
      expected: whole,
    },
    {
      name: 'begins a call at the same index of another choice',
      calls: [begun],
      piece: { choice: 1, id: 'call_b', name: 'look' },
      expected: undefined,
    },
    {
      name: 'takes a nameless piece with a new id for the same call',
      calls: [a],
      piece: { id: 'call_z', arguments: '{' },
      expected: a,
    },
    {
      name: 'takes a repeated name for the same call',
      calls: [a],
      piece: { name: 'look', arguments: '{' },
      at: 2,
      expected: a,
    },
    {
      name: 'takes a repeated name with a new id for the same call',
      calls: [begun],
      piece: { id: 'call_z', name: 'look' },
      at: 2,
      expected: begun,
    },
    {
      name: 'takes the name that was missing so far',
      calls: [unnamed],
      piece: { id: 'call_z', name: 'look' },
      expected: unnamed,
    },
    {
      name: 'goes by the id when the index is missing',
      calls: [a, b],
      piece: { index: undefined, id: 'call_a' },
      expected: a,
    },
    {
      name: 'takes the last call when index and id are missing',
      calls: [a, b],
      piece: { index: undefined, arguments: '{' },
      expected: b,
    },
    {
      name: 'begins a call with a new id and a name when the index is missing',
      calls: [unindexed],
      piece: { index: undefined, id: 'call_b', name: 'look' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'begins a call with a named piece in the same chunk when nothing else tells',
      calls: [unindexed],
      piece: { index: undefined, name: 'look' },
      expected: undefined,
    },
    {
      name: 'begins a second call under one index by its name and id',
      calls: [a],
      piece: { id: 'call_b', name: 'see' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'begins a second call under one index in one chunk',
      calls: [a],
      piece: { id: 'call_b', name: 'look' },
      expected: undefined,
    },
    {
      name: 'begins a call of another name after one without arguments',
      calls: [a],
      piece: { name: 'see' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'begins a call after complete arguments, by its id',
      calls: [whole],
      piece: { id: 'call_b', name: 'look' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'begins a call after complete arguments, by other arguments',
      calls: [whole],
      piece: { id: 'call_a', name: 'look', arguments: '{"x":2}' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'begins a call after complete arguments, by its name alone',
      calls: [whole],
      piece: { name: 'see' },
      at: 2,
      expected: undefined,
    },
    {
      name: 'begins a call of another name with the same id and arguments',
      calls: [whole],
      piece: { index: undefined, id: 'call_a', name: 'see', arguments: '{"x":1}' },
      expected: undefined,
    },
    {
      name: 'takes the whole call said again for the same call',
      calls: [whole],
      piece: { id: 'call_a', name: 'look', arguments: '{"x":1}' },
      at: 2,
      expected: whole,
    },
    {
      name: 'takes an empty repetition of id and name for the same call',
      calls: [whole],
      piece: { id: 'call_a', name: 'look' },
      at: 2,
      expected: whole,
    },
    {
      name: 'finds the earlier of two calls under one index by its id',
      calls: [a, call({ backendId: 'call_b' })],
      piece: { id: 'call_a', arguments: '{' },
      expected: a,
    },
  ];

  for (const { name, calls, piece: fields, at = 1, expected } of cases) {
    it(`a piece ${name}`, () => {
      const list = createCallList();
      for (const each of calls) list.add(each);
      expect(viewOf(findCall(list, piece(fields), at))).to.deep.equal(viewOf(expected));
    });
  }
});

function viewOf(found: BackendCall | undefined): object | undefined {
  return found && { ...found, arguments: found.arguments.emitted };
}

function argumentsOf(given: string): BackendCall['arguments'] {
  const read = createCallArguments();
  read.feed(given);
  return read;
}
