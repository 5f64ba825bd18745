import type { AuthMode } from '../contract/settings-types.ts';
import type { AccountStore } from '../core/books/keys.ts';
import { loadAcceptedCallers, NO_CALLERS, watchAccepted, type AcceptedCallers } from './accepted-callers.ts';
import { ADMIT_ALL, createAdmission, type Admission, type AdmissionOptions } from './admission.ts';
import { rememberKeys } from './keys.ts';
import { createRateLimits, type RateLimits } from './rates.ts';

export interface OpenAccountsOptions extends Omit<AdmissionOptions, 'accounts' | 'rateLimits'> {
  readonly authMode: AuthMode;
  readonly store: AccountStore;
}

export interface OpenedAccounts {
  readonly accounts: AccountStore;
  readonly admission: Admission;
  /** Only keys of the gateway have such limits. */
  readonly rateLimits: RateLimits | undefined;
  /** Those whose own keys the backend has accepted. */
  readonly acceptedCallers: AcceptedCallers;
  readonly close: () => void;
}

/** Opens the accounts of a store, and what decides by them. */
export async function openAccounts({ authMode, store, ...options }: OpenAccountsOptions): Promise<OpenedAccounts> {
  const { nowMs } = options;
  const accounts = rememberKeys(store, nowMs);
  const common = { accounts, admission: ADMIT_ALL, rateLimits: undefined, acceptedCallers: NO_CALLERS };
  if (authMode === 'managed') {
    const rateLimits = createRateLimits({ accounts, nowMs });
    const admission = createAdmission({ ...options, accounts, rateLimits });
    return { ...common, admission, rateLimits, close: () => undefined };
  }
  if (authMode === 'static') return { ...common, close: () => undefined };
  const acceptedCallers = await loadAcceptedCallers({ accounts, nowMs });
  return { ...common, acceptedCallers, close: watchAccepted(acceptedCallers) };
}
