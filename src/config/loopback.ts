import { BlockList, isIP, isIPv6 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Returns whether only this machine can reach this address or name, which may be in the brackets of a URL. */
export function isLoopback(host: string): boolean {
  // The URL parser normalizes every notation that can be listened on, such as LOCALHOST and 127.1.
  const address = host.replace(/%.*$/, '');
  const name =
    URL.parse(`http://${isIPv6(address) ? `[${address}]` : address}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (isIP(name) === 0) return name === 'localhost' || name === 'localhost.';
  return LOOPBACK.check(name, isIPv6(name) ? 'ipv6' : 'ipv4');
}
