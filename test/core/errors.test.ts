import { expect } from 'chai';
import { ApiError, ERRORS, toApiError, type ErrorCode } from '../../src/core/errors.ts';

/** The table of the contract, section 5, the two codes that only records know, and the one of WebSockets. */
const STATUSES: Record<number, readonly ErrorCode[]> = {
  400: [
    'content_filter',
    'invalid_json',
    'invalid_request',
    'missing_required_parameter',
    'unsupported_parameter',
    'unsupported_tool',
    'previous_response_not_found',
    'websocket_connection_limit_reached',
    'invalid_idempotency_key',
    'context_length_exceeded',
  ],
  401: ['missing_api_key', 'invalid_api_key'],
  402: ['insufficient_credits', 'spend_limit_exceeded'],
  403: ['forbidden'],
  404: ['model_not_found', 'request_not_found', 'not_found'],
  405: ['method_not_allowed'],
  408: ['request_timeout'],
  409: ['duplicate_request', 'request_cancelled'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type', 'unsupported_content_encoding'],
  421: ['host_not_allowed'],
  429: ['rate_limit_exceeded', 'insufficient_quota', 'concurrency_limit_exceeded'],
  499: ['client_disconnected'],
  502: ['upstream_error', 'upstream_unreachable', 'upstream_invalid_response', 'internal_error'],
  503: ['gateway_draining', 'server_overloaded', 'no_backend_available', 'store_unavailable', 'gateway_interrupted'],
  504: ['upstream_timeout'],
};

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'authentication_error',
  429: 'rate_limit_error',
  502: 'server_error',
  503: 'server_error',
  504: 'server_error',
};

describe('ERRORS', () => {
  it('are those of the contract', () => {
    expect(Object.keys(ERRORS)).to.have.members(Object.values(STATUSES).flat());
  });

  for (const [status, codes] of Object.entries(STATUSES)) {
    for (const code of codes) {
      it(`answer ${code} with ${status}, its type and a message`, () => {
        const error = new ApiError(code);
        expect(error.status).to.equal(Number(status));
        expect(error.type).to.equal(TYPES[error.status] ?? 'invalid_request_error');
        expect(error.message).to.match(/^[A-Z].+\.$/);
      });
    }
  }
});

describe('ApiError', () => {
  it('makes a body of four strings', () => {
    expect(new ApiError('invalid_json').toBody()).to.deep.equal({
      error: { message: 'The body is not valid JSON.', type: 'invalid_request_error', param: '', code: 'invalid_json' },
    });
  });

  it('has a stack, unless floods are made of it', () => {
    expect(new ApiError('invalid_json').stack).to.include('errors.test.ts');
    expect(new ApiError('concurrency_limit_exceeded').stack).not.to.include('errors.test.ts');
    expect(new Error('another').stack).to.include('errors.test.ts');
  });

  it('takes message, param, status, headers and cause', () => {
    const cause = new Error('inside');
    const error = new ApiError('upstream_error', {
      message: 'No.',
      param: 'a',
      status: 503,
      headers: { 'retry-after': '1' },
      cause,
    });
    expect(error).to.deep.include({ message: 'No.', param: 'a', status: 503, headers: { 'retry-after': '1' }, cause });
    expect(error.toBody().error).to.deep.equal({
      message: 'No.',
      type: 'server_error',
      param: 'a',
      code: 'upstream_error',
    });
  });
});

describe('toApiError', () => {
  it('leaves an ApiError as it is', () => {
    const error = new ApiError('not_found');
    expect(toApiError(error)).to.equal(error);
  });

  const throws = {
    'an error': new Error('secret'),
    'a string': 'secret',
    nothing: undefined,
    'an object': { message: 'secret' },
  };
  for (const [name, thrown] of Object.entries(throws)) {
    it(`says nothing of ${name}`, () => {
      const error = toApiError(thrown);
      expect(error.code).to.equal('internal_error');
      expect(JSON.stringify(error.toBody())).not.to.include('secret');
      expect(error.cause).to.equal(thrown);
    });
  }
});
