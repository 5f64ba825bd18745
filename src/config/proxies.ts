/** The proxies on the way out, as the variables of the environment name them for most programs. */

import { BlockList, isIP } from 'node:net';
import type { Proxy } from '../core/routes.ts';
import { isLoopback } from './loopback.ts';
import type { Environment } from './settings.ts';

/**
 * Returns the proxy between the gateway and this URL; undefined without one. As in curl and Go, the names in small letters win,
 * and ALL_PROXY stands in for the others. As in Go, there is none in front of this machine.
 */
export function proxyFor(target: string, env: Environment): Proxy | undefined {
  const url = URL.parse(target);
  if (url === null) return undefined;
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const excepted = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').toLowerCase().split(/[\s,]+/);
  if (isLoopback(host) || host.endsWith('.localhost') || excepted.some((entry) => covers(entry, host, port)))
    return undefined;
  const names = [`${url.protocol.slice(0, -1)}_proxy`, 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  const variable = names.find((name) => (env[name]?.trim() ?? '') !== '');
  if (variable === undefined) return undefined;
  const text = env[variable]?.trim() ?? '';
  return { variable, url: text.includes('://') ? text : `http://${text}` };
}

/** Returns a line for each variable that names no proxy which the gateway can use, where one of these URLs needs it. */
export function findProxyVariableProblems(targets: readonly string[], env: Environment): readonly string[] {
  const lines = targets.flatMap((target) => {
    const proxy = proxyFor(target, env);
    if (proxy === undefined || isUsable(proxy)) return [];
    const { host } = new URL(target);
    return [
      `${proxy.variable}: must be the http:// or https:// URL of a proxy, with %25 for each percent sign in its password; ` +
        `NO_PROXY=${host} goes without one`,
    ];
  });
  return [...new Set(lines)];
}

function isUsable({ url }: Proxy): boolean {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return false;
  try {
    decodeURIComponent(parsed.username + parsed.password);
    return true;
  } catch {
    return false;
  }
}

/** Returns a proxy without the user name and the password that its URL may have. */
export function showProxy({ variable, url }: Proxy): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host} (${variable})`;
}

/** An entry is `*`, or a name with all below it, an address or a subnet, each of them with a port or without. */
function covers(entry: string, host: string, port: string): boolean {
  if (entry === '*' || isWithin(entry, host)) return true;
  const [, bracketed, bare, ownPort] = /^(?:\[([^\]]+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
  if (ownPort !== undefined && ownPort !== port) return false;
  const name = (bracketed ?? bare ?? '').replace(/^\*?\./, '').replace(/\.$/, '');
  return name === '*' || (name !== '' && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`))));
}

function isWithin(subnet: string, host: string): boolean {
  const [net = '', prefix = ''] = subnet.split('/');
  const family = isIP(net);
  const bits = Number(prefix);
  if (family === 0 || family !== isIP(host) || !/^\d{1,3}$/.test(prefix) || bits > (family === 4 ? 32 : 128))
    return false;
  const list = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(net, bits, type);
  return list.check(host, type);
}
