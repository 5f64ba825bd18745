/** The backend fetches these URLs from its own network. */

import { BlockList, isIP, isIPv6 } from 'node:net';
import { bareHostOf } from '../../core/bare-host.ts';
import type { UrlFault } from '../../core/request/parts.ts';
import type { ImageUrlPolicy } from '../../contract/settings-types.ts';

/**
 * Returns why a policy refuses a URL. data: URLs are always allowed. Base64 without `data:` is not,
 * since it cannot be told from the path of a file.
 */
export const URL_FAULTS: { readonly [Policy in ImageUrlPolicy]: UrlFault | undefined } = {
  any: undefined,
  'https-public': (text) => (isSentAlong(text) ? undefined : publicUrlFault(text)),
  data: (text) => (isSentAlong(text) ? undefined : 'must be a data: URL here, since the backend is to fetch nothing'),
};

function isSentAlong(text: string): boolean {
  return /^data:/i.test(text);
}

/** The gateway cannot know what a public name resolves to in the network of the backend. */
function publicUrlFault(text: string): string | undefined {
  // Programs disagree about URLs with white space, a backslash or a second @.
  const url = /^https:\/\/[^\s\\@/?#]+(?:[/?#][^\s\\]*)?$/i.test(text) ? URL.parse(text) : null;
  if (url === null) return 'must be a data: URL, or an https:// URL without user name and password';
  if (url.port !== '') return 'must not name a port';
  // The parser has normalized every notation of an IPv4 address, and names to lower case.
  const host = bareHostOf(url).replace(/\.$/, '');
  if (isIP(host) === 0 ? isPrivateName(host) : isPrivateAddress(host)) return 'must name a host of the public internet';
  return undefined;
}

const PRIVATE_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|lan|home|corp|home\.arpa|onion|test)$/;

function isPrivateName(host: string): boolean {
  // A name without a dot is resolved in the local domain of the backend.
  return !host.includes('.') || PRIVATE_NAME.test(host);
}

/** Returns whether an IP address is none of the public internet. */
function isPrivateAddress(address: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  return RESERVED.check(address, family) || (family === 'ipv6' && !GLOBAL_V6.check(address, 'ipv6'));
}

/** IANA's registries of special purpose addresses (RFC 6890 and its successors), with multicast. */
const RESERVED = blockListOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // These are Teredo, benchmarks, documentation, and 6to4, which embeds an IPv4 address.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);

/** The assigned part of IPv6. The addresses that embed IPv4 ones lie outside of it. */
const GLOBAL_V6 = blockListOf(['2000::/3']);

function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = '', prefix = ''] = subnet.split('/');
    list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}
