import type { ErrorCode } from '../../../src/core/errors.ts';
import type { BackendProcess } from './backend-process.ts';
import type { Manner } from './manners.ts';

/** Something that happens to one backend, and what callers may see of it. */
export interface Fault {
  readonly strike: (backend: BackendProcess) => Promise<void> | void;
  readonly heal: (backend: BackendProcess) => Promise<void> | void;
  /** Whether it is over while callers still ask; else it lasts until all of them have their reply. */
  readonly isShort?: boolean;
  /** A request fails with this if it may have run: after output, and with failover safe before output too. */
  readonly code?: ErrorCode;
  /** Whether it can hit a reply that has begun. */
  readonly breaksReplies?: boolean;
}

const healthy = (backend: BackendProcess): Promise<void> => backend.behave('healthy');

function mannered(manner: Manner, seen: Pick<Fault, 'code' | 'breaksReplies'> = {}): Fault {
  return { strike: (backend) => backend.behave(manner), heal: healthy, ...seen };
}

const KILLED = {
  strike: (backend) => backend.kill(),
  heal: (backend) => backend.start(),
  code: 'upstream_error',
  breaksReplies: true,
} as const satisfies Fault;
const STOPPED = {
  strike: (backend) => backend.signal('SIGSTOP'),
  heal: (backend) => backend.signal('SIGCONT'),
  code: 'upstream_timeout',
  breaksReplies: true,
} as const satisfies Fault;

export const FAULTS = {
  'is killed': KILLED,
  'is killed and started again at once': { ...KILLED, isShort: true },
  'is stopped': STOPPED,
  'is stopped for a moment': { ...STOPPED, isShort: true },
  'is slow': mannered('slow'),
  'has reached a limit': mannered('limited'),
  'says when its limit is over': mannered('limited for a second'),
  'has a fault': mannered('broken', { code: 'upstream_error' }),
  'is away behind a proxy': mannered('behind a proxy', { code: 'upstream_error' }),
  'wants a login': mannered('behind a login', { code: 'upstream_invalid_response' }),
  'breaks off': mannered('cut', { code: 'upstream_error', breaksReplies: true }),
} as const satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof FAULTS;
