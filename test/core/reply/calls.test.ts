import { expect } from 'chai';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { chunkOf, translate } from '../../support/machine.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

type Pieces = readonly (readonly [index: number, name: string, args: string, id?: string])[];

const named = (name: string) => ({ type: 'function', name }) as const;
const REQUEST: CreateResponse = { model: 'm', input: 'Hi', tools: ['get', 'get_weather', 'look'].map(named) };

function callsOf(pieces: Pieces): string[][] {
  const chunks = pieces.map(([index, name, args, id]) =>
    chunkOf({ tool_calls: [{ index, id, function: { name, arguments: args } }] }),
  );
  const { output } = expectWellFormed(
    translate({ chunks: [...chunks, chunkOf({}, 'tool_calls')], done: true }, REQUEST),
  );
  return output.flatMap((item) => (item.type === 'function_call' ? [[item.name, item.arguments]] : []));
}

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
  ];
  for (const { name, pieces, expected } of cases) {
    it(name, () => {
      expect(callsOf(pieces)).to.deep.equal(expected);
    });
  }
});
