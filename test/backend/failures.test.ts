import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { type FailedAnswer, failureOf } from '../../src/backend/failures.ts';
import type { ErrorCode } from '../../src/core/errors.ts';

const RECORDINGS = new URL('../../../shared/recordings/', import.meta.url);

function failed(status: number, body: unknown, rest: Partial<FailedAnswer> = {}): FailedAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, body: text, headers: {}, keyOwner: 'caller', secrets: [], ...rest };
}

const openai = (message: string, rest: object = {}): unknown => ({
  error: { message, type: null, param: null, code: null, ...rest },
});
const HTML = '<html><head><title>404 Not Found</title></head><body>nginx/1.25</body></html>';

describe('failureOf', () => {
  const cases: readonly (readonly [
    name: string,
    status: number,
    body: unknown,
    code: ErrorCode,
    repliedStatus: number,
  ])[] = [
    ['400', 400, openai('Bad'), 'invalid_request', 400],
    ['401', 401, openai('Incorrect API key'), 'invalid_api_key', 401],
    ['402', 402, openai('Insufficient Balance'), 'insufficient_credits', 402],
    ['403', 403, openai('Not allowed'), 'forbidden', 403],
    [
      '404 of a model, by its code',
      404,
      openai('The model does not exist', { code: 'model_not_found' }),
      'model_not_found',
      404,
    ],
    [
      '404 of a model, by its words',
      404,
      { error: 'model "x" not found, try pulling it first' },
      'model_not_found',
      404,
    ],
    [
      '404 of a model, in a list',
      404,
      [{ error: { code: 404, message: 'models/x is not found' } }],
      'model_not_found',
      404,
    ],
    ['404 of a deployment', 404, openai('The API deployment does not exist'), 'model_not_found', 404],
    ['404 of OpenRouter', 404, openai('No endpoints found matching your data policy'), 'model_not_found', 404],
    ['404 of something else, in the OpenAI form', 404, openai('The file-abc was deleted'), 'not_found', 404],
    ['404 of a model behind an endpoint', 404, openai('Model endpoint not found'), 'model_not_found', 404],
    ['404 as HTML', 404, HTML, 'upstream_error', 502],
    ['404 without a body', 404, '', 'upstream_error', 502],
    ['404 of FastAPI', 404, { detail: 'Not Found' }, 'upstream_error', 502],
    ['404 of vLLM for a path', 404, openai('Not Found', { type: 'NotFoundError', code: 404 }), 'upstream_error', 502],
    ['404 of llama.cpp for a path', 404, openai('File Not Found', { type: 'not_found_error' }), 'upstream_error', 502],
    ['404 of OpenAI for a path', 404, openai('Invalid URL (POST /v1/v1/chat/completions)'), 'upstream_error', 502],
    ['404 of Azure for a path', 404, openai('Resource not found', { code: '404' }), 'upstream_error', 502],
    ['404 of Express', 404, 'Cannot POST /chat/completions', 'upstream_error', 502],
    ['404 of Kong', 404, { message: 'no Route matched with those values' }, 'upstream_error', 502],
    ['404 as foreign text', 404, 'default backend', 'upstream_error', 502],
    ['405', 405, { detail: 'Method Not Allowed' }, 'upstream_error', 502],
    ['408', 408, openai('Too slow'), 'upstream_timeout', 504],
    ['409', 409, openai('Conflict'), 'invalid_request', 409],
    ['413', 413, openai('Too big'), 'payload_too_large', 413],
    ['415', 415, openai('No such image type'), 'unsupported_media_type', 415],
    ['418, which is unknown', 418, openai('Teapot'), 'invalid_request', 418],
    ['422', 422, { detail: [{ loc: ['body', 'n'], msg: 'bad' }] }, 'invalid_request', 422],
    ['429', 429, openai('Slow down'), 'rate_limit_exceeded', 429],
    ['499', 499, '', 'upstream_error', 502],
    ['500', 500, openai('Oops'), 'upstream_error', 502],
    ['501', 501, '', 'upstream_error', 502],
    ['502 as HTML', 502, HTML, 'upstream_error', 502],
    ['503', 503, 'no healthy upstream', 'upstream_error', 503],
    ['504', 504, '', 'upstream_timeout', 504],
    ['524', 524, HTML, 'upstream_timeout', 504],
    ['529', 529, openai('Overloaded'), 'upstream_error', 503],
    ['599, which is unknown', 599, '', 'upstream_error', 502],
    ['301', 301, HTML, 'upstream_invalid_response', 502],
    [
      'context overflow with 400',
      400,
      openai("This model's maximum context length is 8192 tokens."),
      'context_length_exceeded',
      400,
    ],
    [
      'context overflow with 413',
      413,
      openai('Please reduce the length of the messages'),
      'context_length_exceeded',
      400,
    ],
    [
      'context overflow with 422',
      422,
      { error: '`inputs` must have less than 4095 tokens.' },
      'context_length_exceeded',
      400,
    ],
    [
      'context overflow with 500',
      500,
      openai('x', { type: 'exceed_context_size_error' }),
      'context_length_exceeded',
      400,
    ],
    ['a limit on tokens with 429', 429, openai('maximum context length, too many tokens'), 'rate_limit_exceeded', 429],
    [
      'an error with status 400 in a 200',
      200,
      openai('Filtered', { code: 'content_filter', status: 400 }),
      'content_filter',
      400,
    ],
    [
      'a filter of Azure',
      400,
      openai('Filtered', { code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } }),
      'content_filter',
      400,
    ],
    ['498 of Groq', 498, openai('Flex tier capacity exceeded'), 'rate_limit_exceeded', 498],
    ['no money', 429, openai('No money', { type: 'insufficient_quota' }), 'insufficient_quota', 429],
    [
      'images that llama.cpp does not take',
      500,
      openai('image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'),
      'invalid_request',
      400,
    ],
    ['an error with code 429 in a 200', 200, openai('Slow down', { code: 429 }), 'rate_limit_exceeded', 429],
    ['an error with code 401 in a 200', 200, openai('Who?', { code: 401 }), 'invalid_api_key', 401],
    ['an error with code 503 in a 200', 200, openai('Busy', { code: 503 }), 'upstream_error', 503],
    [
      'a rate limit by its code in a 200',
      200,
      openai('Slow', { code: 'rate_limit_exceeded' }),
      'rate_limit_exceeded',
      429,
    ],
    [
      'a rate limit by its type in a 200',
      200,
      openai('Slow', { type: 'rate_limit_error' }),
      'rate_limit_exceeded',
      429,
    ],
    [
      'a rate limit of Google in a 200',
      200,
      openai('Slow', { status: 'RESOURCE_EXHAUSTED' }),
      'rate_limit_exceeded',
      429,
    ],
    ['no money by its code in a 200', 200, openai('Pay', { code: 'insufficient_quota' }), 'insufficient_quota', 429],
    ['an overload by its type in a 200', 200, openai('Busy', { type: 'overloaded_error' }), 'upstream_error', 503],
    ['a mistake by its type in a 200', 200, openai('Odd', { type: 'invalid_request_error' }), 'invalid_request', 400],
    ['an error with another code in a 200', 200, openai('Odd', { code: 'server_error' }), 'upstream_error', 502],
    ['an error as text in a 200', 200, { error: 'boom' }, 'upstream_error', 502],
    [
      'context overflow in a 200',
      200,
      openai('prompt is too long: 3 tokens > 2 maximum'),
      'context_length_exceeded',
      400,
    ],
  ];

  for (const [name, status, body, code, repliedStatus] of cases) {
    it(`answers ${name} with ${repliedStatus} ${code}`, () => {
      const { error } = failureOf(failed(status, body));

      expect({ code: error.code, status: error.status }).to.deep.equal({ code, status: repliedStatus });
      expect(error.toBody().error).to.have.all.keys('message', 'type', 'param', 'code');
      expect(error.message).to.be.a('string').that.is.not.empty;
      expect(error.message).to.not.match(/<[a-z!/]/i);
    });
  }

  describe('when the backend saw the key of the gateway', () => {
    const gateway = { keyOwner: 'gateway', secrets: ['hunter2hunter2'] } as const;
    for (const [name, answer] of [
      ['401', failed(401, openai('Incorrect API key provided: sk-gateway-123456'), gateway)],
      ['402', failed(402, openai('Insufficient Balance of account 17'), gateway)],
      ['403', failed(403, openai('Your organization is hunter2hunter2'), gateway)],
      [
        '429 for an empty account',
        failed(429, openai('You exceeded your quota', { code: 'insufficient_quota' }), gateway),
      ],
      ['401 in a 200', failed(200, openai('Incorrect API key', { code: 401 }), gateway)],
    ] as const) {
      it(`hides ${name} behind a 502 that tells the operator`, () => {
        const { error, operatorProblem } = failureOf(answer);

        expect(error).to.include({ code: 'upstream_error', status: 502, param: '' });
        expect(error.message).to.equal("The backend refused the gateway's own key or account.");
        expect(operatorProblem).to.match(/UPSTREAM_API_KEY/);
        expect(operatorProblem).to.not.match(/sk-|hunter2|17|quota/);
      });
    }

    it('passes on every other status as ever', () => {
      expect(failureOf(failed(429, openai('Slow down'), gateway)).error.status).to.equal(429);
      expect(failureOf(failed(400, openai('Bad'), gateway)).error.status).to.equal(400);
      expect(failureOf(failed(500, openai('Oops'), gateway))).to.not.have.property('operatorProblem');
    });
  });

  it('tells the operator of a wrong base URL, and only of that', () => {
    expect(failureOf(failed(404, HTML)).operatorProblem).to.match(/UPSTREAM_BASE_URL/);
    expect(failureOf(failed(405, '')).operatorProblem).to.match(/UPSTREAM_BASE_URL/);
    expect(failureOf(failed(307, '')).operatorProblem).to.match(/UPSTREAM_BASE_URL/);
    const lmStudio = { error: 'Unexpected endpoint or method. (POST /chat/completions)' };
    expect(failureOf(failed(200, lmStudio)).operatorProblem).to.match(/UPSTREAM_BASE_URL/);
    expect(failureOf(failed(404, openai('The model x does not exist')))).to.not.have.property('operatorProblem');
    expect(failureOf(failed(401, openai('Incorrect API key')))).to.not.have.property('operatorProblem');
  });

  it("keeps the backend's words, made safe", () => {
    const body = openai('Key sk-abcdefghijkl is bad\u0000  at hunter2hunter2', { code: 'invalid_value' });

    const { error } = failureOf(failed(400, body, { secrets: ['hunter2hunter2'] }));

    expect(error.message).to.equal('Key [redacted] is bad at [redacted]');
  });

  it('bounds the message', () => {
    expect(failureOf(failed(500, 'x'.repeat(60_000))).error.message).to.have.length(1000);
  });

  it('says so when there are no words', () => {
    expect(failureOf(failed(500, HTML)).error.message).to.equal(
      'The backend answered with status 500 and no explanation.',
    );
    expect(failureOf(failed(200, { error: true })).error.message).to.equal(
      'The backend reported an error and gave no explanation.',
    );
    expect(failureOf(failed(400, '')).error.message).to.equal(
      'The backend answered with status 400 and no explanation.',
    );
  });

  it('keeps when to ask again, and the limits', () => {
    const headers = { 'retry-after': '7', 'x-ratelimit-remaining': '0', 'x-request-id': 'up1', server: 'x' };

    const { error } = failureOf(failed(429, openai('Slow down'), { headers }));

    expect(error.headers).to.deep.equal({
      'retry-after': '7',
      'x-ratelimit-remaining': '0',
      'x-upstream-request-id': 'up1',
    });
  });

  for (const status of [301, 400, 401, 402, 403, 404, 405, 413, 415, 418, 422]) {
    it(`says that ${status} will not be better the next time`, () => {
      expect(failureOf(failed(status, openai('No'))).error.headers).to.include({ 'x-should-retry': 'false' });
    });
  }

  for (const status of [408, 425, 498, 529]) {
    it(`says that ${status} may be better the next time`, () => {
      expect(failureOf(failed(status, openai('Later'))).error.headers).to.include({ 'x-should-retry': 'true' });
    });
  }

  for (const [name, status, body] of [
    ['an account without money', 429, openai('No money', { code: 'insufficient_quota' })],
    ['images that llama.cpp does not take', 500, openai('image input is not supported - hint: mmproj')],
    ['a filter', 400, openai('Filtered', { code: 'content_filter' })],
  ] as const) {
    it(`says that ${name} will not be better the next time`, () => {
      expect(failureOf(failed(status, body)).error.headers).to.include({ 'x-should-retry': 'false' });
    });
  }

  for (const status of [409, 429, 500, 502, 503, 504]) {
    it(`does not say so of ${status}`, () => {
      expect(failureOf(failed(status, openai('No'))).error.headers).to.not.have.property('x-should-retry');
    });
  }

  for (const [param, expected] of [
    ['messages[3]', 'input'],
    ['messages.3.content', 'input'],
    ['max_tokens', 'max_output_tokens'],
    ['response_format', 'text.format'],
    ['reasoning_effort', 'reasoning.effort'],
    ['tools[0].function.name', 'tools[0].function.name'],
    ['temperature', 'temperature'],
    ['a b <c>', ''],
    ['x'.repeat(300), ''],
    [17, ''],
  ] as const) {
    it(`names the field ${String(param).slice(0, 30)} as "${expected}"`, () => {
      expect(failureOf(failed(400, openai('Bad', { param }))).error.param).to.equal(expected);
    });
  }

  describe('with the recorded errors', () => {
    const expectations: Readonly<Record<string, readonly [code: ErrorCode, status: number, words: RegExp]>> = {
      'azure-openai-error-in-200-json.json': ['content_filter', 400, /Content management policy/],
      'deepseek-err401-json.json': ['invalid_api_key', 401, /^Authentication Fails/],
      'groq-err400-json.json': ['invalid_request', 400, /^Tool choice is required/],
      'groq-err404-json.json': ['model_not_found', 404, /^The model `non-existent` does not exist/],
      'llamacpp-err500-tools-with-stream-json.json': ['upstream_error', 502, /^Cannot use tools with stream$/],
      'mistral-err401-json.json': ['invalid_api_key', 401, /^Invalid API Key$/],
      'ollama-cloud-err400-json.json': ['context_length_exceeded', 400, /^prompt too long/],
      'openai-err400-json.json': ['invalid_request', 400, /^Invalid 'messages\[3\]'/],
      'openrouter-err429-json.json': ['rate_limit_exceeded', 429, /^Provider returned error: .*rate-limited upstream/],
      'perplexity-err401-json.json': ['invalid_api_key', 401, /^Invalid API key provided/],
    };

    const recorded = existsSync(RECORDINGS)
      ? readdirSync(RECORDINGS).filter((name) => /-err\d|error-in-200/.test(name))
      : [];

    it(`are all expected, of those ${recorded.length} that were found`, () => {
      expect(Object.keys(expectations)).to.include.members(recorded);
    });

    for (const [name, [code, status, words]] of Object.entries(expectations)) {
      if (!recorded.includes(name)) continue;
      it(`makes of ${name} ${status} ${code}`, () => {
        const file = new URL(name, RECORDINGS);
        const recording = JSON.parse(readFileSync(file, 'utf8')) as { status: number; body: string };

        const { error } = failureOf(failed(recording.status, recording.body));

        expect({ code: error.code, status: error.status }).to.deep.equal({ code, status });
        expect(error.message).to.match(words);
      });
    }
  });
});
