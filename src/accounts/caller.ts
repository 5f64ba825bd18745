import type { Identity } from '../core/ids.ts';
import type { StoredKey } from '../core/books/keys.ts';

/** It never has the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** Is absent where the gateway issues no keys. */
  readonly key?: StoredKey;
  /** The caller's key as a bearer, where the backend gets that. */
  readonly backendHeaders: Readonly<Record<string, string>>;
  /** Says for whom a share is taken now. A stranger can be accepted meanwhile. */
  readonly holder: () => Holder;
  /** Is called when the backend begins to answer. Is absent where it does not see the caller's key. */
  readonly noteAccepted?: () => void;
}

/** The one who has a share: a caller, or the network of callers that were never accepted. */
export interface Holder {
  readonly name: string;
  readonly isStranger: boolean;
}
