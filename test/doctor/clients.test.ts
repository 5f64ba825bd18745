import { expect } from 'chai';
import { describeClients, judgeClients } from '../../src/doctor/clients.ts';
import type { Finding } from '../../src/doctor/examine.ts';

type Results = Partial<Record<Finding['name'], Finding['result']>>;

const FINE: Results = {
  chat: 'yes',
  stream: 'yes',
  tools: 'yes',
  'second turn': 'yes',
  json_schema: 'yes',
  'tool_choice required': 'yes',
};

const verdictOn = (results: Results): string =>
  describeClients(
    judgeClients(
      Object.entries({ ...FINE, ...results }).map(([name, result]) => ({
        name: name as Finding['name'],
        result,
        reason: '',
      })),
    ),
  );

describe('the clients that work', () => {
  for (const { results, verdict } of [
    { results: {}, verdict: 'Works with OpenAI SDK, Agents SDK, AI SDK, LangChain, Codex.' },
    {
      results: { 'developer role': 'no', images: 'no' },
      verdict: 'Works with OpenAI SDK, Agents SDK, AI SDK, LangChain, Codex.',
    },
    {
      results: { json_schema: 'no' },
      verdict:
        'Works with Codex. Works, except for the part in parentheses, with OpenAI SDK (json_schema), Agents SDK (json_schema), AI SDK (json_schema), LangChain (json_schema).',
    },
    {
      results: { tools: 'no', 'second turn': 'unclear' },
      verdict:
        'Works, except for the part in parentheses, with OpenAI SDK (tools), AI SDK (tools), LangChain (tools). Does not work with Agents SDK (tools), Codex (tools).',
    },
    {
      results: { 'second turn': 'unclear' },
      verdict: 'Works with OpenAI SDK, AI SDK, LangChain. Not clear for Agents SDK (second turn), Codex (second turn).',
    },
    {
      results: { 'second turn': 'unclear', json_schema: 'no' },
      verdict:
        'Works, except for the part in parentheses, with OpenAI SDK (json_schema), AI SDK (json_schema), LangChain (json_schema). Not clear for Agents SDK (second turn, json_schema), Codex (second turn).',
    },
    {
      results: { stream: 'no' },
      verdict:
        'Works, except for the part in parentheses, with Agents SDK (stream), LangChain (stream). Does not work with OpenAI SDK (stream), AI SDK (stream), Codex (stream).',
    },
  ] as const) {
    it(`are told of ${JSON.stringify(results)}`, () => expect(verdictOn(results)).to.equal(verdict));
  }
});
