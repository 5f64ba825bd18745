/** Keeps what the names of backends lead to, since the pods behind a name come and go. */

import { isIP, type LookupFunction } from 'node:net';
import { bareHostOf } from '../core/bare-host.ts';
import type { Reachable } from '../core/routes.ts';
import { lookUp } from './lookup.ts';

export interface Addresses {
  /** Returns those of a backend whose name has several, else none: then each connection looks its name up by itself. */
  of(spec: Reachable): readonly string[];
  /** Looks all names up now. A failed connection may say that a pod is gone. */
  refresh(): void;
  onChange(listener: () => void): void;
  close(): void;
}

export interface AddressesOptions {
  readonly lookup?: LookupFunction;
  readonly everyMs?: number;
}

/** Name servers of clusters keep an answer for some seconds. */
const EVERY_MS = 10_000;

/** Looks up each name that it was asked for, again and again. A name that cannot be looked up keeps its addresses. */
export function watchAddresses({ lookup = lookUp, everyMs = EVERY_MS }: AddressesOptions = {}): Addresses {
  const known = new Map<string, readonly string[]>();
  const listeners: (() => void)[] = [];
  const timer = setInterval(refresh, everyMs).unref();

  function refresh(): void {
    for (const name of known.keys()) find(name);
  }

  function find(name: string): void {
    lookup(name, { all: true }, (error, found) => {
      if (error !== null || typeof found === 'string') return;
      const addresses = ofOneFamily(found);
      if (addresses.join() === known.get(name)?.join()) return;
      known.set(name, addresses);
      for (const listener of listeners) listener();
    });
  }

  return {
    of({ baseUrl, proxy }) {
      const name = bareHostOf(new URL(baseUrl));
      // A proxy looks names up by itself.
      if (proxy !== undefined || isIP(name) !== 0) return [];
      const addresses = known.get(name);
      if (addresses !== undefined) return addresses.length > 1 ? addresses : [];
      known.set(name, []);
      find(name);
      return [];
    },
    refresh,
    onChange: (listener) => void listeners.push(listener),
    close: () => clearInterval(timer),
  };
}

/** The addresses of the other family lead to the same machines. */
function ofOneFamily(found: readonly { readonly address: string; readonly family: number }[]): readonly string[] {
  const families = [...Map.groupBy(found, ({ family }) => family).values()];
  const [largest = []] = families.toSorted((one, other) => other.length - one.length);
  return [...new Set(largest.map(({ address }) => address))].toSorted();
}

/** Returns a lookup that finds this address under every name. */
export function leadTo(address: string): LookupFunction {
  const family = isIP(address);
  return (_hostname, { all }, callback) => {
    if (all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}
