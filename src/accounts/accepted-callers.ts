import type { Identity } from '../core/ids.ts';
import type { AccountStore } from '../core/books/keys.ts';
import { setLast } from '../core/set-last.ts';

/** The callers whose own keys the backend has accepted. A restart does not forget them. */
export interface AcceptedCallers {
  has(caller: Identity): boolean;
  add(caller: Identity): void;
  /** Holds until the backend accepts the key again here, or until a restart. */
  delete(caller: Identity): void;
}

export interface StoredCallers extends AcceptedCallers {
  /** Learns whom other processes have noted. Does nothing if the store cannot be read now. */
  readonly look: () => Promise<void>;
}

export interface AcceptedCallersOptions {
  readonly accounts: Pick<AccountStore, 'listAccepted' | 'rememberAccepted'>;
  readonly nowMs: () => number;
}

const MAX_REMEMBERED = 10_000;

/** More than clocks differ, and than a write takes. */
const OVERLAP_MS = 60_000;

const RENEW_AFTER_MS = 86_400_000;

const LOOK_EVERY_MS = 5000;

/** Returns the callers that the store remembers; none if it cannot be read now. */
export async function loadAcceptedCallers({ accounts, nowMs }: AcceptedCallersOptions): Promise<StoredCallers> {
  // In the order of their last success.
  const accepted = new Set<string>();
  // The store may still list them.
  const refused = new Set<string>();
  const written = new Map<string, number>();
  let sinceMs = 0;

  async function look(): Promise<void> {
    const startMs = nowMs();
    try {
      const found = await accounts.listAccepted(sinceMs);
      for (const name of found) if (!refused.has(name)) keep(accepted, name);
      sinceMs = Math.max(0, startMs - OVERLAP_MS);
    } catch {
      // The next look asks for the same time. Readiness reports the outage.
    }
  }

  await look();

  return {
    has: (caller) => caller.some((name) => accepted.has(name)),
    add([name]) {
      keep(accepted, name);
      refused.delete(name);
      // The store drops those that were not renewed for longest.
      const atMs = nowMs();
      const writtenAtMs = written.get(name);
      if (writtenAtMs !== undefined && atMs - writtenAtMs < RENEW_AFTER_MS) return;
      setLast(written, name, atMs, MAX_REMEMBERED);
      accounts.rememberAccepted(name, atMs).catch(() => written.delete(name));
    },
    delete(caller) {
      for (const name of caller) if (accepted.delete(name)) keep(refused, name);
    },
    look,
  };
}

/** Looks every few seconds. Returns a function that stops it. */
export function watchAccepted({ look }: StoredCallers, everyMs = LOOK_EVERY_MS): () => void {
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Nobody is accepted by a backend where the gateway checks the keys. */
export const NO_CALLERS: AcceptedCallers = { has: () => false, add: () => undefined, delete: () => undefined };

function keep(names: Set<string>, name: string): void {
  names.delete(name);
  names.add(name);
  const [oldest] = names;
  if (names.size > MAX_REMEMBERED && oldest !== undefined) names.delete(oldest);
}
