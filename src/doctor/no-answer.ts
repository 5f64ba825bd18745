import { withInquirer } from './inquiry.ts';
import { unreachableReason } from '../backend/connection-failures.ts';
import type { Reachable } from '../core/routes.ts';
import { egressOf } from '../backend/outbound.ts';
import { ApiError, codeOf } from '../core/errors.ts';

export type Address = Reachable & {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

const CERTIFICATE = /CERT|^UNABLE_TO|^DEPTH_ZERO|^SELF_SIGNED/;

export async function explainNoAnswer(error: unknown, address: Address): Promise<string> {
  const { host, hostname, protocol } = new URL(address.baseUrl);
  const code = causeCodeOf(error);
  if (code.startsWith('PROXY_')) return `${unreachableReason(error)?.problem} (${address.proxy?.variable})`;
  if (/_ALERT_/.test(code)) return `${unreachableReason(error)?.problem} (${host})`;
  if (code === 'ECONNREFUSED') {
    return `Nothing listens at ${host}: the connection was refused. Is the backend running, and is the port right?`;
  }
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return `The host name ${hostname} could not be resolved.`;
  if (CERTIFICATE.test(code)) return explainCertificate(host, code);
  if (error instanceof ApiError && error.code === 'upstream_timeout') return explainTimeout(host);
  if (/^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/.test(code)) return explainTimeout(host);
  const wrongScheme = await explainWrongScheme(address);
  if (wrongScheme !== undefined) return wrongScheme;
  if (protocol === 'https:' && /^(?:EPROTO$|ERR_SSL|ERR_TLS)/.test(code))
    return `No TLS connection could be made to ${host}.`;
  if (error instanceof ApiError && error.code === 'upstream_invalid_response') {
    return `What listens at ${host} does not speak HTTP. Is the port right?`;
  }
  const words = error instanceof ApiError ? error.message : 'No answer came.';
  return `${words} (${host}) Is the address right?`;
}

function explainCertificate(host: string, code: string): string {
  return `The TLS certificate of ${host} was not accepted (${code}); set NODE_EXTRA_CA_CERTS, or tls.ca_file in BACKENDS_FILE, to a file with your own certificate authority.`;
}

function explainTimeout(host: string): string {
  return `${host} did not answer in time. Is the address right? Is the backend busy? --timeout gives it more time.`;
}

/** Returns a sentence for an address that answers to the other scheme; undefined for others. */
export async function explainWrongScheme(address: Address): Promise<string | undefined> {
  const { host, protocol } = new URL(address.baseUrl);
  if (protocol === 'https:') {
    const isPlain = await answersOver('http', address);
    return isPlain ? `${host} speaks plain HTTP, without TLS. Use http:// instead of https://.` : undefined;
  }
  const isTls = await answersOver('https', address);
  return isTls ? `${host} expects TLS. Use https:// instead of http://.` : undefined;
}

/** Sends no key, since the server is unknown. */
async function answersOver(
  scheme: 'http' | 'https',
  { baseUrl, timeoutMs, signal, ...backend }: Address,
): Promise<boolean> {
  const { protocol, hostname, port, pathname } = new URL(baseUrl);
  const samePort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  const other = {
    ...egressOf(backend),
    baseUrl: `${scheme}://${hostname}:${samePort}${pathname}`,
    apiKey: undefined,
    timeoutMs,
  };
  try {
    await withInquirer(other, (inquirer) => inquirer.ask('/models', { signal }));
    return true;
  } catch (error) {
    // A certificate shows that the server speaks TLS.
    return CERTIFICATE.test(causeCodeOf(error));
  }
}

function causeCodeOf(error: unknown): string {
  return error instanceof Error ? codeOf(error.cause) : '';
}
