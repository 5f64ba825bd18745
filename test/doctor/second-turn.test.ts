import { expect } from 'chai';
import { askSecondTurn } from '../../src/doctor/second-turn.ts';
import { useQuestion } from '../support/doctor-question.ts';
import { useRealSockets } from '../support/real-sockets.ts';

type Json = Readonly<Record<string, unknown>>;

const CALL = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
const SIGNED = { ...CALL, extra_content: { google: { thought_signature: 'c2ln' } } };

const wants =
  (field: string) =>
  (message: Json): string | undefined =>
    JSON.stringify(message).includes(`"${field}"`) ? undefined : `${field} is missing`;

describe('askSecondTurn', () => {
  useRealSockets();

  const asking = useQuestion();

  function play(
    message: Json,
    whyNot: (returned: Json) => string | undefined = () => undefined,
    status = 400,
    reason = 'stop',
  ): void {
    asking.backend.always(({ request, start, end }) => {
      const { messages } = request.body as { messages: readonly Json[] };
      const returned = messages.find(({ role }) => role === 'assistant');
      const problem = returned && whyNot(returned);
      start(problem === undefined ? 200 : status, { 'content-type': 'application/json' });
      const said = returned === undefined ? message : { content: 'Mild.' };
      const completion = { choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason: reason }] };
      end(JSON.stringify(problem === undefined ? completion : { error: { message: problem } }));
    });
  }

  const cases = [
    {
      name: 'no call',
      message: { content: 'Sunny.' },
      expected: { finish: { result: 'unclear', reason: 'the model made no call to answer' }, wanted: [] },
    },
    {
      name: 'a call without state',
      message: { content: null, tool_calls: [CALL] },
      expected: { finish: { result: 'yes', reason: 'nothing is attached to the call' }, wanted: [] },
    },
    {
      name: 'a second turn that is refused',
      message: { content: null, tool_calls: [CALL] },
      whyNot: () => 'no tools in templates',
      expected: { finish: { result: 'no', reason: '400: no tools in templates' }, wanted: [] },
    },
    {
      name: 'thoughts that must come back (Kimi)',
      message: { content: null, reasoning_content: 'Hm', tool_calls: [CALL] },
      whyNot: wants('reasoning_content'),
      expected: {
        finish: {
          result: 'yes',
          reason: 'it wants its reasoning_content back, else 400: reasoning_content is missing',
        },
        wanted: ['reasoning_content'],
      },
    },
    {
      name: 'a signature of a call that must come back (Gemini)',
      message: { content: '', tool_calls: [SIGNED] },
      whyNot: wants('thought_signature'),
      expected: {
        finish: { result: 'yes', reason: 'it wants its extra_content back, else 400: thought_signature is missing' },
        wanted: ['extra_content'],
      },
    },
    {
      name: 'details that may stay away (OpenRouter)',
      message: { content: null, reasoning: 'Hm', reasoning_details: [{ text: 'Hm' }], tool_calls: [CALL] },
      expected: {
        finish: { result: 'yes', reason: 'taken with its reasoning and reasoning_details and without' },
        wanted: [],
      },
    },
    {
      name: 'thoughts that must stay away (Mistral)',
      message: { content: null, reasoning_content: 'Hm', tool_calls: [CALL] },
      whyNot: (message: Json) => (message['reasoning_content'] === undefined ? undefined : 'extra inputs'),
      expected: {
        finish: { result: 'no', reason: 'it refuses its own reasoning_content back: 400: extra inputs' },
        wanted: [],
      },
    },
    {
      name: 'a failure that passes',
      message: { content: null, reasoning_content: 'Hm', tool_calls: [CALL] },
      whyNot: wants('reasoning_content'),
      status: 429,
      expected: { finish: { result: 'yes', reason: 'taken with its reasoning_content' }, wanted: [] },
    },
  ];

  for (const { name, message, whyNot, status, expected } of cases) {
    it(`judges ${name}`, async () => {
      play(message, whyNot, status);
      expect(await askSecondTurn(asking.question)).to.deep.equal(expected);
    });
  }

  const cutCall = { ...CALL, id: 'call_2', function: { name: 'get_weather', arguments: '{"city":"Pa' } };
  const outOfTokens = 'the model used up its 512 tokens before';
  for (const { name, message, finish, reason } of [
    { name: 'the limit cut', message: { tool_calls: [cutCall] }, finish: 'length', reason: outOfTokens },
    {
      name: 'the limit cut behind another',
      message: { tool_calls: [CALL, cutCall] },
      finish: 'length',
      reason: outOfTokens,
    },
    {
      name: 'the limit cut before any arguments',
      message: { tool_calls: [{ ...CALL, function: { name: 'get_w', arguments: '' } }] },
      finish: 'length',
      reason: outOfTokens,
    },
    {
      name: 'was cut with another finish reason',
      message: { tool_calls: [cutCall] },
      finish: 'tool_calls',
      reason: outOfTokens,
    },
    {
      name: 'thoughts left no room for',
      message: { content: null, reasoning_content: 'Hm' },
      finish: 'length',
      reason: outOfTokens,
    },
    {
      name: 'is no JSON',
      message: { tool_calls: [{ ...CALL, function: { name: 'get_weather', arguments: 'Paris' } }] },
      finish: 'stop',
      reason: 'the model made no whole call to answer',
    },
  ]) {
    it(`does not answer a call that ${name}`, async () => {
      play(message, () => 'Failed to parse tool call arguments as JSON', 500, finish);
      expect((await askSecondTurn(asking.question)).finish).to.deep.equal({ result: 'unclear', reason });
      expect(asking.backend.requests).to.have.length(1);
    });
  }

  it('gives back each part in its place', async () => {
    play({ content: 'One moment.', reasoning: 'Hm', tool_calls: [SIGNED, { ...CALL, id: 'call_2' }] });
    await askSecondTurn(asking.question);
    const turns = asking.backend.requests.map(({ body }) => (body as { messages: readonly Json[] }).messages.slice(1));
    const outputs = ['call_1', 'call_2'].map((id) => ({ role: 'tool', tool_call_id: id, content: '18 degrees' }));
    const spoken = { role: 'assistant', content: 'One moment.' };
    expect(turns[1]).to.deep.equal([
      { ...spoken, reasoning: 'Hm', tool_calls: [SIGNED, { ...CALL, id: 'call_2' }] },
      ...outputs,
    ]);
    expect(turns[2]).to.deep.equal([{ ...spoken, tool_calls: [CALL, { ...CALL, id: 'call_2' }] }, ...outputs]);
  });
});
