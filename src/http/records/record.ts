import { isIPv6 } from 'node:net';
import type { Request } from 'express';
import { ApiError } from '../../core/errors.ts';
import { toRecord } from '../../requests/show-record.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { Client } from '../responses/client.ts';

/** Where this gateway is reached, without a slash at the end: the setting, else what the caller used. */
export function baseUrlOf(req: Request, publicBaseUrl: string | null): string {
  // HTTP/1.0 needs no Host header, whatever the type says.
  const host: string | undefined = req.host;
  return publicBaseUrl ?? `${req.protocol}://${host ?? socketAddressOf(req)}`;
}

function socketAddressOf({ socket: { localAddress = '', localPort } }: Request): string {
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/**
 * Answers a repeated request: 409 with the fields of the original's record at the top level. A 200 would lose the answer
 * silently in the SDKs, whose `create` would give an undefined text.
 */
export function sendDuplicate(client: Client, stored: StoredRecord): void {
  const record = toRecord(stored, client.baseUrl);
  client.facts.errorCode = 'duplicate_request';
  const { error } = new ApiError('duplicate_request', {
    message:
      `This request was made before, as ${record.request_id}, which is ${record.status}. Its answer is not kept; ` +
      `its state is at ${record.status_url}. Use a new Idempotency-Key to run it again.`,
  }).toBody();
  client.setHeader('x-request-id', record.request_id);
  client.setHeader('location', record.status_url);
  client.setHeader('x-should-retry', 'false');
  client.setHeader('idempotency-replayed', 'true');
  client.sendDuplicate(record, error);
}
