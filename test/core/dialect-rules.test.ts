import { expect } from 'chai';
import * as fc from 'fast-check';
import { createCallIds } from '../../src/core/request/call-ids.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { DIALECTS, toDialect, type Dialect, type DialectName } from '../../src/core/dialects.ts';
import { ApiError } from '../../src/core/errors.ts';
import { toChatRequest } from '../../src/core/request/request.ts';
import type { CreateResponse, InputItem, InputPart, ToolParam } from '../../src/contract/types.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { runs } from '../support/property.ts';

function ask(request: Partial<CreateResponse>, dialect: Dialect): ChatRequest {
  const options = {
    dialect,
    modelAliases: new Map<string, string>(),
    hostedTools: 'drop',
    upstreamDialect: 'generic',
  } as const;
  return toChatRequest({ model: 'm', input: 'Hi', ...request }, options).chat;
}

const user = (content: string | InputPart[]): InputItem => ({ type: 'message', role: 'user', content });
const assistant = (content: string): InputItem => ({ type: 'message', role: 'assistant', content });
const thinks = (text: string): InputItem => ({ type: 'reasoning', summary: [{ type: 'summary_text', text }] });
const call = (id: string): InputItem => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const output = (id: string, text: string | InputPart[] = 'rain'): InputItem => ({
  type: 'function_call_output',
  call_id: id,
  output: text,
});
const image = (url: string): InputPart => ({ type: 'input_image', image_url: url });
const PIXEL = 'data:image/png;base64,AAAA';

describe('what backends want of a conversation', () => {
  describe('messages of the user that follow each other', () => {
    const input = [user('One'), user([{ type: 'input_text', text: 'Two' }, image(PIXEL)]), user('Three')];
    const two = [
      { type: 'text', text: 'Two' },
      { type: 'image_url', image_url: { url: PIXEL } },
    ];

    it('are one where a template would refuse them', () => {
      expect(ask({ input }, DIALECTS.generic).messages).to.deep.equal([
        { role: 'user', content: [{ type: 'text', text: 'One' }, ...two, { type: 'text', text: 'Three' }] },
      ]);
    });

    it('are one text where all of them are texts', () => {
      expect(ask({ input: [user('One'), user('Two')] }, DIALECTS.llamacpp).messages).to.deep.equal([
        { role: 'user', content: 'One\n\nTwo' },
      ]);
    });

    it('stay apart elsewhere', () => {
      expect(ask({ input }, DIALECTS.openrouter).messages).to.deep.equal([
        { role: 'user', content: 'One' },
        { role: 'user', content: two },
        { role: 'user', content: 'Three' },
      ]);
    });

    const merging: Record<DialectName, boolean> = {
      generic: true,
      openai: false,
      azure: false,
      vllm: true,
      sglang: true,
      llamacpp: true,
      ollama: false,
      lmstudio: true,
      deepseek: false,
      moonshot: true,
      google: true,
      mistral: false,
      groq: false,
      openrouter: false,
      together: true,
    };
    for (const [name, merges] of Object.entries(merging)) {
      it(`${merges ? 'are one' : 'stay apart'} for ${name}`, () => {
        const { messages } = ask({ input: [user('One'), user('Two')] }, DIALECTS[name as DialectName]);
        expect(messages).to.have.length(merges ? 1 : 2);
      });
    }
  });

  describe('a message of the user after outputs', () => {
    const input = [user('Go.'), call('aaaaaaaa1'), output('aaaaaaaa1', [image(PIXEL)]), user('And?')];

    it('comes after a word of the assistant where it has to', () => {
      expect(ask({ input }, DIALECTS.mistral).messages.map((message) => message.role)).to.deep.equal([
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
        'user',
      ]);
    });

    it('follows them elsewhere', () => {
      expect(ask({ input }, DIALECTS.openai).messages.map((message) => message.role)).to.deep.equal([
        'user',
        'assistant',
        'tool',
        'user',
        'user',
      ]);
    });
  });

  describe('reasoning', () => {
    const input = [user('Hi'), thinks('Hmm.'), call('a'), output('a'), call('b'), output('b'), assistant('So.')];

    it('has to be on every message of the assistant for deepseek, empty where there was none', () => {
      const { messages } = ask({ input }, DIALECTS.deepseek);
      const told = messages.flatMap((message) => (message.role === 'assistant' ? [message.reasoning_content] : []));
      expect(told).to.deep.equal(['Hmm.', '', '']);
    });

    it('is on its own message alone for the others', () => {
      const { messages } = ask({ input }, DIALECTS.vllm);
      const told = messages.flatMap((message) => (message.role === 'assistant' ? [message.reasoning] : []));
      expect(told).to.deep.equal(['Hmm.', undefined, undefined]);
    });

    it('stands beside calls as part of the content for mistral', () => {
      expect(ask({ input: input.slice(0, 3) }, DIALECTS.mistral).messages[1]).to.deep.include({
        content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hmm.' }] }],
      });
    });
  });

  describe('a forced call', () => {
    const tools: ToolParam[] = [{ type: 'function', name: 'look' }];
    const thinking = { type: 'disabled' };
    const choices: [CreateResponse['tool_choice'], forced: boolean][] = [
      ['required', true],
      [{ type: 'function', name: 'look' }, true],
      ['auto', false],
      ['none', false],
    ];
    for (const [choice, forced] of choices) {
      it(`switches thinking ${forced ? 'off' : 'not off'} at deepseek for ${JSON.stringify(choice)}`, () => {
        const asked = { tools, tool_choice: choice, reasoning: { effort: 'high' } } as Partial<CreateResponse>;
        const chat = ask(asked, DIALECTS.deepseek);
        if (forced) expect(chat).to.deep.include({ thinking }).and.not.have.property('reasoning_effort');
        else expect(chat).to.include({ reasoning_effort: 'high' }).and.not.have.property('thinking');
      });
    }

    it('leaves thoughts alone elsewhere', () => {
      const chat = ask({ tools, tool_choice: 'required', reasoning: { effort: 'high' } }, DIALECTS.openrouter);
      expect(chat).to.include({ reasoning_effort: 'high' }).and.not.have.property('thinking');
    });
  });

  it('switches thinking off at moonshot', () => {
    const tools: ToolParam[] = [{ type: 'function', name: 'look' }];
    expect(ask({ tools, tool_choice: 'required' }, DIALECTS.moonshot)).to.deep.include({
      tool_choice: 'required',
      thinking: { type: 'disabled' },
    });
  });

  describe('calls that another model made', () => {
    const extra = { google: { thought_signature: 'skip_thought_signature_validator' } };
    const callsOf = (dialect: Dialect) =>
      ask({ input: [user('Go.'), call('a'), call('b'), output('a'), output('b'), call('c'), output('c')] }, dialect)
        .messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
        .map(({ extra_content: state }) => state);

    it('have the signature for google that is not checked, on the first call of a turn', () => {
      expect(callsOf(DIALECTS.google)).to.deep.equal([extra, undefined, extra]);
    });

    it('have none elsewhere', () => {
      expect(callsOf(DIALECTS.generic)).to.deep.equal([undefined, undefined, undefined]);
    });
  });

  describe('a JSON Schema for the answer', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const text = { format: { type: 'json_schema', name: 'place', description: 'A place.', schema } } as const;

    it('stands in the system text for deepseek, after the instructions', () => {
      const { messages, response_format: format } = ask({ instructions: 'Be brief.', text }, DIALECTS.deepseek);
      expect(format).to.deep.equal({ type: 'json_object' });
      expect(messages.map(({ role }) => role)).to.deep.equal(['system', 'system', 'user']);
      expect(messages[0]?.content).to.equal('Be brief.');
      expect(messages[1]?.content).to.include('JSON').and.include('A place.').and.include(JSON.stringify(schema));
    });

    it('is that of any object for lmstudio, where only JSON is asked for', () => {
      const { response_format: format } = ask({ text: { format: { type: 'json_object' } } }, DIALECTS.lmstudio);
      expect(format).to.deep.equal({
        type: 'json_schema',
        json_schema: { name: 'response', schema: { type: 'object' } },
      });
      expect(ask({ text }, DIALECTS.lmstudio)).to.deep.include(ask({ text }, DIALECTS.generic));
    });

    it('is sent as it is elsewhere', () => {
      const { messages, response_format: format } = ask({ text }, DIALECTS.generic);
      expect(format).to.have.property('type', 'json_schema');
      expect(messages).to.have.length(1);
    });
  });

  describe('service tiers', () => {
    it('have the names of groq', () => {
      const tiers = ['auto', 'default', 'flex', 'priority', 'on_demand', 'constructor'];
      expect(tiers.map((tier) => ask({ service_tier: tier }, DIALECTS.groq).service_tier)).to.deep.equal([
        'auto',
        'on_demand',
        'flex',
        'performance',
        'on_demand',
        'constructor',
      ]);
    });

    it('keep their names at openai', () => {
      expect(ask({ service_tier: 'default' }, DIALECTS.openai).service_tier).to.equal('default');
    });
  });

  it('is always a stream at llamacpp, which generates to the end else', () => {
    expect(ask({}, DIALECTS.llamacpp)).to.deep.include({ stream: true, stream_options: { include_usage: true } });
    expect(ask({}, DIALECTS.vllm)).to.include({ stream: false }).and.not.have.property('stream_options');
  });

  describe('reasoning effort', () => {
    const cases: { dialect: DialectName; asked: string[]; expected: (string | undefined)[] }[] = [
      {
        dialect: 'vllm',
        asked: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
        expected: [undefined, 'low', 'low', 'medium', 'high', 'high', 'high'],
      },
      { dialect: 'ollama', asked: ['minimal', 'max'], expected: ['low', 'high'] },
      { dialect: 'groq', asked: ['none', 'xhigh'], expected: ['none', 'high'] },
      { dialect: 'generic', asked: ['minimal', 'xhigh'], expected: ['minimal', 'xhigh'] },
      { dialect: 'openai', asked: ['minimal', 'max'], expected: ['minimal', 'max'] },
      { dialect: 'mistral', asked: ['none', 'low', 'max'], expected: ['none', 'high', 'high'] },
      {
        dialect: 'deepseek',
        asked: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
        expected: [undefined, undefined, 'low', 'medium', 'high', 'xhigh', 'max'],
      },
    ];
    for (const { dialect, asked, expected } of cases) {
      it(`of ${asked.join(', ')} is ${expected.map((effort) => effort ?? 'left out').join(', ')} for ${dialect}`, () => {
        const efforts = asked as NonNullable<CreateResponse['reasoning']>['effort'][];
        const sent = efforts.map((effort) => ask({ reasoning: { effort: effort ?? 'low' } }, DIALECTS[dialect]));
        expect(sent.map((chat) => chat.reasoning_effort)).to.deep.equal(expected);
      });
    }

    it('is said by a switch of its own to deepseek, which knows no effort without thoughts', () => {
      const efforts = [undefined, 'none', 'minimal', 'low'] as const;
      const sent = efforts.map((effort) => ask({ ...(effort && { reasoning: { effort } }) }, DIALECTS.deepseek));
      const disabled = { type: 'disabled' };
      expect(sent.map((chat) => Reflect.get(chat, 'thinking'))).to.deep.equal([
        undefined,
        disabled,
        disabled,
        undefined,
      ]);
    });

    for (const name of ['vllm', 'sglang', 'llamacpp'] as const) {
      it(`is said to the template by ${name}, where it is none`, () => {
        const kwargs = { enable_thinking: false, thinking: false };
        expect(ask({ reasoning: { effort: 'none' } }, DIALECTS[name])).to.deep.include({
          chat_template_kwargs: kwargs,
        });
        expect(ask({ reasoning: { effort: 'low' } }, DIALECTS[name])).not.to.have.property('chat_template_kwargs');
      });
    }

    it('is said by the fields of an own dialect, which replace nothing else', () => {
      const off = { chat_template_kwargs: { enable_thinking: false } };
      const dialect = toDialect({ extends: 'vllm', effortFields: { none: { ...off, model: 'other', n: 2 }, low: {} } });
      const none = ask({ reasoning: { effort: 'none' } }, dialect);
      expect(none)
        .to.deep.include({ ...off, model: 'm', n: 2 })
        .and.not.have.property('reasoning_effort');
      const low = ask({ reasoning: { effort: 'low' } }, dialect);
      expect(low).to.not.have.any.keys('reasoning_effort', 'chat_template_kwargs');
    });

    it('is rounded down to a gap, or up to the least', () => {
      const dialect = toDialect({ extends: 'generic', efforts: ['max', 'medium'] });
      const effort = (asked: 'low' | 'high' | 'max') => ask({ reasoning: { effort: asked } }, dialect).reasoning_effort;
      expect([effort('low'), effort('high'), effort('max')]).to.deep.equal(['medium', 'medium', 'max']);
    });
  });

  describe('strict functions', () => {
    const tools: CreateResponse['tools'] = [{ type: 'function', name: 'look', strict: true }];
    const strictOf = (dialect: Dialect) => ask({ tools }, dialect).tools?.map((tool) => tool.function.strict);

    it('are told to those who know the word', () => {
      expect([DIALECTS.openai, DIALECTS.vllm, DIALECTS.mistral].map(strictOf)).to.deep.equal([[true], [true], [true]]);
    });

    it('are not told to groq and together', () => {
      for (const { tools: offered } of [ask({ tools }, DIALECTS.groq), ask({ tools }, DIALECTS.together)]) {
        expect(offered?.[0]?.function).to.have.keys('name', 'parameters');
      }
    });
  });

  describe('images, files and audio', () => {
    const audio: InputPart = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const fileData: InputPart = {
      type: 'input_file',
      filename: 'a.pdf',
      file_data: 'data:application/pdf;base64,AAAA',
    };
    const fileUrl: InputPart = { type: 'input_file', filename: 'a.pdf', file_url: 'https://example.com/a.pdf' };
    const asked = (part: InputPart, dialect: DialectName) => {
      const [message] = ask({ input: [user([part])] }, DIALECTS[dialect]).messages;
      return message?.role === 'user' && typeof message.content !== 'string' ? message.content : [];
    };
    const file = (content: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data: content } });

    const sent: { name: string; part: InputPart; dialect: DialectName; expected: object }[] = [
      { name: 'audio', part: audio, dialect: 'openai', expected: audio },
      { name: 'audio', part: audio, dialect: 'llamacpp', expected: audio },
      { name: 'audio as bare data', part: audio, dialect: 'mistral', expected: { ...audio, input_audio: 'AAAA' } },
      {
        name: 'audio as a data: URL',
        part: audio,
        dialect: 'sglang',
        expected: { type: 'audio_url', audio_url: { url: 'data:audio/wav;base64,AAAA' } },
      },
      { name: 'a file', part: fileData, dialect: 'openai', expected: file('data:application/pdf;base64,AAAA') },
      { name: 'a file', part: fileData, dialect: 'openrouter', expected: file('data:application/pdf;base64,AAAA') },
      { name: 'the URL of a file', part: fileUrl, dialect: 'openrouter', expected: file('https://example.com/a.pdf') },
      {
        name: 'a document',
        part: fileData,
        dialect: 'mistral',
        expected: { type: 'document_url', document_url: 'data:application/pdf;base64,AAAA' },
      },
      {
        name: 'the URL of a document',
        part: fileUrl,
        dialect: 'mistral',
        expected: { type: 'document_url', document_url: 'https://example.com/a.pdf' },
      },
      {
        name: 'an image by URL',
        part: image('https://example.com/a.png'),
        dialect: 'vllm',
        expected: { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      },
      {
        name: 'an image as data',
        part: image(PIXEL),
        dialect: 'ollama',
        expected: { type: 'image_url', image_url: { url: PIXEL } },
      },
    ];
    for (const { name, part, dialect, expected } of sent) {
      it(`${name} is sent to ${dialect}`, () => {
        expect(asked(part, dialect)).to.deep.equal([expected]);
      });
    }

    const refused: { name: string; part: InputPart; dialect: DialectName; param: string; says: RegExp }[] = [
      { name: 'the URL of a file', part: fileUrl, dialect: 'openai', param: 'content[0].file_url', says: /file_data/ },
      { name: 'the URL of a file', part: fileUrl, dialect: 'generic', param: 'content[0].file_url', says: /file_data/ },
      { name: 'a file', part: fileData, dialect: 'vllm', param: 'content[0]', says: /takes no files.*input_text/ },
      { name: 'a file', part: fileData, dialect: 'ollama', param: 'content[0]', says: /takes no files/ },
      {
        name: 'the id of a file',
        part: { type: 'input_file', file_id: 'file-1' },
        dialect: 'mistral',
        param: 'content[0].file_id',
        says: /stores and fetches no files/,
      },
      {
        name: 'an image by URL',
        part: image('https://example.com/a.png'),
        dialect: 'ollama',
        param: 'content[0].image_url',
        says: /data: URL/,
      },
    ];
    for (const { name, part, dialect, param, says } of refused) {
      it(`${name} is refused for ${dialect}`, () => {
        expect(() => asked(part, dialect))
          .to.throw(ApiError, says)
          .with.property('param', `input[0].${param}`);
      });
    }

    it('of a tool are refused in the same way', () => {
      const input = [call('a'), output('a', [fileData])];
      expect(() => ask({ input }, DIALECTS.vllm))
        .to.throw(ApiError)
        .with.property('param', 'input[1].output[0]');
    });
  });

  describe('ids of calls', () => {
    const long = `call_${'x'.repeat(60)}`;
    const input = [
      call('call_1'),
      call(long),
      call('abcdefghi'),
      output(long, 'b'),
      output('call_1', 'a'),
      call('call_1'),
    ];
    const idsOf = ({ messages }: ChatRequest) =>
      messages.flatMap((message) => {
        if (message.role === 'tool') return [message.tool_call_id];
        return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
      });

    it('stay what they are where any will do', () => {
      expect(idsOf(ask({ input }, DIALECTS.vllm)).slice(0, 3)).to.deep.equal(['call_1', long, 'abcdefghi']);
    });

    it('are shortened for openai, and stay where they are short', () => {
      const ids = idsOf(ask({ input }, DIALECTS.openai));
      expect(ids).to.satisfy((ids: string[]) => ids.every((id) => id.length <= 40));
      expect([ids[0], ids[2]]).to.deep.equal(['call_1', 'abcdefghi']);
      expect(ids[4], 'the output names the call').to.equal(ids[1]);
    });

    it('become nine letters and digits for mistral, the same for a call and its output', () => {
      const ids = idsOf(ask({ input }, DIALECTS.mistral));
      expect(ids).to.satisfy((ids: string[]) => ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id)));
      expect(ids[2]).to.equal('abcdefghi');
      expect(ids.slice(3, 6)).to.deep.equal(ids.slice(0, 3));
    });

    it('are those of the backend again where the text of an output names them', () => {
      const { messages } = ask({ input: [call(long), output(long, [image(PIXEL)])] }, DIALECTS.mistral);
      expect(JSON.stringify(messages)).not.to.include(long);
    });

    it('never become one, and are always the same', () => {
      const someId = fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
        fc.constantFrom('abcdefghi', 'a', 'b'),
      );
      fc.assert(
        fc.property(
          fc.uniqueArray(someId),
          fc.constantFrom('up-to-40' as const, 'nine-alphanumeric' as const),
          (ids, rule) => {
            const toBackend = createCallIds(ids, rule);
            const mapped = ids.map((id) => toBackend(id));
            expect(new Set(mapped).size).to.equal(ids.length);
            expect(createCallIds([...ids, ...ids], rule)(ids[0] ?? '')).to.equal(mapped[0] ?? '');
            for (const id of mapped) expect(id).to.match(rule === 'up-to-40' ? /^[^]{1,40}$/ : /^[a-zA-Z0-9]{9}$/);
          },
        ),
        runs(500),
      );
    });

    it('are replaced by the same id in every request, so that a prompt stays what it was', () => {
      const once = createCallIds(['call_1'], 'nine-alphanumeric')('call_1');
      expect(createCallIds(['call_0', 'call_1', 'call_2'], 'nine-alphanumeric')('call_1')).to.equal(once);
    });

    it('make way for an id which the backend has given itself', () => {
      const once = createCallIds(['call_1'], 'nine-alphanumeric')('call_1');
      const toBackend = createCallIds(['call_1', once], 'nine-alphanumeric');
      expect(toBackend(once)).to.equal(once);
      expect(toBackend('call_1'))
        .to.match(/^[a-zA-Z0-9]{9}$/)
        .and.not.to.equal(once);
    });

    it('spread, so that thousands of calls cost no search', () => {
      const ids = Array.from({ length: 20_000 }, (_, index) => `call_${index}`);
      const startMs = cpuTimeMs();
      const toBackend = createCallIds(ids, 'nine-alphanumeric');
      expect(new Set(ids.map((id) => toBackend(id))).size).to.equal(20_000);
      expect(new Set(ids.map(() => toBackend('call_0', true))).size).to.equal(20_000);
      expect(cpuTimeMs() - startMs, 'milliseconds of CPU').to.be.below(2000);
    });
  });

  describe('arguments of earlier calls', () => {
    const cases = [
      { name: 'an object', given: '{ "a": 1 }', expected: '{ "a": 1 }' },
      { name: 'nothing', given: '', expected: '{}' },
      { name: 'a cut object', given: '{"a": "b', expected: '{"unreadable_arguments":"{\\"a\\": \\"b"}' },
      { name: 'a list', given: '[1]', expected: '{"unreadable_arguments":"[1]"}' },
      { name: 'bare text', given: 'ls', expected: '{"unreadable_arguments":"ls"}' },
    ];
    for (const { name, given, expected } of cases) {
      it(`are an object in JSON, also where they were ${name}`, () => {
        const input: InputItem[] = [{ type: 'function_call', call_id: 'a', name: 'look', arguments: given }];
        const [message] = ask({ input }, DIALECTS.generic).messages;
        const calls = message?.role === 'assistant' ? message.tool_calls : [];
        expect(calls?.map((toolCall) => toolCall.function.arguments)).to.deep.equal([expected]);
      });
    }
  });
});

describe('toDialect', () => {
  it('takes over what a kind of backend does not say itself', () => {
    const own = toDialect({ extends: 'mistral', streamOptions: true, optionalFields: ['reasoning_effort'] });
    expect(own).to.deep.equal({
      ...DIALECTS.mistral,
      streamOptions: true,
      optionalFields: ['reasoning_effort'],
    });
  });
});
