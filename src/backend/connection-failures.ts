import { ApiError, codeOf } from '../core/errors.ts';

export type ConnectionPhase = 'connecting' | 'waiting' | 'answering';

const NO_CERTIFICATE = 'The TLS certificate of the backend was not accepted.';

/** By the code of the failure: what the caller is told, and what the operator can do. */
const UNREACHABLE: readonly (readonly [code: RegExp, words: string, advice: string])[] = [
  [
    /^PROXY_407$/,
    'The proxy on the way to the backend wants a user name and a password.',
    'Write them into the URL of the proxy.',
  ],
  [
    /^PROXY_4/,
    'The proxy on the way to the backend refused the connection.',
    'Allow the backend there, or name its host in NO_PROXY.',
  ],
  [
    /^PROXY_\d/,
    'The proxy could not reach the backend.',
    'Is the address right, as the proxy sees it? What goes without the proxy is named in NO_PROXY.',
  ],
  [
    /^PROXY_/,
    'The proxy on the way to the backend could not be reached.',
    'Does it run, and is its address right? What goes without the proxy is named in NO_PROXY.',
  ],
  [
    /^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/,
    'The backend did not accept a connection in time.',
    'Is the address right, and does no firewall drop what goes there?',
  ],
  [/^ECONNREFUSED$/, 'The backend refused the connection.', 'Does it run, and is the port right?'],
  [
    /^(?:ENOTFOUND|EAI_)/,
    'The host name of the backend could not be resolved.',
    'Is the name right, and does its name server answer this machine?',
  ],
  [
    /^(?:EHOST|ENET|EADDRNOTAVAIL)/,
    'There is no network route to the backend.',
    'Is the address right, and can this machine reach that network?',
  ],
  [
    /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    'The backend closed the connection while it was being opened.',
    'Is the port right, and is it http or https as the address says?',
  ],
  [
    /CERTIFICATE_(?:REQUIRED|UNKNOWN)|HANDSHAKE_FAILURE$/,
    'No TLS connection to the backend could be made.',
    'It may want a certificate of the client: in BACKENDS_FILE, tls.cert_file and tls.key_file name one.',
  ],
  [/^CERT_HAS_EXPIRED$/, NO_CERTIFICATE, 'It has expired.'],
  [/ALTNAME_INVALID$/, NO_CERTIFICATE, 'It is for another name: write one that it has in the address.'],
  [
    /CERT|^UNABLE_TO|^DEPTH_ZERO|^SELF_SIGNED/,
    NO_CERTIFICATE,
    'A file with an authority of your own is named by tls.ca_file in BACKENDS_FILE, or by NODE_EXTRA_CA_CERTS in the environment, and not in .env.',
  ],
  [
    /^(?:EPROTO$|ERR_SSL|ERR_TLS)/,
    'No TLS connection to the backend could be made.',
    'If it speaks plain HTTP, write http:// in the address.',
  ],
];

/** For a `101 Switching Protocols`, which nobody has asked for. */
export const SWITCHED = 'The backend switched to another protocol.';

/** These happen only before a connection is made. A tunnel may have reported it open too early. */
const NEVER_CONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI_|PROXY_)|CERT|^UNABLE_TO|^DEPTH_ZERO|^SELF_SIGNED/;

/** No descriptor or no memory for another socket is left. */
const OWN_LACK = /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM)$/;

/**
 * Returns the error for a failed connection, without address and key; other errors as they are.
 * `upstream_unreachable` and `server_overloaded` mean that nothing was sent, so the request may be repeated.
 */
export function connectionFailure(cause: Error, phase: ConnectionPhase): Error {
  const code = codeOf(cause);
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED') return cause;
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return new ApiError('gateway_draining', { cause });
  if (OWN_LACK.test(code)) return ownLack(cause);
  if (phase === 'connecting' || NEVER_CONNECTED.test(code)) return connectFailure(cause);
  if (isNotHttp(cause, code)) {
    return new ApiError('upstream_invalid_response', {
      message: 'The backend sent an answer that is not valid HTTP.',
      cause,
    });
  }
  // What undici says of it.
  if (cause.message === 'bad upgrade') return new ApiError('upstream_invalid_response', { message: SWITCHED, cause });
  const message =
    phase === 'waiting'
      ? 'The backend closed the connection before it answered.'
      : 'The connection to the backend broke in the middle of the answer.';
  return new ApiError('upstream_error', { message, cause });
}

/** Returns the error for a connection that the gateway itself could not open. */
export function ownLack(cause: unknown): ApiError {
  const message = 'The gateway can open no further connection at the moment.';
  return new ApiError('server_overloaded', { message, headers: { 'retry-after': '1' }, cause });
}

/**
 * The parser also reports a body without its end, which is a broken connection. What undici does not expect of a backend, such
 * as a 101 that names no protocol, fails an assertion of its own.
 */
function isNotHttp(cause: Error, code: string): boolean {
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'ERR_ASSERTION') return true;
  return (cause.name === 'HTTPParserError' || code.startsWith('HPE_')) && !cause.message.includes('EOF');
}

/** Returns the error for a proxy that answers with this status in the place of the backend, or that fails with this error. */
export function proxyFailure(cause: unknown): Error {
  if (cause instanceof Error && codeOf(cause).startsWith('PROXY_')) return cause;
  return Object.assign(new Error('the proxy failed', { cause }), { code: `PROXY_${codeOf(cause) || String(cause)}` });
}

/** Returns the error for a backend that is too slow. */
export function timedOut(phase: ConnectionPhase): Error {
  if (phase === 'connecting') return connectFailure(Object.assign(new Error(phase), { code: 'ETIMEDOUT' }));
  const message =
    phase === 'waiting'
      ? 'The backend did not begin to answer in time.'
      : 'The backend went silent in the middle of its answer.';
  return new ApiError('upstream_timeout', { message });
}

/** Returns why no connection could be made, for the log; undefined for other errors. It has no address and no key in it. */
export function unreachableReason(thrown: unknown): { readonly reason: string; readonly problem: string } | undefined {
  if (!(thrown instanceof ApiError && thrown.code === 'upstream_unreachable')) return undefined;
  const { cause, message } = thrown;
  const reason = codeOf(cause) || 'unknown';
  const advice = UNREACHABLE.find(([code]) => code.test(reason))?.[2];
  return { reason, problem: advice === undefined ? message : `${message} ${advice}` };
}

function connectFailure(cause: Error): ApiError {
  const words = UNREACHABLE.find(([pattern]) => pattern.test(codeOf(cause)))?.[1];
  return new ApiError('upstream_unreachable', { ...(words !== undefined && { message: words }), cause });
}
