/**
 * What a request costs grows with its size, and not with the square of it. The same work is done in small pieces and in
 * one that is 25 times as large; the ceiling is far from both, so that a busy machine fails no test.
 */
import { expect } from 'chai';
import type { ChatChunk } from '../../src/core/chat.ts';
import { failureOf } from '../../src/backend/failures.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import { createCustomInputReader } from '../../src/core/reply/custom-input.ts';
import { withUpdates } from '../../src/core/request/configuration-update.ts';
import { toHostedCall } from '../../src/core/request/hosted-calls.ts';
import type { CreateResponse, InputItem, UnknownItem } from '../../src/contract/types.ts';
import { chunkOf, openMachine, translate } from '../support/machine.ts';
import { casesOf } from '../support/property.ts';

const TIMES_LARGER = 25;
/** Twenty-five would be the square. What lives through collections costs more than what does not. */
const MAX_RATIO = 8;
const WORDS = 'word '.repeat(20);
/** Their sum is compared: the system may count CPU time in steps of several milliseconds. */
const RUNS = 6;
/** Less is as good as nothing, since so few steps are counted. */
const MIN_MS = 40;

describe('the cost of a request grows with its size', () => {
  const turns = (count: number): InputItem[] =>
    Array.from({ length: count }, (_, turn): InputItem[] => [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: `Question ${turn}` }] },
      { type: 'function_call', call_id: `call_${turn % 7}`, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: `call_${turn % 7}`, output: 'seen' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${turn}` }] },
    ]).flat();
  const read = (chunks: readonly ChatChunk[]) => translate({ chunks: [...chunks, chunkOf({}, 'stop')], done: true });
  const deltas = (count: number, delta: object) => Array.from({ length: count }, () => chunkOf(delta));

  const cases: { name: string; count: number; work: (count: number) => () => unknown }[] = [
    {
      name: 'of turns in the input',
      count: 100,
      work: (count) => {
        const input = turns(count);
        return () => openMachine({ model: 'm', input });
      },
    },
    {
      name: 'of text deltas',
      // Fewer are read before any of them has to live through a collection.
      count: 1600,
      work: (count) => {
        const chunks = deltas(count, { content: WORDS });
        return () => read(chunks);
      },
    },
    {
      name: 'of reasoning deltas',
      // Fewer are read before any of them has to live through a collection.
      count: 1600,
      work: (count) => {
        const chunks = deltas(count, { reasoning_content: WORDS });
        return () => read(chunks);
      },
    },
    {
      name: 'of pieces of what is attached to a message',
      count: 400,
      work: (count) => {
        const details = [{ type: 'reasoning.text', index: 0, text: WORDS }];
        const chunks = deltas(count, { reasoning_details: details, extra_content: { google: { thought: true } } });
        return () => read(chunks);
      },
    },
    {
      name: 'of reasoning items with a state in the input',
      count: 100,
      work: (count) => {
        const sealed = JSON.stringify({
          version: 1,
          dialect: 'generic',
          model: 'm',
          reply: 'r',
          thoughts: WORDS,
          thoughts_form: null,
          message: {},
          calls: Array.from({ length: 7 }, (_, number) => ({ call_id: `call_${number}` })),
        });
        const input = turns(count).flatMap((item): InputItem[] => [
          item,
          { type: 'reasoning', encrypted_content: sealed },
        ]);
        return () => openMachine({ model: 'm', input });
      },
    },
    {
      name: 'of calls and outputs that repeat one id',
      count: 200,
      work: (count) => {
        const numbers = Array.from({ length: count }, (_, number) => String(number).padStart(400));
        const calls = numbers.map((text): InputItem => ({
          type: 'function_call',
          call_id: 'c',
          name: 'look',
          arguments: `{"n":"${text}"}`,
        }));
        const outputs = numbers.map((text): InputItem => ({
          type: 'function_call_output',
          call_id: 'c',
          output: `It is ${text}.`,
        }));
        const input = [...calls, ...calls, ...outputs, ...outputs];
        return () => openMachine({ model: 'm', input });
      },
    },
    {
      name: 'of configuration updates beside unknown fields',
      count: 100,
      work: (count) => {
        const fields = Object.fromEntries(Array.from({ length: count }, (_, number) => [`unknown_${number}`, 0]));
        const update: InputItem = { type: 'configuration_update', reasoning: { effort: 'low' } };
        const request: CreateResponse = { ...fields, model: 'm', input: Array.from({ length: count }, () => update) };
        return () => withUpdates(request);
      },
    },
    {
      name: 'of levels of JSON in a string, around a text',
      count: 40,
      work: (count) => {
        const nested = `${'['.repeat(count)}"${WORDS.repeat(count * 3)}"${']'.repeat(count)}`;
        const item: object = { type: 'mcp_call', arguments: nested };
        return () => toHostedCall(item as UnknownItem, DIALECTS.generic);
      },
    },
    {
      name: 'of pieces of the arguments of a call',
      count: 400,
      work: (count) => {
        const start = chunkOf({
          tool_calls: [{ index: 0, id: 'call_1', function: { name: 'look', arguments: '["' } }],
        });
        const chunks = deltas(count, { tool_calls: [{ index: 0, function: { arguments: WORDS } }] });
        return () => read([start, ...chunks]);
      },
    },
    {
      name: 'of calls, and of pieces that belong to none of them',
      count: 40,
      work: (count) => {
        const pieces = Array.from({ length: count }, (_, index) => [
          { index, id: `call_${index}`, function: { name: 'look', arguments: '{' } },
          ...Array.from({ length: 20 }, () => ({ id: 'other' })),
        ]);
        return () => read([chunkOf({ tool_calls: pieces.flat() })]);
      },
    },
    {
      name: 'of tools, and of pieces whose name may go on',
      count: 40,
      work: (count) => {
        const tools = ['zzy', ...Array.from({ length: count }, (_, number) => `tool${number}`)].map((name) => ({
          type: 'function' as const,
          name,
          parameters: {},
        }));
        const piece = { index: 0, id: 'a', function: { name: 'zz' } };
        const pieces = Array.from({ length: 20 * count }, () => piece);
        const request = { model: 'm', input: 'x', tools };
        return () => translate({ chunks: [chunkOf({ tool_calls: pieces }), chunkOf({}, 'stop')], done: true }, request);
      },
    },
    {
      name: 'of the words of an error',
      count: 2400,
      work: (count) => {
        const body = JSON.stringify({ error: { message: 'route '.repeat(count / 6) } });
        return () => failureOf({ status: 404, body, headers: {}, keyOwner: 'caller', secrets: [] });
      },
    },
    {
      name: 'of white space after the input of a custom call',
      count: 2400,
      work: (count) => {
        const json = `{"patch":"x"${' '.repeat(count)}x`;
        return () => {
          const reader = createCustomInputReader();
          return reader.feed(json) + reader.end();
        };
      },
    },
  ];
  for (const { name, count, work } of casesOf(cases)) {
    it(name, () => {
      const small = work(count);
      const large = work(count * TIMES_LARGER);
      let smallMs = 0;
      let largeMs = 0;
      for (let run = 0; run < RUNS; run += 1) {
        smallMs += timeOf(() => repeat(TIMES_LARGER, small));
        largeMs += timeOf(large);
      }
      expect(largeMs / Math.max(smallMs, MIN_MS)).to.be.lessThan(MAX_RATIO);
    });
  }
});

function repeat(times: number, work: () => unknown): void {
  for (let left = times; left > 0; left -= 1) work();
}

function timeOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
