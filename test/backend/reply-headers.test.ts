import { expect } from 'chai';
import { passedOnHeaders } from '../../src/backend/reply-headers.ts';

describe('passedOnHeaders', () => {
  it('passes on when to ask again and what is left of the limits', () => {
    const limits = {
      'retry-after': '7',
      'retry-after-ms': '7000',
      'x-ratelimit-remaining-tokens': '12',
      'x-ratelimit-reset-requests': '1s',
      'ratelimit-policy': '"default";q=100',
      ratelimit: 'limit=100',
      'x-ratelimitbysize-remaining-minute': '99',
    };

    expect(passedOnHeaders(limits)).to.deep.equal(limits);
  });

  it("passes on the backend's request id under another name", () => {
    expect(passedOnHeaders({ 'x-request-id': 'abc' })).to.deep.equal({ 'x-upstream-request-id': 'abc' });
  });

  it('keeps every other header back', () => {
    const headers = {
      'set-cookie': ['session=1'],
      server: 'uvicorn',
      'openai-organization': 'org',
      'content-type': 'text/html',
      'transfer-encoding': 'chunked',
      'access-control-allow-origin': '*',
      'x-retry-after': '1',
      'retry-after-': '1',
      'x-upstream-request-id': 'forged',
    };

    expect(passedOnHeaders(headers)).to.deep.equal({});
  });

  it('joins repeated headers', () => {
    expect(passedOnHeaders({ ratelimit: ['a', 'b'] })).to.deep.equal({ ratelimit: 'a, b' });
  });

  it('takes out what could end a header', () => {
    expect(passedOnHeaders({ 'retry-after': '1\r\nset-cookie: a=b', 'x-request-id': '\u00e4\u0000id' })).to.deep.equal({
      'retry-after': '1set-cookie: a=b',
      'x-upstream-request-id': 'id',
    });
  });

  it('leaves out a header with nothing printable in it', () => {
    expect(passedOnHeaders({ 'retry-after': ' \u0007 ', ratelimit: undefined })).to.deep.equal({});
  });

  it('bounds the values', () => {
    expect(passedOnHeaders({ 'x-request-id': 'x'.repeat(5000) })['x-upstream-request-id']).to.have.length(256);
  });

  it('bounds the number of headers, without losing the request id', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-ratelimit-${n}`, '1']));

    const passedOn = passedOnHeaders({ ...many, 'x-request-id': 'abc' });

    expect(Object.keys(passedOn)).to.have.length(41);
    expect(passedOn['x-upstream-request-id']).to.equal('abc');
  });
});
