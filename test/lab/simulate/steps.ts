/** What can happen in a history. Everything else follows from the order in which it happens. */

import {
  array,
  boolean,
  constant,
  constantFrom,
  nat,
  oneof,
  option,
  record,
  type Arbitrary,
  type WeightedArbitrary,
} from 'fast-check';

export const KINDS = ['JSON', 'a stream', 'a WebSocket', 'chat', 'a chat stream'] as const;

/** What the backend does with a request. */
export const ENDINGS = {
  'ends by itself': 'stop',
  'ends at the limit': 'length',
  'ends in the filter': 'content_filter',
  'ends with a call': 'tool_calls',
  'breaks off': undefined,
  'goes silent': undefined,
  'answers 400': 400,
  'answers 401': 401,
  'answers 429': 429,
  'answers 500': 500,
  'answers 503': 503,
  'is not there': undefined,
  'closes without an answer': undefined,
  'says an error instead': undefined,
} as const;

export type Ending = keyof typeof ENDINGS;

export interface Script {
  readonly ending: Ending;
  /** What the next backend does, where there are several. */
  readonly next: Ending;
  /** Of text, before the end. */
  readonly pieces: number;
  readonly usage: boolean;
  /** Whether all of a stream comes at once, if it ends. */
  readonly isInOnePiece: boolean;
  readonly refusesField: boolean;
}

export interface Create {
  readonly do: 'ask';
  /** The number of the process. */
  readonly at: number;
  readonly who: number;
  readonly kind: (typeof KINDS)[number];
  /** The body and the idempotency key; null without a key. */
  readonly name: number | null;
  readonly isSlow: boolean;
  /** Its model is a number, which the gateway refuses. */
  readonly isMisshapen: boolean;
  readonly script: Script;
}

export const STORE_FAULTS = ['busy', 'full', 'lost before', 'lost after', 'lost, and taken later'] as const;

/** How many there are, and what BACKENDS_FILE says of failover. */
export const BACKENDS = ['one', 'safe', 'any'] as const;

/** What limits the first caller, where the gateway issues the keys. */
export const LIMITS = ['credits', 'requests', 'tokens', 'spend', 'nothing'] as const;

export type Step =
  | Create
  /** The caller sends a request once more that has an idempotency key, as a client does that tries again. */
  | { readonly do: 'repeat'; readonly which: number; readonly at: number }
  | { readonly do: 'go'; readonly which: number }
  | { readonly do: 'all go' }
  | { readonly do: 'fail'; readonly which: number; readonly how: (typeof STORE_FAULTS)[number] }
  /** Somebody else may not, and is told of no such request. */
  | { readonly do: 'cancel'; readonly which: number; readonly at: number; readonly isOwn: boolean }
  | { readonly do: 'leave'; readonly which: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'drain'; readonly at: number }
  /** It stands still, and the others take it for dead; if it does so already, it goes on. */
  | { readonly do: 'pause'; readonly at: number }
  | { readonly do: 'crash'; readonly at: number };

export interface History {
  /** Who issues the keys of the callers: the gateway, which knows what they may spend, or the backend. */
  readonly keys: 'managed' | 'passthrough';
  readonly limit: (typeof LIMITS)[number];
  readonly backends: (typeof BACKENDS)[number];
  readonly steps: readonly Step[];
}

const anyProcess = nat({ max: 1 });
const anyWhich = nat({ max: 7 });
const anyOwner = oneof({ weight: 7, arbitrary: constant(true) }, { weight: 1, arbitrary: constant(false) });

const anyEnding: Arbitrary<Ending> = oneof(
  { weight: 1, arbitrary: constant<Ending>('ends by itself') },
  { weight: 1, arbitrary: constantFrom(...(Object.keys(ENDINGS) as Ending[])) },
);

const anyScript: Arbitrary<Script> = record({
  ending: anyEnding,
  next: anyEnding,
  pieces: nat({ max: 2 }),
  usage: boolean(),
  isInOnePiece: boolean(),
  refusesField: oneof({ weight: 4, arbitrary: constant(false) }, { weight: 1, arbitrary: constant(true) }),
});

const anyCreate: Arbitrary<Create> = record({
  do: constant('ask'),
  at: anyProcess,
  who: nat({ max: 1 }),
  kind: constantFrom(...KINDS),
  name: option(nat({ max: 1 }), { freq: 2 }),
  isSlow: oneof({ weight: 3, arbitrary: constant(false) }, { weight: 1, arbitrary: constant(true) }),
  isMisshapen: oneof({ weight: 15, arbitrary: constant(false) }, { weight: 1, arbitrary: constant(true) }),
  script: anyScript,
});

const STEPS: WeightedArbitrary<Step>[] = [
  { weight: 26, arbitrary: record({ do: constant('go'), which: anyWhich }) },
  { weight: 10, arbitrary: anyCreate },
  { weight: 2, arbitrary: record({ do: constant('repeat'), which: anyWhich, at: anyProcess }) },
  { weight: 4, arbitrary: constant({ do: 'all go' }) },
  { weight: 4, arbitrary: record({ do: constant('cancel'), which: anyWhich, at: anyProcess, isOwn: anyOwner }) },
  { weight: 3, arbitrary: record({ do: constant('leave'), which: anyWhich }) },
  { weight: 3, arbitrary: record({ do: constant('wait'), ms: constantFrom(60, 600, 1100, 2300, 12_000) }) },
  { weight: 4, arbitrary: record({ do: constant('wait'), ms: constantFrom(2, 20, 200) }) },
  { weight: 3, arbitrary: record({ do: constant('fail'), which: anyWhich, how: constantFrom(...STORE_FAULTS) }) },
  { weight: 1, arbitrary: record({ do: constant('drain'), at: anyProcess }) },
  { weight: 2, arbitrary: record({ do: constant('pause'), at: anyProcess }) },
  { weight: 1, arbitrary: record({ do: constant('crash'), at: anyProcess }) },
];

export const anyHistory: Arbitrary<History> = record({
  keys: constantFrom('managed', 'passthrough'),
  limit: oneof(
    { weight: 2, arbitrary: constant<'credits'>('credits') },
    { weight: 3, arbitrary: constantFrom(...LIMITS) },
  ),
  backends: oneof(
    { weight: 2, arbitrary: constant<'one'>('one') },
    { weight: 2, arbitrary: constantFrom(...BACKENDS) },
  ),
  steps: array(oneof(...STEPS), { minLength: 1, maxLength: 40, size: 'max' }),
});
