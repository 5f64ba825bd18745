import { expect } from 'chai';
import { type ErrorBody, errorIn, readErrorBody } from '../../src/backend/error-body.ts';

const words = (message: string, rest: Partial<ErrorBody> = {}): ErrorBody => ({
  message,
  codes: [],
  param: '',
  status: undefined,
  form: 'other',
  ...rest,
});

describe('readErrorBody', () => {
  const cases: readonly { name: string; body: unknown; expected: ErrorBody }[] = [
    {
      name: "OpenAI's form",
      body: { error: { message: 'Bad', type: 'invalid_request_error', param: 'messages[3]', code: 'invalid_value' } },
      expected: words('Bad', {
        codes: ['invalid_value', 'invalid_request_error'],
        param: 'messages[3]',
        form: 'openai',
      }),
    },
    {
      name: 'a number as the code',
      body: { error: { message: 'Slow down', code: 429 } },
      expected: words('Slow down', { status: 429, form: 'openai' }),
    },
    {
      name: 'a number in words as the code',
      body: { error: { message: 'Slow down', code: '429' } },
      expected: words('Slow down', { codes: ['429'], status: 429, form: 'openai' }),
    },
    {
      name: "Azure's status beside the code",
      body: { error: { message: 'Filtered', type: null, code: 'content_filter', status: 400 } },
      expected: words('Filtered', { codes: ['content_filter'], status: 400, form: 'openai' }),
    },
    {
      name: 'a code that is no status of failure',
      body: { error: { message: 'Odd', code: 1301 } },
      expected: words('Odd', { form: 'openai' }),
    },
    {
      name: "Google's list",
      body: [{ error: { code: 404, message: 'models/x is not found', status: 'NOT_FOUND' } }],
      expected: words('models/x is not found', { codes: ['NOT_FOUND'], status: 404, form: 'openai' }),
    },
    {
      name: 'the object that is the error (vLLM, SGLang)',
      body: { object: 'error', message: 'Too big', type: 'BadRequestError', param: null, code: 400 },
      expected: words('Too big', { codes: ['BadRequestError'], status: 400, form: 'openai' }),
    },
    {
      name: "Mistral's details inside the message",
      body: {
        object: 'error',
        message: {
          detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs', input: 'secret' }],
        },
      },
      expected: words('body.stream_options: Extra inputs', { codes: ['extra_forbidden'] }),
    },
    {
      name: "Anthropic's form",
      body: { type: 'error', error: { type: 'not_found_error', message: 'model: claude-x' } },
      expected: words('model: claude-x', { codes: ['error', 'not_found_error'], form: 'openai' }),
    },
    { name: 'an error as text', body: { error: 'model not loaded' }, expected: words('model not loaded') },
    { name: 'a detail as text', body: { detail: 'Invalid API Key' }, expected: words('Invalid API Key') },
    {
      name: "FastAPI's list of details",
      body: {
        detail: [
          { loc: ['body', 'top_p'], msg: 'too large' },
          { loc: ['body', 'n'], msg: 'too small' },
        ],
      },
      expected: words('body.top_p: too large; body.n: too small'),
    },
    { name: 'a detail that is an error', body: { detail: { error: { message: 'Deep' } } }, expected: words('Deep') },
    { name: 'a message alone', body: { message: 'no Route matched' }, expected: words('no Route matched') },
    { name: 'msg', body: { code: 500, msg: 'busy', success: false }, expected: words('busy', { status: 500 }) },
    { name: "AWS's capital", body: { Message: 'Denied' }, expected: words('Denied') },
    {
      name: "Spring's form",
      body: { timestamp: 1, status: 404, error: 'Not Found', path: '/v1/v1' },
      expected: words('Not Found', { status: 404 }),
    },
    {
      name: 'problem+json',
      body: { title: 'Bad', detail: 'Worse', status: 422 },
      expected: words('Worse', { status: 422 }),
    },
    {
      name: "Cloudflare's list of errors",
      body: { success: false, errors: [{ code: 10000, message: 'Authentication error' }, { message: 'Second' }] },
      expected: words('Authentication error; Second'),
    },
    { name: 'a list of texts', body: { errors: ['one', 'two', 'one'] }, expected: words('one; two') },
    { name: "Apigee's fault", body: { fault: { faultstring: 'Spike arrest' } }, expected: words('Spike arrest') },
    {
      name: 'JSON as text in the message',
      body: { error: { message: JSON.stringify({ error: { message: 'Inner', code: 'inner_code' } }), type: 'outer' } },
      expected: words('Inner', { codes: ['outer', 'inner_code'], form: 'openai' }),
    },
    {
      name: 'JSON after the words of a proxy',
      body: {
        error: { message: 'litellm.BadRequestError: OpenAIException - {"error":{"message":"Inner"}} Model Group=x' },
      },
      expected: words('Inner', { form: 'openai' }),
    },
    {
      name: 'JSON in JSON in JSON',
      body: { message: JSON.stringify({ message: JSON.stringify({ message: 'Innermost' }) }) },
      expected: words('Innermost'),
    },
    {
      name: 'braces which are no JSON',
      body: { error: { message: 'Use {name} here' } },
      expected: words('Use {name} here', { form: 'openai' }),
    },
    {
      name: 'what the provider said behind OpenRouter',
      body: {
        error: {
          code: 429,
          message: 'Provider returned error',
          metadata: { raw: 'x is rate-limited', provider_name: 'G' },
        },
      },
      expected: words('Provider returned error: x is rate-limited', { status: 429, form: 'openai' }),
    },
    {
      name: 'JSON of the provider behind OpenRouter',
      body: {
        error: { code: 400, message: 'Provider returned error', metadata: { raw: '{"error":{"message":"Too long"}}' } },
      },
      expected: words('Provider returned error: Too long', { status: 400, form: 'openai' }),
    },
    {
      name: 'an HTML page inside JSON',
      body: { error: { message: '<html>no</html>' } },
      expected: words('', { form: 'openai' }),
    },
    { name: 'a JSON text', body: JSON.stringify('just words'), expected: words('just words') },
    { name: 'null', body: 'null', expected: words('') },
    { name: 'an empty object', body: {}, expected: words('') },
    { name: 'an empty list', body: [], expected: words('') },
    { name: 'plain text', body: ' upstream connect error \n', expected: words('upstream connect error') },
    { name: 'HTML', body: '<!DOCTYPE html><title>502</title>', expected: words('', { form: 'html' }) },
    { name: 'HTML after a byte order mark', body: '\uFEFF  <html>', expected: words('', { form: 'html' }) },
    { name: 'nothing', body: '', expected: words('', { form: 'empty' }) },
    { name: 'white space', body: ' \r\n ', expected: words('', { form: 'empty' }) },
    {
      name: 'an event',
      body: 'event: error\ndata: {"error":{"message":"As an event"}}\n\n',
      expected: words('As an event', { form: 'openai' }),
    },
  ];

  for (const { name, body, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(readErrorBody(typeof body === 'string' ? body : JSON.stringify(body))).to.deep.equal(expected);
    });
  }

  it('returns no more of a long message and of many codes than is looked at', () => {
    const part = { message: 'x'.repeat(5000), code: 'c'.repeat(500) };
    const list = Array.from({ length: 5 }, () => Array.from({ length: 5 }, () => part));

    const { message, codes } = readErrorBody(JSON.stringify({ errors: list }));

    expect(message).to.have.length(4000);
    expect(codes).to.have.length(20);
    expect(codes[0]).to.have.length(200);
  });

  it('finds JSON in no string of a long body', () => {
    const message = JSON.stringify({ message: 'Inner', pad: 'x'.repeat(64 * 1024) });

    expect(readErrorBody(JSON.stringify({ message })).message).to.match(/^\{"message":"Inner"/);
  });

  it('gives up on what is nested without end', () => {
    const deep = `${'{"error":'.repeat(5000)}"boom"${'}'.repeat(5000)}`;

    expect(readErrorBody(deep).message).to.equal('');
  });
});

describe('errorIn', () => {
  const none: readonly unknown[] = [
    {},
    { error: null },
    { error: false },
    { error: '' },
    { error: {} },
    { error: { code: 0 } },
    { error: { message: '', code: null } },
    { choices: [{ error: null }] },
    { choices: [] },
    { choices: [], base_resp: { status_code: 0, status_msg: '' } },
    { choices: 'x' },
    { choices: [null] },
    { object: 'chat.completion.chunk', choices: [{ delta: { content: 'error' } }] },
  ];
  for (const answer of none) {
    it(`finds none in ${JSON.stringify(answer)}`, () => {
      expect(errorIn(answer as Record<string, unknown>)).to.equal(undefined);
    });
  }

  const found: readonly (readonly [answer: Record<string, unknown>, error: unknown])[] = [
    [{ error: 'boom' }, 'boom'],
    [{ error: { message: 'boom' } }, { message: 'boom' }],
    [{ error: { code: 'x' } }, { code: 'x' }],
    [{ error: { type: 'x' } }, { type: 'x' }],
    [{ error: { status: 400 } }, { status: 400 }],
    [{ error: { code: 500 }, choices: [{ delta: {} }] }, { code: 500 }],
    [{ choices: [{ error: { message: 'boom' } }] }, { message: 'boom' }],
    [
      { choices: [{}], base_resp: { status_code: 1002, status_msg: 'boom' } },
      { status_code: 1002, status_msg: 'boom' },
    ],
    [
      { object: 'error', message: 'boom' },
      { object: 'error', message: 'boom' },
    ],
    [
      { error: true, message: 'boom' },
      { error: true, message: 'boom' },
    ],
  ];
  for (const [answer, error] of found) {
    it(`finds it in ${JSON.stringify(answer)}`, () => {
      expect(errorIn(answer)).to.deep.equal(error);
    });
  }
});
