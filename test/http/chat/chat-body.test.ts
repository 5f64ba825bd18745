import { expect } from 'chai';
import { ApiError } from '../../../src/core/errors.ts';
import { asksForUsage, changeBody, findFields } from '../../../src/http/chat/chat-body.ts';
import { validateCreateChatCompletion } from '../../../src/http/validate.ts';

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
  const withUsage = (body: Buffer) => changeBody(body, findFields(body), { model: undefined, asksForUsage: true });

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
    expect(changeBody(bytes, findFields(bytes), { model: undefined, asksForUsage: false })).to.equal(bytes);
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
    findFields(Buffer.from('{"model":"m","x":1,"x":2,"metadata":{"model":"m","n":"1"},"tools":[{"n":1}]}'));
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
