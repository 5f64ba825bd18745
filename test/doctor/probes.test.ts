import { expect } from 'chai';
import { readAnswer } from '../../src/doctor/answer.ts';
import { CHAT, PROBES, type Probe, type ProbeName } from '../../src/doctor/probes.ts';

type Json = Readonly<Record<string, unknown>>;

/** A completion of the forms that were recorded of real backends. */
function completion(message: Json, rest: Json = {}): string {
  const { finish_reason = 'stop', ...others } = rest;
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    ...others,
  });
}

const sse = (...chunks: readonly unknown[]): string =>
  chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('');

const delta = (delta: Json, finish_reason: string | null = null, rest: Json = {}): Json => ({
  choices: [{ index: 0, delta, finish_reason }],
  ...rest,
});

const call = (args: unknown, name = 'get_weather'): Json => ({
  id: 'call_1',
  type: 'function',
  function: { name, arguments: args },
});

const USAGE = { prompt_tokens: 9, completion_tokens: 16, total_tokens: 25 };
const LONG_USAGE = { prompt_tokens: 9, completion_tokens: 140, total_tokens: 149 };

interface Row {
  readonly probe: ProbeName | 'chat';
  readonly answer: string;
  readonly of: string;
  readonly result: 'yes' | 'no' | 'unclear';
  readonly reason: RegExp;
}

const ROWS: readonly Row[] = [
  { probe: 'chat', of: 'text', answer: completion({ content: 'OK' }), result: 'yes', reason: /text/ },
  {
    probe: 'chat',
    of: 'reasoning that used up the limit',
    answer: completion({ content: null, reasoning_content: 'Hm' }, { finish_reason: 'length' }),
    result: 'yes',
    reason: /text/,
  },
  {
    probe: 'chat',
    of: 'thoughts that are not shown and used up the limit',
    answer: completion({ content: '' }, { finish_reason: 'length' }),
    result: 'yes',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'chat',
    of: 'nothing',
    answer: completion({ content: '' }),
    result: 'unclear',
    reason: /finish reason stop/,
  },
  {
    probe: 'stream',
    of: 'chunks that repeat each other (llama.cpp)',
    answer: sse(delta({ content: 'a' }), delta({ content: 'b' }), delta({ content: 'c' }), delta({}, 'stop'), '[DONE]'),
    result: 'yes',
    reason: /^4 chunks$/,
  },
  {
    probe: 'stream',
    of: 'chunks without an end (Writer)',
    answer: sse(delta({ content: 'a' }), delta({}, 'stop')),
    result: 'yes',
    reason: /no \[DONE\] at the end/,
  },
  {
    probe: 'stream',
    of: 'usage in the last chunk (Mistral)',
    answer: sse(delta({ content: 'a' }), delta({}, 'stop', { usage: USAGE }), '[DONE]'),
    result: 'yes',
    reason: /usage comes unasked/,
  },
  { probe: 'stream', of: 'one piece', answer: completion({ content: 'OK' }), result: 'no', reason: /one piece/ },
  {
    probe: 'usage in streams',
    of: 'a chunk of its own (OpenAI)',
    answer: sse(delta({ content: 'a' }), { choices: [], usage: USAGE }, '[DONE]'),
    result: 'yes',
    reason: /a chunk of its own/,
  },
  {
    probe: 'usage in streams',
    of: 'x_groq',
    answer: sse(delta({}, 'stop', { x_groq: { usage: USAGE } }), '[DONE]'),
    result: 'yes',
    reason: /with a choice/,
  },
  {
    probe: 'usage in streams',
    of: 'no usage',
    answer: sse(delta({ content: 'a' }, 'stop'), '[DONE]'),
    result: 'no',
    reason: /no usage comes/,
  },
  {
    probe: 'max_tokens',
    of: 'a cut answer',
    answer: completion({ content: '1 2' }, { finish_reason: 'length' }),
    result: 'yes',
    reason: /^kept$/,
  },
  {
    probe: 'max_tokens',
    of: 'a short answer',
    answer: completion({ content: '1 to 50' }, { usage: USAGE }),
    result: 'yes',
    reason: /^taken$/,
  },
  {
    probe: 'max_completion_tokens',
    of: 'a long answer',
    answer: completion({ content: '1 2 3' }, { usage: LONG_USAGE }),
    result: 'no',
    reason: /not kept: 140 tokens came for 16/,
  },
  {
    probe: 'max_completion_tokens',
    of: 'an answer without usage',
    answer: completion({ content: '1 2 3' }),
    result: 'unclear',
    reason: /without usage/,
  },
  { probe: 'developer role', of: 'text', answer: completion({ content: 'OK' }), result: 'yes', reason: /taken/ },
  {
    probe: 'tools',
    of: 'a call',
    answer: completion({ content: null, tool_calls: [call('{"city":"Paris"}')] }, { finish_reason: 'tool_calls' }),
    result: 'yes',
    reason: /^called get_weather$/,
  },
  {
    probe: 'tools',
    of: 'a call whose arguments are the object itself (Ollama)',
    answer: completion({ tool_calls: [call({ city: 'Paris' })] }),
    result: 'yes',
    reason: /^called get_weather$/,
  },
  {
    probe: 'tools',
    of: 'words',
    answer: completion({ content: 'Sunny.' }),
    result: 'unclear',
    reason: /in words/,
  },
  {
    probe: 'tools',
    of: 'arguments that are cut',
    answer: completion({ tool_calls: [call('{"city":')] }, { finish_reason: 'length' }),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'tools',
    of: 'arguments that are cut, with another finish reason',
    answer: completion({ tool_calls: [call('{"city":"Pa')] }, { finish_reason: 'tool_calls' }),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'tools',
    of: 'a name that is cut',
    answer: completion({ tool_calls: [call('', 'get_wea')] }, { finish_reason: 'length' }),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'parallel tools',
    of: 'a whole call and one that is cut',
    answer: completion(
      { tool_calls: [call('{"city":"Paris"}'), { ...call('{"ci'), id: 'call_2' }] },
      { finish_reason: 'length' },
    ),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'tool_choice none',
    of: 'thoughts alone',
    answer: completion({ content: null, reasoning: 'Hm' }, { finish_reason: 'length' }),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'parallel_tool_calls false',
    of: 'one call, where the limit left no room for another',
    answer: completion({ tool_calls: [call('{"city":"Paris"}')] }, { finish_reason: 'length' }),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'tools',
    of: 'arguments that are no JSON',
    answer: completion({ tool_calls: [call('city=Paris')] }),
    result: 'no',
    reason: /no JSON object/,
  },
  {
    probe: 'tools',
    of: 'thoughts alone',
    answer: completion({ content: null, reasoning: 'Hm' }, { finish_reason: 'length' }),
    result: 'unclear',
    reason: /used up its 512 tokens/,
  },
  {
    probe: 'parallel tools',
    of: 'two calls',
    answer: completion({ tool_calls: [call('{"city":"Paris"}'), call('{"city":"Rome"}')] }),
    result: 'yes',
    reason: /^2 calls in one answer$/,
  },
  {
    probe: 'parallel tools',
    of: 'one call',
    answer: completion({ tool_calls: [call('{"city":"Paris"}')] }),
    result: 'unclear',
    reason: /one call where two/,
  },
  {
    probe: 'tool_choice required',
    of: 'words',
    answer: completion({ content: 'Good morning.' }),
    result: 'no',
    reason: /answered in words/,
  },
  {
    probe: 'tools',
    of: 'a tool that was not offered',
    answer: completion({ tool_calls: [call('{}', 'wrong_tool')] }),
    result: 'no',
    reason: /^called wrong_tool, which was not offered$/,
  },
  {
    probe: 'tool_choice named',
    of: 'a call of this tool',
    answer: completion({ tool_calls: [call('{}', 'get_time')] }),
    result: 'yes',
    reason: /^called get_time$/,
  },
  {
    probe: 'tool_choice named',
    of: 'a call of the other tool (llama.cpp)',
    answer: completion({ tool_calls: [call('{"city":"Paris"}')] }),
    result: 'no',
    reason: /the model called get_weather/,
  },
  {
    probe: 'tool_choice named',
    of: 'words',
    answer: completion({ content: 'Sunny.' }),
    result: 'no',
    reason: /in words/,
  },
  {
    probe: 'tool_choice none',
    of: 'words',
    answer: completion({ content: 'Sunny.' }),
    result: 'yes',
    reason: /no call/,
  },
  {
    probe: 'tool_choice none',
    of: 'a call (Ollama)',
    answer: completion({ tool_calls: [call('{"city":"Paris"}')] }),
    result: 'no',
    reason: /the model called get_weather/,
  },
  {
    probe: 'parallel_tool_calls false',
    of: 'one call',
    answer: completion({ tool_calls: [call('{"city":"Paris"}')] }),
    result: 'yes',
    reason: /one call/,
  },
  {
    probe: 'parallel_tool_calls false',
    of: 'two calls (llama.cpp)',
    answer: completion({ tool_calls: [call('{"city":"Paris"}'), call('{"city":"Rome"}')] }),
    result: 'no',
    reason: /2 calls came/,
  },
  {
    probe: 'parallel_tool_calls false',
    of: 'words',
    answer: completion({ content: 'Sunny.' }),
    result: 'unclear',
    reason: /no call/,
  },
  {
    probe: 'json_schema',
    of: 'what was asked for, behind a thought that the template opened',
    answer: completion({ content: 'Paris?\n</think>\n\n{"capital_city": "Paris"}' }),
    result: 'yes',
    reason: /follows it/,
  },
  {
    probe: 'json_schema',
    of: 'what was asked for, behind a thought in tags of its own',
    answer: completion({ content: '[THINK]Paris?[/THINK]{"capital_city": "Paris"}' }),
    result: 'yes',
    reason: /follows it/,
  },
  {
    probe: 'reasoning',
    of: 'tags of its own (Magistral)',
    answer: completion({ content: '[THINK]17 × 23[/THINK]No.' }),
    result: 'yes',
    reason: /^in \[THINK\]$/,
  },
  {
    probe: 'reasoning',
    of: 'a closing tag alone (Qwen3.5)',
    answer: completion({ content: '17 × 23\n</think>\n\nNo.' }),
    result: 'yes',
    reason: /^before <\/think>, in a block that the chat template opened$/,
  },
  {
    probe: 'reasoning',
    of: 'tags of which the model speaks',
    answer: completion({ content: 'No. I would write <think>17 × 23</think>.' }),
    result: 'no',
    reason: /none came/,
  },
  {
    probe: 'json_schema',
    of: 'what was asked for',
    answer: completion({ content: ' {"capital_city": "Paris"}\n' }),
    result: 'yes',
    reason: /follows it/,
  },
  {
    probe: 'json_schema',
    of: 'what was asked for, behind thoughts in the text',
    answer: completion({ content: '<think>\nParis?\n</think>\n\n{"capital_city": "Paris"}' }),
    result: 'yes',
    reason: /follows it/,
  },
  {
    probe: 'json_schema',
    of: 'other JSON',
    answer: completion({ content: '{"answer": "Paris"}' }),
    result: 'no',
    reason: /does not follow the schema/,
  },
  {
    probe: 'json_object',
    of: 'any object',
    answer: completion({ content: '{"answer": "Paris"}' }),
    result: 'yes',
    reason: /follows it/,
  },
  {
    probe: 'json_object',
    of: 'words',
    answer: completion({ content: 'Paris.' }),
    result: 'no',
    reason: /is not JSON/,
  },
  {
    probe: 'json_object',
    of: 'the beginning of an object',
    answer: completion({ content: '{"a' }, { finish_reason: 'length' }),
    result: 'unclear',
    reason: /used up/,
  },
  {
    probe: 'reasoning',
    of: 'reasoning_content (DeepSeek)',
    answer: completion({ content: 'No.', reasoning_content: '17 × 23' }),
    result: 'yes',
    reason: /^in reasoning_content$/,
  },
  {
    probe: 'reasoning',
    of: 'both fields of OpenRouter',
    answer: completion({ content: 'No.', reasoning: '17', reasoning_details: [{ text: '17' }] }),
    result: 'yes',
    reason: /^in reasoning and reasoning_details$/,
  },
  {
    probe: 'reasoning',
    of: 'a think block that is not closed',
    answer: completion({ content: '\n<think>\n17' }, { finish_reason: 'length' }),
    result: 'yes',
    reason: /^in <think>$/,
  },
  {
    probe: 'reasoning',
    of: 'parts (Mistral)',
    answer: completion({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: '17' }] }] }),
    result: 'yes',
    reason: /^in thinking parts$/,
  },
  {
    probe: 'reasoning',
    of: 'tokens that are not shown (OpenAI)',
    answer: completion(
      { content: 'No.', reasoning: null },
      { usage: { ...USAGE, completion_tokens_details: { reasoning_tokens: 12 } } },
    ),
    result: 'no',
    reason: /^12 tokens of it, not shown$/,
  },
  { probe: 'reasoning', of: 'none', answer: completion({ content: 'No.' }), result: 'no', reason: /none came/ },
  { probe: 'images', of: 'text', answer: completion({ content: 'OK' }), result: 'yes', reason: /not tried/ },
];

const ALL: readonly Probe[] = [CHAT, ...PROBES];

describe('the probes of the doctor', () => {
  for (const { probe: name, of, answer, result, reason } of ROWS) {
    it(`answer "${name}" with ${result} after ${of}`, () => {
      const said = readAnswer({ status: 200, headers: {}, text: answer }, []);
      const verdict = ALL.find((probe) => probe.name === name)?.judge(said);
      expect(verdict?.result).to.equal(result);
      expect(verdict?.reason).to.match(reason);
    });
  }

  for (const [words, expected] of [
    ['Could not finish the message because max_tokens or model output limit was reached.', 'yes'],
    ["Unsupported parameter: 'max_tokens' is not supported with this model.", undefined],
  ] as const) {
    it(`take "${words}" for ${expected ?? 'no answer'} of the limits alone`, () => {
      const verdicts = ALL.map(({ name, judgeRefusal }) => [name, judgeRefusal?.(words)?.result] as const);
      const limits = verdicts.filter(([name]) => name.startsWith('max_')).map(([, result]) => result);
      expect(limits).to.deep.equal([expected, expected]);
      expect(verdicts.filter(([name, result]) => !name.startsWith('max_') && result !== undefined)).to.deep.equal([]);
    });
  }

  for (const probe of ALL) {
    it(`ask "${probe.name}" for no more than 512 tokens, by a name that is taken`, () => {
      const asked = probe.ask({ model: 'm', limitField: 'max_completion_tokens' });
      const limits = [asked.max_tokens, asked.max_completion_tokens].filter((limit) => limit !== undefined);
      expect(limits).to.have.length(1);
      expect(limits[0]).to.be.within(1, 512);
      if (probe.name !== 'max_tokens') expect(asked.max_completion_tokens).to.equal(limits[0]);
      expect(asked.model).to.equal('m');
    });
  }
});
