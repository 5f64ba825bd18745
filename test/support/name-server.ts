/** A name server on 127.0.0.1 that speaks DNS over UDP (RFC 1035), for one name. */

import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns';
import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { createLookup } from '../../src/backend/lookup.ts';

export interface NameServer {
  /** Those of the name in IPv4. Without any there is no such name. */
  addresses: readonly string[];
  isSilent: boolean;
  /** How often it was asked. */
  readonly queries: number;
  /** Asks it as the gateway asks that of the machine. What was found at a moment of this clock holds for some seconds. */
  lookup(nowMs: () => number): LookupFunction;
  close(): Promise<void>;
}

const PATIENCE_MS = 100;

export async function startNameServer(addresses: readonly string[]): Promise<NameServer> {
  const socket = createSocket('udp4');
  let queries = 0;
  socket.on('message', (query, { address, port }) => {
    queries += 1;
    if (!server.isSilent) socket.send(answerTo(query, server.addresses), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const resolver = new Resolver({ timeout: PATIENCE_MS, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);

  const server: NameServer = {
    addresses,
    isSilent: false,
    get queries() {
      return queries;
    },
    lookup: (nowMs) =>
      createLookup({
        nowMs,
        resolve(hostname, _options, done) {
          resolver.resolve4(hostname, (error, found: readonly string[] | undefined) => {
            done(
              error,
              (found ?? []).map((address) => ({ address, family: 4 })),
            );
          });
        },
      }),
    async close() {
      resolver.cancel();
      socket.close();
      await once(socket, 'close');
    },
  };
  return server;
}

const HEADER_BYTES = 12;
const ANSWER = 0x81_80;
const NO_SUCH_NAME = 3;

function answerTo(query: Buffer, addresses: readonly string[]): Buffer {
  // The name ends with an empty label; its type and class follow.
  const question = query.subarray(HEADER_BYTES, query.indexOf(0, HEADER_BYTES) + 5);
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(addresses.length === 0 ? ANSWER | NO_SUCH_NAME : ANSWER, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([header, question, ...addresses.map(toRecord)]);
}

/** The name is the one at the beginning of the question. It holds for 5 s. */
function toRecord(address: string): Buffer {
  const [type, internet, seconds] = [1, 1, 5];
  const bytes = address.split('.').map(Number);
  return Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, internet, 0, 0, 0, seconds, 0, bytes.length, ...bytes]);
}
