/** Finds the addresses of host names, for all connections of this process. */

import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { setLast } from '../core/set-last.ts';

export interface LookupOptions {
  /** Blocks one of the four threads that Node has for this and for files, for as long as the name server takes. */
  readonly resolve?: (hostname: string, options: LookupAllOptions, done: Done) => void;
  readonly nowMs?: () => number;
}

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

interface Name {
  /** Those of the last lookup that has found some. */
  good: { readonly addresses: LookupAddress[]; readonly atMs: number } | undefined;
  /** They wait for the lookup that runs, or that waits for its turn. */
  waiting: Done[] | undefined;
}

/** What was found within this time holds. */
const FRESH_MS = 5000;
/** Then a new lookup has this time, before the last good addresses are used. */
const GRACE_MS = 250;
/** After this time addresses are no longer good. */
const GOOD_MS = 3_600_000;
/** Two threads are left for files. */
const MAX_RUNNING = 2;
/** Names come from the settings, so there are few. */
const MAX_NAMES = 1000;

/**
 * Returns a function in the form of `dns.lookup` that asks for one name once at a time. A name server that hangs holds up the names
 * that it is asked for first, which have their last good addresses meanwhile, and two threads.
 */
export function createLookup({
  resolve = systemLookup,
  nowMs = () => performance.now(),
}: LookupOptions = {}): LookupFunction {
  const names = new Map<string, Name>();
  const queue: (() => void)[] = [];
  let running = 0;

  function find(hostname: string, options: LookupAllOptions, done: Done): void {
    const name = nameOf(JSON.stringify([hostname, options]));
    const good = name.good !== undefined && nowMs() - name.good.atMs < GOOD_MS ? name.good : undefined;
    if (good !== undefined && nowMs() - good.atMs < FRESH_MS) {
      process.nextTick(done, null, good.addresses);
      return;
    }
    const isAlone = name.waiting === undefined;
    name.waiting ??= [];
    name.waiting.push(good === undefined ? done : doneInTime(good.addresses, done));
    if (isAlone) startLater(() => resolve(hostname, options, (error, addresses) => end(name, error, addresses)));
  }

  function startLater(start: () => void): void {
    if (running >= MAX_RUNNING) {
      queue.push(start);
      return;
    }
    running += 1;
    start();
  }

  function end(name: Name, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    const waiting = name.waiting ?? [];
    name.waiting = undefined;
    if (error === null) name.good = { addresses, atMs: nowMs() };
    // The name server says that the name is gone.
    else if (error.code === 'ENOTFOUND') name.good = undefined;
    running -= 1;
    const next = queue.shift();
    if (next !== undefined) startLater(next);
    for (const done of waiting) done(error, addresses);
  }

  function nameOf(key: string): Name {
    const known = names.get(key) ?? { good: undefined, waiting: undefined };
    setLast(names, key, known, MAX_NAMES);
    return known;
  }

  return (hostname, { all, ...options }, callback) => {
    find(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? notFound(hostname), []);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Takes the last good addresses where the lookup is late, or where the name server does not answer. */
function doneInTime(good: LookupAddress[], done: Done): Done {
  let isDone = false;
  const once: Done = (error, addresses) => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    done(error, addresses);
  };
  const timer = setTimeout(() => once(null, good), GRACE_MS);
  return (error, addresses) => {
    if (error === null || error.code === 'ENOTFOUND') once(error, addresses);
    else once(null, good);
  };
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
}

/** The threads are those of the process, and so is what is known of names. */
export const lookUp = createLookup();
