import type { Identity } from '../identity/identities.ts';
import type { AccountStore } from '../store/keys.ts';

/** The callers whose own keys the backend has accepted. A restart does not forget them. */
export interface AcceptedCallers {
  has(caller: Identity): boolean;
  add(caller: Identity): void;
  /** Holds until the backend accepts the key again, or until a restart. */
  delete(caller: Identity): void;
}

export interface AcceptedCallersOptions {
  readonly accounts: Pick<AccountStore, 'listAccepted' | 'rememberAccepted'>;
  readonly nowMs: () => number;
}

const MAX_REMEMBERED = 10_000;

/** Returns the callers that the store remembers; none if it cannot be read now. */
export async function loadAcceptedCallers({ accounts, nowMs }: AcceptedCallersOptions): Promise<AcceptedCallers> {
  // In the order of their last success.
  const accepted = new Set(await accounts.listAccepted().catch(() => []));
  const written = new Set<string>();

  return {
    has: (caller) => caller.some((name) => accepted.has(name)),
    add([name]) {
      keep(accepted, name);
      // One write for each process renews what the store knows about the caller.
      if (written.has(name)) return;
      keep(written, name);
      accounts.rememberAccepted(name, nowMs()).catch(() => written.delete(name));
    },
    delete(caller) {
      for (const name of caller) accepted.delete(name);
    },
  };
}

/** Nobody is accepted by a backend where the gateway checks the keys. */
export const NO_CALLERS: AcceptedCallers = { has: () => false, add: () => undefined, delete: () => undefined };

function keep(names: Set<string>, name: string): void {
  names.delete(name);
  names.add(name);
  const [oldest] = names;
  if (names.size > MAX_REMEMBERED && oldest !== undefined) names.delete(oldest);
}
