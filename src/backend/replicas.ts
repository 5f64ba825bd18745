/** A backend whose name has several addresses is a replica for each, and a route names them all. */

import { isDeepStrictEqual } from 'node:util';
import type { BackendSpec, RoutedBackend } from '../core/routes.ts';
import { egressOf } from './outbound.ts';

/** Returns what names a replica in a route. It has no space where the name of the backend has no addresses of its own. */
export function idOf({ name, address }: Pick<BackendSpec, 'name' | 'address'>): string {
  return address === undefined ? name : `${name} ${address}`;
}

/** Whether a route has the backend, perhaps with addresses that it no longer has. */
export function isIn(route: readonly string[], { name }: BackendSpec): boolean {
  return route.some((id) => id === name || id.startsWith(`${name} `));
}

/** Returns the backend at each of these addresses, with the key and the headers that it has at the moment; without any, as it is. */
export function replicasOf(spec: BackendSpec, addresses: readonly string[]): readonly BackendSpec[] {
  if (addresses.length === 0) return [spec];
  return addresses.map((address) => ({
    ...spec,
    address,
    get apiKey() {
      return spec.apiKey;
    },
    get headers() {
      return spec.headers ?? {};
    },
  }));
}

/** Returns what a thread needs of it, which is no address and no key. */
export function toRouted(spec: BackendSpec): RoutedBackend {
  const { dialect, upstreamDialect, modelAliases, models, weight } = spec;
  return { name: idOf(spec), dialect, upstreamDialect, modelAliases, models, weight };
}

/** Whether connections to one lead where those to the other do. */
export function isSameServer(one: BackendSpec, other: BackendSpec): boolean {
  return (
    one.baseUrl === other.baseUrl &&
    one.apiKeyEnv === other.apiKeyEnv &&
    one.apiKeyFile === other.apiKeyFile &&
    // A key in a file changes while the backend stays.
    (one.apiKeyFile !== undefined || one.apiKey === other.apiKey) &&
    one.upstreamDialect === other.upstreamDialect &&
    isDeepStrictEqual([one.timeouts, egressOf(one)], [other.timeouts, egressOf(other)])
  );
}
