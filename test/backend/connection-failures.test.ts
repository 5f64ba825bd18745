import { expect } from 'chai';
import { connectionFailure, unreachableReason, type ConnectionPhase } from '../../src/backend/connection-failures.ts';
import { ApiError } from '../../src/core/errors.ts';

const failure = (code: string): Error => Object.assign(new Error('connect 10.1.2.3:8443 with sk-secret'), { code });

describe('connectionFailure', () => {
  const cases: readonly (readonly [phase: ConnectionPhase, code: string, expected: string, words: RegExp])[] = [
    ['connecting', 'ECONNREFUSED', 'upstream_unreachable', /refused the connection/],
    ['connecting', 'ENOTFOUND', 'upstream_unreachable', /could not be resolved/],
    ['connecting', 'EAI_AGAIN', 'upstream_unreachable', /could not be resolved/],
    ['connecting', 'EHOSTUNREACH', 'upstream_unreachable', /no network route/],
    ['connecting', 'ENETUNREACH', 'upstream_unreachable', /no network route/],
    ['connecting', 'ECONNRESET', 'upstream_unreachable', /while it was being opened/],
    ['connecting', 'UND_ERR_SOCKET', 'upstream_unreachable', /while it was being opened/],
    ['connecting', 'CERT_HAS_EXPIRED', 'upstream_unreachable', /certificate/],
    ['connecting', 'SELF_SIGNED_CERT_IN_CHAIN', 'upstream_unreachable', /certificate/],
    ['connecting', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'upstream_unreachable', /certificate/],
    ['connecting', 'ERR_TLS_CERT_ALTNAME_INVALID', 'upstream_unreachable', /certificate/],
    ['connecting', 'EPROTO', 'upstream_unreachable', /TLS connection/],
    ['connecting', 'ERR_SSL_WRONG_VERSION_NUMBER', 'upstream_unreachable', /TLS connection/],
    ['connecting', 'EMFILE', 'server_overloaded', /no further connection/],
    ['connecting', 'UND_ERR_CONNECT_TIMEOUT', 'upstream_unreachable', /did not accept a connection in time/],
    ['connecting', 'ETIMEDOUT', 'upstream_unreachable', /did not accept a connection in time/],
    ['waiting', 'ECONNRESET', 'upstream_error', /before it answered/],
    ['waiting', 'UND_ERR_SOCKET', 'upstream_error', /before it answered/],
    ['waiting', 'EPIPE', 'upstream_error', /before it answered/],
    ['waiting', 'UND_ERR_HEADERS_OVERFLOW', 'upstream_invalid_response', /not valid HTTP/],
    ['waiting', 'HPE_INVALID_CONSTANT', 'upstream_invalid_response', /not valid HTTP/],
    ['waiting', 'ERR_ASSERTION', 'upstream_invalid_response', /not valid HTTP/],
    ['answering', 'ECONNRESET', 'upstream_error', /middle of the answer/],
    ['answering', 'UND_ERR_SOCKET', 'upstream_error', /middle of the answer/],
    ['answering', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'upstream_error', /middle of the answer/],
    ['waiting', 'ECONNREFUSED', 'upstream_unreachable', /refused the connection/],
    ['waiting', 'ENOTFOUND', 'upstream_unreachable', /could not be resolved/],
    ['waiting', 'CERT_HAS_EXPIRED', 'upstream_unreachable', /certificate/],
    ['connecting', 'UND_ERR_DESTROYED', 'gateway_draining', /shutting down/],
    ['answering', 'UND_ERR_DESTROYED', 'gateway_draining', /shutting down/],
  ];

  for (const [phase, code, expected, words] of cases) {
    it(`makes of ${code} while ${phase} ${expected}`, () => {
      const cause = failure(code);

      const error = connectionFailure(cause, phase);

      if (!(error instanceof ApiError)) throw new TypeError('expected an ApiError');
      expect(error.code).to.equal(expected);
      expect(error.message).to.match(words);
      expect(error.message).to.not.match(/10\.1\.2\.3|8443|secret/);
      expect(error.cause).to.equal(cause);
    });
  }

  for (const [words, expected] of [
    ['Expected HTTP/', 'upstream_invalid_response'],
    ['Invalid character in chunk size', 'upstream_invalid_response'],
    ['Invalid EOF state', 'upstream_error'],
  ] as const) {
    it(`makes of the parser's "${words}" ${expected}`, () => {
      const cause = new Error(`Response does not match the HTTP/1.1 protocol (${words})`);
      cause.name = 'HTTPParserError';

      expect(connectionFailure(cause, 'answering')).to.include({ code: expected });
    });
  }

  it('makes of an error without a code the plain one', () => {
    expect(connectionFailure(new Error('odd'), 'connecting')).to.include({ code: 'upstream_unreachable' });
  });

  it('returns what is our own mistake as it is', () => {
    const mistake = failure('UND_ERR_INVALID_ARG');

    expect(connectionFailure(mistake, 'connecting')).to.equal(mistake);
  });
});

describe('unreachableReason', () => {
  for (const [code, advice] of [
    ['ECONNREFUSED', /does it run/i],
    ['EAI_AGAIN', /name server/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /NODE_EXTRA_CA_CERTS/],
    ['CERT_HAS_EXPIRED', /has expired/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /certificate of the client/],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', /certificate of the client/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /write http:/],
  ] as const) {
    it(`gives ${code}, and what to check`, () => {
      const found = unreachableReason(connectionFailure(failure(code), 'connecting'));

      expect(found?.reason).to.equal(code);
      expect(found?.problem)
        .to.match(advice)
        .and.not.match(/10\.1\.2\.3|8443|secret/);
    });
  }

  it('has nothing to say of an answer', () => {
    expect(unreachableReason(connectionFailure(failure('ECONNRESET'), 'waiting'))).to.equal(undefined);
  });
});
