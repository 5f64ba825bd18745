import { expect } from 'chai';
import { array, assert, constantFrom, integer, property, shuffledSubarray } from 'fast-check';
import { ApiError } from '../../../src/core/errors.ts';
import { splice } from '../../../src/core/json-bytes.ts';
import { DIALECTS } from '../../../src/core/dialects.ts';
import {
  asksForUsage,
  editsOf,
  findFields,
  limitOf,
  modelEdits,
  type BodyChanges,
  type UnderstoodFields,
} from '../../../src/requests/preparation/chat-body.ts';
import { validateCreateChatCompletion } from '../../../src/requests/preparation/validate.ts';
import { runs } from '../../support/property.ts';

const changeBody = (body: Buffer, fields: UnderstoodFields, changes: BodyChanges): Buffer =>
  splice(body, editsOf(body, fields, changes));

const LIMITED = DIALECTS.vllm;

function refusal(act: () => unknown): { code: string; param: string; message: string } {
  try {
    act();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { code: error.code, param: error.param, message: error.message };
  }
  throw new Error('nothing was thrown');
}

describe('the question for usage', () => {
  const withUsage = (body: Buffer) => changeBody(body, findFields(body), { asksForUsage: true });

  const cases: { name: string; body: string; becomes: string }[] = [
    {
      name: 'adds the option in front, and keeps every other byte',
      body: ' \n{ "model" :"m",\t"temperature":1.0, "x":"é" } ',
      becomes: ' \n{"stream_options":{"include_usage":true}, "model" :"m",\t"temperature":1.0, "x":"é" } ',
    },
    {
      name: 'adds to the options that are there',
      body: '{"stream_options": { "include_obfuscation":false },"model":"m"}',
      becomes: '{"stream_options": {"include_usage":true, "include_obfuscation":false },"model":"m"}',
    },
    {
      name: 'adds to empty options',
      body: '{"model":"m","stream_options":{ }}',
      becomes: '{"model":"m","stream_options":{"include_usage":true }}',
    },
    {
      name: 'takes the place of a no',
      body: '{"model":"m","stream_options":{"include_usage" : false , "a":1}}',
      becomes: '{"model":"m","stream_options":{"include_usage" : true , "a":1}}',
    },
    {
      name: 'takes the place of null',
      body: '{"stream_options":null,"model":"m"}',
      becomes: '{"stream_options":{"include_usage":true},"model":"m"}',
    },
    {
      name: 'takes the place of a null inside',
      body: '{"stream_options":{"include_usage":null},"model":"m"}',
      becomes: '{"stream_options":{"include_usage":true},"model":"m"}',
    },
    {
      name: 'does not mistake the options of deeper objects',
      body: '{"model":"m","a":{"stream_options":{}},"b":["stream_options",{"include_usage":false}],"c":"\\"stream_options\\":{"}',
      becomes:
        '{"stream_options":{"include_usage":true},"model":"m","a":{"stream_options":{}},"b":["stream_options",{"include_usage":false}],"c":"\\"stream_options\\":{"}',
    },
    {
      name: 'reads names with escapes',
      body: String.raw`{"stream\u005foptions":{"include\u005fusage":false},"model":"m"}`,
      becomes: String.raw`{"stream\u005foptions":{"include\u005fusage":true},"model":"m"}`,
    },
    {
      name: 'comes after a byte order mark',
      body: '\uFEFF{"model":"m"}',
      becomes: '\uFEFF{"stream_options":{"include_usage":true},"model":"m"}',
    },
  ];

  for (const { name, body, becomes } of cases) {
    it(name, () => {
      expect(withUsage(Buffer.from(body)).toString()).to.equal(becomes);
      expect(asksForUsage(JSON.parse(becomes.replace('\uFEFF', '')))).to.equal(true);
    });
  }
});

describe('the name of the model', () => {
  for (const [body, becomes] of [
    ['{"model" : "m" ,"stream_options":null}', '{"model" : "a \\"b\\"" ,"stream_options":{"include_usage":true}}'],
    ['{"stream_options":{},"model":"m"}', '{"stream_options":{"include_usage":true},"model":"a \\"b\\""}'],
  ] as const) {
    it(`is changed beside the question for usage, wherever it stands: ${body}`, () => {
      const bytes = Buffer.from(body);
      const changed = changeBody(bytes, findFields(bytes), { model: 'a "b"', asksForUsage: true });
      expect(changed.toString()).to.equal(becomes);
    });
  }

  it('stays, as all else does, where nothing is to be changed', () => {
    const bytes = Buffer.from('{"model":"m"}');
    expect(changeBody(bytes, findFields(bytes), {})).to.equal(bytes);
  });
});

describe('the limit of the output', () => {
  type Name = 'max_tokens' | 'max_completion_tokens';

  function withLimit(body: string, name: Name): string {
    const bytes = Buffer.from(body);
    const tokens = limitOf(validateCreateChatCompletion(JSON.parse(body)));
    return changeBody(bytes, findFields(bytes, LIMITED), { limit: { name, tokens } }).toString();
  }

  const cases: { name: string; body: string; becomes: string; by?: Name }[] = [
    {
      name: 'stays as it was written under the name that the backend knows',
      body: '{ "max_tokens" : 5e1 ,"model":"m"}',
      becomes: '{ "max_tokens" : 5e1 ,"model":"m"}',
    },
    {
      name: 'gets the name that the backend knows',
      body: '{"model" : "m", "max_completion_tokens" : 7 , "seed":1.0}',
      becomes: '{"model" : "m", "max_tokens":7 , "seed":1.0}',
    },
    {
      name: 'gets the newer name where the backend knows that',
      by: 'max_completion_tokens',
      body: '{"max_tokens":7,"model":"m"}',
      becomes: '{"max_completion_tokens":7,"model":"m"}',
    },
    {
      name: 'is the larger one of two, and the other goes: the first field',
      body: '{"max_completion_tokens":5000,"model":"m","max_tokens":1}',
      becomes: '{"model":"m","max_tokens":5000}',
    },
    {
      name: 'is the larger one of two, and the other goes: the last field',
      body: '{"model":"m","max_tokens":5000 , "max_completion_tokens":1 }',
      becomes: '{"model":"m","max_tokens":5000  }',
    },
    {
      name: 'is one that the client takes for none, whatever the other says',
      body: '{"model":"m","max_completion_tokens":1,"max_tokens":-1}',
      becomes: '{"model":"m","max_tokens":-1}',
    },
    {
      name: 'is not a null beside a number',
      body: '{"model":"m","max_completion_tokens":null,"max_tokens":3}',
      becomes: '{"model":"m","max_tokens":3}',
    },
    {
      name: 'is looked for at the top alone',
      body: '{"model":"m","metadata":{"max_completion_tokens":"1"}}',
      becomes: '{"model":"m","metadata":{"max_completion_tokens":"1"}}',
    },
  ];
  for (const { name, body, becomes, by = 'max_tokens' } of cases) {
    it(name, () => {
      expect(withLimit(body, by)).to.equal(becomes);
    });
  }

  it('is set together with the model and the question for usage, wherever the fields stand', () => {
    const anyPlaces = shuffledSubarray(
      ['model', 'max_tokens', 'max_completion_tokens', 'stream_options', 'documents'],
      {
        minLength: 2,
      },
    ).filter((names) => names.includes('model'));
    const anySpaces = array(constantFrom('', ' ', '\n\t'), { minLength: 20, maxLength: 20 });
    const anyName = constantFrom<Name>('max_tokens', 'max_completion_tokens');
    assert(
      property(
        anyPlaces,
        anySpaces,
        anyName,
        integer({ min: 1 }),
        integer({ min: 1 }),
        (names, spaces, by, ...limits) => {
          const values: Record<string, unknown> = {
            model: 'alias',
            max_tokens: limits[0],
            max_completion_tokens: limits[1],
            stream_options: { include_usage: false, include_obfuscation: ',' },
            documents: ['{"max_tokens":1}', { max_tokens: 2 }],
          };
          let space = 0;
          const gap = (): string => spaces[space++ % spaces.length] ?? '';
          const fields = names.map(
            (name) => `${gap()}"${name}"${gap()}:${gap()}${JSON.stringify(values[name])}${gap()}`,
          );
          const bytes = Buffer.from(`${gap()}{${fields.join(',')}}`);
          const wanted = validateCreateChatCompletion(JSON.parse(bytes.toString()));
          const limit = { name: by, tokens: limitOf(wanted) };
          const changed = changeBody(bytes, findFields(bytes, LIMITED), { model: 'm', asksForUsage: true, limit });
          const { max_tokens: _one, max_completion_tokens: _other, ...rest } = wanted;
          expect(JSON.parse(changed.toString())).to.deep.equal({
            ...rest,
            model: 'm',
            stream_options: { ...wanted.stream_options, include_usage: true },
            ...(limit.tokens !== null && { [by]: limit.tokens }),
          });
        },
      ),
      runs(1000),
    );
  });
});

describe('the fields of a chat completion that are looked at', () => {
  it('must not be given twice, since backends differ in which one they take', () => {
    const body = Buffer.from('{"model":"cheap","model":"dear"}');
    expect(refusal(() => findFields(body))).to.include({ code: 'invalid_request', param: 'model' });
  });

  it('must not be given again in capital letters', () => {
    const body = Buffer.from('{"model":"cheap","MODEL":"dear"}');
    expect(refusal(() => findFields(body))).to.include({ code: 'invalid_request', param: 'model' });
  });

  it('are not found under names in capital letters, which few backends would know', () => {
    expect([...findFields(Buffer.from('{"model":"m","Stream_Options":{}}')).keys()]).to.deep.equal(['model']);
  });

  it('may be repeated in deeper objects, as other fields may be anywhere', () => {
    const body =
      '{"model":"m","x":1,"x":2,"metadata":{"model":"m","N":"1","n_predict":1},"tools":[{"type":"function","function":{"n":1}}]}';
    findFields(Buffer.from(body));
  });

  describe('for a key with funds or limits', () => {
    const refused: { body: string; param: string; code?: string; message?: RegExp }[] = [
      { body: '{"model":"m","N_Predict":5000}', param: 'N_Predict', message: /no more than is reserved/ },
      { body: '{"model":"m","temperature":1,"Temperature":2}', param: 'Temperature' },
      { body: '{"model":"m","x":1}', param: 'x' },
      { body: '{"model":"m","metadata":{"a":"b","tags":["paid"]}}', param: 'metadata.tags' },
      { body: '{"model":"m","extra_body":{"top_k":1,"google":{"tools":[]}}}', param: 'extra_body.google.tools' },
      {
        body: '{"model":"m","extra_body":{"google":{"thinking_config":{"x":1}}}}',
        param: 'extra_body.google.thinking_config.x',
      },
      { body: '{"model":"m","extra_body":{"extra_body":{"google":{}}}}', param: 'extra_body.extra_body' },
      { body: String.raw`{"model":"m","n\u005fpredict":5000}`, param: 'n_predict' },
      { body: '{"model":"m","n_predict":null,"n_predict":5000}', param: 'n_predict' },
      { body: '{"model":"m","STREAM":true}', param: 'STREAM', message: /must be written stream\.$/ },
      { body: '{"model":"m","N":64}', param: 'N' },
      { body: '{"model":"m","max_tokens":1,"MAX_TOKENS":null}', param: 'MAX_TOKENS' },
      { body: '{"model":"m","max_to\u212aens":9}', param: 'max_to\u212aens' },
      { body: '{"model":"m","\u017ftream":true}', param: '\u017ftream' },
      { body: '{"model":"cheap","MODEL":"dear"}', param: 'MODEL' },
      { body: '{"model":"m","Stream_Options":{}}', param: 'Stream_Options' },
      {
        body: '{"model":"m","stream_options":{"include_usage":true,"INCLUDE_USAGE":false}}',
        param: 'stream_options.INCLUDE_USAGE',
      },
      {
        body: '{"model":"m","stream_options":{"include_usage":false,"include_usage":true}}',
        param: 'stream_options.include_usage',
        code: 'invalid_request',
      },
      { body: '{"model":"m","extra_body":{"n":64}}', param: 'extra_body.n' },
      { body: '{"model":"m","extra_body":{"Max_Tokens":64}}', param: 'extra_body.Max_Tokens' },
      { body: '{"model":"m","extra_body":{"fallbacks":["dear"]}}', param: 'extra_body.fallbacks' },
      { body: '{"model":"m","Extra_Body":{"n":64}}', param: 'Extra_Body' },
      { body: '{"model":"m","extra_body":{"functions":[{"googleSearch":{}}]}}', param: 'extra_body.functions' },
      { body: '{"model":"m","functions":[{"name":"f"},{"googleSearch":{}}]}', param: 'functions[1].googleSearch' },
      { body: '{"model":"m","Functions":[]}', param: 'Functions' },
      { body: '{"model":"m","tools":{"googleSearch":{}}}', param: 'tools' },
      { body: '{"model":"m","tools":"web_search"}', param: 'tools' },
      ...[
        ['{}', ''],
        ['{"function":{"name":"f"}}', ''],
        ['"web_search"', ''],
        ['[{"googleSearch":{}}]', ''],
        ['null', ''],
        ['{"googleSearch":{}}', '.googleSearch'],
        ['{"google_search":{}}', '.google_search'],
        ['{"urlContext":{}}', '.urlContext'],
        ['{"type":"function","function":{"name":"f"},"GoogleSearch":{}}', '.GoogleSearch'],
        ['{"type":"function","Function":{"name":"f"}}', '.Function'],
        ['{"Type":"function"}', '.Type'],
        ['{"type":"function","type":"web_search"}', '.type'],
        [`{"${'a'.repeat(3000)}":{}}`, '.'],
      ].map(([tool, at]) => ({
        body: `{"model":"m","tools":[ {"type":"custom","custom":{"name":"[,]"}} , ${tool} ]}`,
        param: `tools[1]${at}`,
        message: /^tools\[1\].* only tools of the types function and custom/,
      })),
      { body: '{"model":"m","extra_body":{"top_k":64},"extra_body":{}}', param: 'extra_body', code: 'invalid_request' },
    ];
    for (const { body, param, code = 'unsupported_parameter', message = /./ } of refused) {
      it(`are refused with the name of the one at fault: ${body}`, () => {
        const bytes = Buffer.from(body);
        const refused = refusal(() => findFields(bytes, LIMITED));
        expect(refused).to.include({ code, param });
        expect(refused.message).to.match(message);
      });
    }

    const taken: string[] = [
      '{"model":"m","n_predict":null,"models":null}',
      '{"model":"m","stream_options":null,"metadata":{"include_usage":"1","INCLUDE_USAGE":"1"}}',
      '{"model":"m","stream_options":{"include_usage":true,"continuous_usage_stats":true}}',
      '{"model":"m","extra_body":{"google":{"thinking_config":{}}}}',
      '{"model":"m","tools":null,"functions":null}',
      '{"model":"m","tools":[ ],"functions":[]}',
      '{"model":"m","tools":[{"type":"function","function":{"name":"f","x":1},"cache_control":{"type":"ephemeral"}}]}',
      '{"model":"m","tools":[{"type":"custom","custom":{"name":"f"}},{"type":"function","name":"f","parameters":{}}]}',
      '{"model":"m","functions":[{"name":"f","description":"","parameters":{},"strict":true}]}',
      '{"model":"m","extra_body":{"top_k":5},"chat_template_kwargs":{"n":1}}',
    ];
    for (const body of taken) {
      it(`are taken in ${body}`, () => {
        expect(findFields(Buffer.from(body), LIMITED))
          .to.have.property('size')
          .that.is.at.least(1);
      });
    }
  });

  it('are not refused to a key without funds and limits', () => {
    for (const name of ['n_predict', 'STREAM', 'N']) {
      expect([...findFields(Buffer.from(`{"model":"m","${name}":1}`)).keys()]).to.deep.equal(['model']);
    }
  });

  const refused: { body: unknown; code: string; param: string }[] = [
    { body: {}, code: 'missing_required_parameter', param: 'model' },
    { body: { messages: [] }, code: 'missing_required_parameter', param: 'model' },
    { body: { model: null }, code: 'invalid_request', param: 'model' },
    { body: { model: '' }, code: 'invalid_request', param: 'model' },
    { body: { model: 'a\nb' }, code: 'invalid_request', param: 'model' },
    { body: { model: 'm', stream: 'true' }, code: 'invalid_request', param: 'stream' },
    { body: { model: 'm', stream_options: [] }, code: 'invalid_request', param: 'stream_options' },
    {
      body: { model: 'm', stream_options: { include_usage: 1 } },
      code: 'invalid_request',
      param: 'stream_options.include_usage',
    },
    { body: { model: 'm', n: 0 }, code: 'invalid_request', param: 'n' },
    { body: { model: 'm', n: '5' }, code: 'invalid_request', param: 'n' },
    { body: { model: 'm', n: 129 }, code: 'invalid_request', param: 'n' },
    { body: { model: 'm', max_tokens: 1.5 }, code: 'invalid_request', param: 'max_tokens' },
    { body: { model: 'm', max_completion_tokens: '9' }, code: 'invalid_request', param: 'max_completion_tokens' },
    { body: [], code: 'invalid_request', param: '' },
    { body: null, code: 'invalid_request', param: '' },
  ];
  for (const { body, code, param } of refused) {
    it(`are refused in ${JSON.stringify(body)}`, () => {
      expect(refusal(() => validateCreateChatCompletion(body))).to.include({ code, param });
    });
  }

  const taken: object[] = [
    { model: 'm' },
    { model: 'm', stream: null, stream_options: null, n: null, max_tokens: null, max_completion_tokens: null },
    { model: 'm', stream: true, stream_options: { include_usage: null, other: 1 }, n: 128, max_tokens: -1 },
    { model: 'm', messages: 'for the backend to judge', temperature: 'hot', stop: [1] },
  ];
  for (const body of taken) {
    it(`are taken in ${JSON.stringify(body)}`, () => {
      expect(validateCreateChatCompletion(body)).to.equal(body);
    });
  }
});

const ALIASES = new Map([
  ['gpt-5', 'llama-3.3-70b'],
  ['größe', 'qwen "max"'],
]);

describe('the model of a chat completion', () => {
  const cases: { name: string; body: string; becomes?: string }[] = [
    {
      name: 'replaces an alias and keeps every other byte',
      body: '{ "messages":[{"role":"user","content":"1.0"}],\n\t"model" : "gpt-5" , "temperature": 1.0, "x":"é" }',
      becomes:
        '{ "messages":[{"role":"user","content":"1.0"}],\n\t"model" : "llama-3.3-70b" , "temperature": 1.0, "x":"é" }',
    },
    { name: 'keeps a model that is no alias', body: '{"model":"llama"}' },
    { name: 'keeps the model of a deeper object', body: '{"a":{"model":"gpt-5"},"b":[{"model":"gpt-5"}],"model":"x"}' },
    { name: 'keeps a value that says model', body: '{"a":"model","b":"gpt-5"}' },
    { name: 'keeps a model that is no string', body: '{"model":["gpt-5"]}' },
    {
      name: 'reads keys and names with escapes',
      body: String.raw`{"mod\u0065l":"gpt\u002d5"}`,
      becomes: String.raw`{"mod\u0065l":"llama-3.3-70b"}`,
    },
    { name: 'writes names with quotes', body: '{"model":"größe"}', becomes: String.raw`{"model":"qwen \"max\""}` },
    {
      name: 'replaces a repeated key every time, since backends differ in which they take',
      body: '{"model":"gpt-5","model":"gpt-5"}',
      becomes: '{"model":"llama-3.3-70b","model":"llama-3.3-70b"}',
    },
    {
      name: 'is not misled by quotes and brackets in strings',
      body: String.raw`{"a":"\"model\":\"gpt-5\"}{[","model":"gpt-5"}`,
      becomes: String.raw`{"a":"\"model\":\"gpt-5\"}{[","model":"llama-3.3-70b"}`,
    },
    { name: 'takes a list at the top for no request', body: '["model","gpt-5"]' },
    { name: 'leaves what is not JSON', body: '{"model":"gpt-5' },
    { name: 'leaves an empty body', body: '' },
  ];

  for (const { name, body, becomes } of cases) {
    it(`models: ${name}`, () => {
      expect(splice(Buffer.from(body), modelEdits(Buffer.from(body), ALIASES)).toString()).to.equal(becomes ?? body);
    });
  }
});
