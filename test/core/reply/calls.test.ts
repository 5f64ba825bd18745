import { expect } from 'chai';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { chunkOf, translate } from '../../support/machine.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

type Piece = readonly [index: number | undefined, name: string, args: string, id?: string];
/** Several pieces in a list are in one chunk. */
type Pieces = readonly (Piece | readonly Piece[])[];

const named = (name: string) => ({ type: 'function', name }) as const;
const REQUEST: CreateResponse = { model: 'm', input: 'Hi', tools: ['get', 'get_weather', 'look'].map(named) };

function callsOf(pieces: Pieces, finishReason = 'tool_calls'): string[][] {
  const chunks = pieces.map((inChunk) => {
    const calls = (isPiece(inChunk) ? [inChunk] : inChunk).map(([index, name, args, id]) => ({
      index,
      id,
      function: { name, arguments: args },
    }));
    return chunkOf({ tool_calls: calls });
  });
  const { output } = expectWellFormed(
    translate({ chunks: [...chunks, chunkOf({}, finishReason)], done: true }, REQUEST),
  );
  return output.flatMap((item) => (item.type === 'function_call' ? [[item.name, item.arguments]] : []));
}

function isPiece(inChunk: Piece | readonly Piece[]): inChunk is Piece {
  return typeof inChunk[1] === 'string';
}

const PAY = '{"amount":5}';
const OF_OSLO = ['{"city":', '{"city":"Os', '{"city":"Oslo"}'];
const OF_ROME = ['{"city":"', '{"city":"Rome","days":[', '{"city":"Rome","days":[1,2]}'];

describe('a call', () => {
  const cases: { name: string; pieces: Pieces; expected: string[][] }[] = [
    {
      name: 'has one name, where that comes in pieces',
      pieces: [
        [0, 'get_', '', 'a'],
        [0, 'wea', ''],
        [0, 'ther', '', 'a'],
        [0, '', '{"c":1}'],
        [1, 'lo', ''],
        [1, 'ok', ''],
      ],
      expected: [
        ['get_weather', '{"c":1}'],
        ['look', '{}'],
      ],
    },
    {
      name: 'has the name that a tool has, although another goes on',
      pieces: [
        [0, 'get', ''],
        [0, '_weather', ''],
      ],
      expected: [
        ['get', '{}'],
        ['_weather', '{}'],
      ],
    },
    {
      name: 'has the beginning of a name where no more of it comes',
      pieces: [
        [0, 'loo', '{}'],
        [1, 'get_', ''],
      ],
      expected: [
        ['loo', '{}'],
        ['get_', '{}'],
      ],
    },
    {
      name: 'keeps its name from one of another id',
      pieces: [
        [0, 'get_', '', 'a'],
        [0, 'weather', '', 'b'],
      ],
      expected: [
        ['get_', '{}'],
        ['weather', '{}'],
      ],
    },
    {
      name: 'has the arguments that follow an empty object',
      pieces: [
        [0, 'look', '{}', 'a'],
        [0, '', '{"c":'],
        [0, '', '1}'],
      ],
      expected: [['look', '{"c":1}']],
    },
    {
      name: 'has an empty object where nothing follows',
      pieces: [
        [0, 'look', '{}'],
        [1, 'look', '{'],
        [1, '', '}'],
      ],
      expected: [
        ['look', '{}'],
        ['look', '{}'],
      ],
    },
    {
      name: 'has an empty object before white space',
      pieces: [
        [0, 'look', '{}'],
        [0, '', '\n'],
      ],
      expected: [['look', '{}\n']],
    },
    {
      name: 'is one, where its id comes at several indexes',
      pieces: [0, 1, 2].map((index) => [index, 'look', PAY, 'a']),
      expected: [['look', PAY]],
    },
    {
      name: 'is one, where its id comes at several indexes in one chunk',
      pieces: [[0, 1, 2].map((index) => [index, 'look', PAY, 'a'] as const)],
      expected: [['look', PAY]],
    },
    {
      name: 'is one, where all of it is at another index than its name',
      pieces: [
        [0, 'look', '', 'a'],
        [1, 'look', PAY, 'a'],
      ],
      expected: [['look', PAY]],
    },
    {
      name: 'is one, where its arguments are at another index than its name',
      pieces: [
        [0, 'look', '', 'a'],
        [1, '', '{"amount"', 'a'],
        [1, '', ':5}'],
      ],
      expected: [['look', PAY]],
    },
    {
      name: 'is one, where the index counts its pieces',
      pieces: [
        [0, 'look', '', 'a'],
        [1, '', '{"amount"'],
        [2, '', ':5'],
        [3, '', '}'],
        [4, 'get', '', 'b'],
        [5, '', PAY],
      ],
      expected: [
        ['look', PAY],
        ['get', PAY],
      ],
    },
    {
      name: 'is one, where its pieces come again at another index',
      pieces: [
        [0, 'look', '', 'a'],
        [0, '', PAY, 'a'],
        [1, 'look', '', 'a'],
        [1, '', '{"amo', 'a'],
        [1, '', 'unt":5}', 'a'],
      ],
      expected: [['look', PAY]],
    },
    {
      name: 'is one of two with the same id, where their arguments differ',
      pieces: [
        [0, 'look', '{"n":1}', 'a'],
        [1, 'look', '{"n":2}', 'a'],
      ],
      expected: [
        ['look', '{"n":1}'],
        ['look', '{"n":2}'],
      ],
    },
    {
      name: 'is one of two with the same id, where their pieces differ late',
      pieces: [
        [0, 'look', '', 'a'],
        [0, '', '{"n":1}', 'a'],
        [1, 'look', '', 'a'],
        [1, '', '{"n', 'a'],
        [1, '', '":2}', 'a'],
        [2, 'look', '', 'a'],
        [2, '', '{"n":3'],
        [2, '', '}'],
      ],
      expected: [
        ['look', '{"n":1}'],
        ['look', '{"n":2}'],
        ['look', '{"n":3}'],
      ],
    },
    {
      name: 'is one of two with the same id, where their names differ',
      pieces: [
        [0, 'look', '{"n":', 'a'],
        [1, 'get', '{"n":', 'a'],
        [0, '', '1}', 'a'],
        [1, '', '1}', 'a'],
      ],
      expected: [
        ['look', '{"n":1}'],
        ['get', '{"n":1}'],
      ],
    },
    {
      name: 'has the arguments at the number of the call, where its name is at that of the tool',
      pieces: [
        [1, 'look', '', 'a'],
        [0, '', PAY],
        [0, 'get', '', 'b'],
        [1, '', '{"n":'],
        [1, '', '2}'],
      ],
      expected: [
        ['look', PAY],
        ['get', '{"n":2}'],
      ],
    },
    {
      name: 'has its arguments once, where each chunk has all so far',
      pieces: [[0, 'look', '', 'a'], ...OF_ROME.map((args) => [0, '', args] as const)],
      expected: [['look', OF_ROME[2] ?? '']],
    },
    {
      name: 'has its arguments once, where each chunk has all so far, with name and id',
      pieces: OF_OSLO.map((args) => [0, 'look', args, 'a']),
      expected: [['look', '{"city":"Oslo"}']],
    },
    {
      name: 'has its arguments once, where the first chunk leaves open whether the next has all so far',
      pieces: [
        [0, 'look', '{"a":', 'a'],
        [0, '', '{"a":1}'],
      ],
      expected: [['look', '{"a":1}']],
    },
    {
      name: 'has its arguments as they are, where they come in a string in a string',
      pieces: [
        [0, 'look', '"{\\"a', 'a'],
        [0, '', '\\":1}"'],
        [1, 'get', JSON.stringify('{}'), 'b'],
      ],
      expected: [
        ['look', '{"a":1}'],
        ['get', '{}'],
      ],
    },
    {
      name: 'has the string that a model writes in the place of arguments',
      pieces: [
        [0, 'look', '"a', 'a'],
        [0, '', '"'],
        [1, 'get', '"{', 'b'],
      ],
      expected: [
        ['look', '"a"'],
        ['get', '"{'],
      ],
    },
    {
      name: 'has an object in an object, where real pieces say so',
      pieces: [
        [0, 'look', '{"a":', 'a'],
        [0, '', '{"a":1}'],
        [0, '', '}'],
      ],
      expected: [['look', '{"a":{"a":1}}']],
    },
    {
      name: 'has equal real pieces',
      pieces: [[0, 'look', '{"a":"', 'a'], ...['x', 'x', '', 'xx', 'x', '"}'].map((piece) => [0, '', piece] as const)],
      expected: [['look', '{"a":"xxxxx"}']],
    },
    {
      name: 'has its arguments once, where two calls come interleaved with all so far',
      pieces: OF_OSLO.map((args, at) => [
        [0, 'look', args, 'a'],
        [1, 'get', OF_ROME[at] ?? '', 'b'],
      ]),
      expected: [
        ['look', '{"city":"Oslo"}'],
        ['get', OF_ROME[2] ?? ''],
      ],
    },
    {
      name: 'has its arguments once, where all of them come three times without an id',
      pieces: [
        [0, 'look', PAY],
        [0, '', PAY],
        [0, 'look', PAY],
      ],
      expected: [['look', PAY]],
    },
    {
      name: 'has its arguments once, where all of them come after their pieces without an id',
      pieces: [
        [0, 'look', '{"am'],
        [0, '', 'ount":5}'],
        [0, '', PAY],
        [1, 'get', '{}'],
        [0, '', PAY],
      ],
      expected: [
        ['look', PAY],
        ['get', '{}'],
      ],
    },
    {
      name: 'has its arguments in the place of an empty object, where the pieces of another come between',
      pieces: [
        [0, 'look', '{}', 'a'],
        [1, 'get', '{}', 'b'],
        [0, '', '{"n":'],
        [1, '', '{"n":2}'],
        [0, '', '1}'],
      ],
      expected: [
        ['look', '{"n":1}'],
        ['get', '{"n":2}'],
      ],
    },
    {
      name: 'has its arguments in the place of an empty object, where its name comes again',
      pieces: [
        [0, 'look', '{}', 'a'],
        [0, 'look', '{"n":'],
        [0, 'look', '1}'],
      ],
      expected: [['look', '{"n":1}']],
    },
    {
      name: 'is one of two equal ones, where their ids differ',
      pieces: [
        [0, 'look', PAY, 'a'],
        [0, 'look', PAY, 'b'],
      ],
      expected: [
        ['look', PAY],
        ['look', PAY],
      ],
    },
    {
      name: 'is one of two equal ones, where their indexes differ and they have no id',
      pieces: [
        [0, 'look', PAY],
        [1, 'look', PAY],
      ],
      expected: [
        ['look', PAY],
        ['look', PAY],
      ],
    },
    {
      name: 'is one of two equal ones in one chunk, where nothing says that they are one',
      pieces: [
        [
          [undefined, 'look', PAY],
          [undefined, 'look', PAY],
        ],
      ],
      expected: [
        ['look', PAY],
        ['look', PAY],
      ],
    },
  ];
  for (const { name, pieces, expected } of cases) {
    it(name, () => {
      expect(callsOf(pieces)).to.deep.equal(expected);
    });
  }

  it('is whole with the last of its arguments so far, also where nobody knows the finish reason', () => {
    const pieces: Pieces = [
      [0, 'look', '{"a":', 'a'],
      [0, '', '{"a":1}'],
    ];
    expect(callsOf(pieces, 'xyzzy')).to.deep.equal([['look', '{"a":1}']]);
  });
});
