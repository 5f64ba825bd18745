import type { RateLimits } from '../accounts/rates.ts';
import type { AdminLimit } from '../contract/operator-types.ts';
import type { Authenticator } from './authenticate.ts';
import type { Load } from './load.ts';

/** Who may come in, and with how much. */
export interface AccessServices {
  readonly authenticator: Authenticator;
  readonly load: Load;
  readonly rateLimits: RateLimits | undefined;
  /** Of all processes. */
  readonly listLimits: () => Promise<readonly AdminLimit[]>;
  /** A client that takes no bytes for this long is disconnected. */
  readonly clientStallMs: number;
}
