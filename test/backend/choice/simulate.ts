/** Many requests through the real choice of backends, in virtual time. */

import { createBackends } from '../../../src/backend/backends.ts';
import { createFailover, type RoutedChatBackend } from '../../../src/backend/failover.ts';
import { toApiError, type ErrorCode } from '../../../src/core/errors.ts';
import { affinityOf, type BackendSpec, type Routes } from '../../../src/core/routes.ts';
import { createStopController } from '../../../src/core/stop-signal.ts';
import { onlyBackend, POLICY } from '../../support/only-backend.ts';
import { createReplica, FAULTS, type Fault, type Replica, type ReplicaOptions } from './replica.ts';
import { runVirtually, type VirtualClock } from './virtual-clock.ts';

export interface Scenario extends Pick<ReplicaOptions, 'slots' | 'room' | 'cachedPrefixes'> {
  readonly seed: number;
  /** Each decides alone, and each request goes to one of them at random. */
  readonly gateways: number;
  readonly replicas: number;
  readonly requests: number;
  readonly perSecond: number;
  /** How many go on at a time. A new one begins when one has had its turns. */
  readonly conversations: number;
  readonly turns: number;
  /** The part of all requests that have the same prefix. */
  readonly hotShare: number;
  /** Of each gateway at each replica. */
  readonly maxConcurrent: number | null;
  readonly failover: 'safe' | 'any';
  readonly outages: readonly Outage[];
}

export interface Outage {
  readonly replica: number;
  readonly fault: Fault;
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Gateway {
  readonly routes: Routes;
  readonly chat: RoutedChatBackend;
}

export interface Found {
  readonly answered: number;
  readonly told: ReadonlyMap<ErrorCode, number>;
  /** Of the requests whose prefix was seen before, those that found it in the cache. */
  readonly hitRate: number;
  /** Sorted: until a request was first sent to a replica. */
  readonly queueMs: readonly number[];
  /** Sorted, of those that were answered. */
  readonly firstByteMs: readonly number[];
  /** Answered by another replica than the first choice. */
  readonly spills: number;
  readonly rests: number;
  /** Requests sent to a replica while it was broken, a mean of the outages. */
  readonly lostPerOutage: number;
  /** Of the requests of a replica in the whole run: the most by the mean. */
  readonly imbalance: number;
  /** Sorted: the same for what runs at one time at those that are well, once a second. */
  readonly imbalances: readonly number[];
  /**
   * Sorted, for each outage: the busiest second of the minute after it, by the mean second of a replica. Without
   * outages, of the first minute of each replica.
   */
  readonly herds: readonly number[];
  readonly requestsByReplica: readonly number[];
}

const QUEUE_TIMEOUT_MS = 2000;
const FIRST_BYTE_TIMEOUT_MS = 60_000;
const HERD_SECONDS = 60;
/** Nothing runs at the start. */
const WARM_UP_MS = 20_000;

/** Returns what came of a scenario, always the same. */
export async function simulate(scenario: Scenario): Promise<Found> {
  const { hotShare, outages } = scenario;
  const random = createRandom(scenario.seed);
  const told = new Map<ErrorCode, number>();
  const seen = new Set<string>();
  const queueMs: number[] = [];
  const firstByteMs: number[] = [];
  const imbalances: number[] = [];
  let replicas: readonly Replica[] = [];
  let [arrived, answered, repeats, spills, rests, lost] = [0, 0, 0, 0, 0, 0];

  await runVirtually((clock) => {
    replicas = Array.from({ length: scenario.replicas }, () => createReplica({ ...scenario, clock, random }));
    const gateways = Array.from({ length: scenario.gateways }, () => openGateway(clock));
    const nextPrefix = createConversations(scenario, random);
    for (const { replica, fault, fromMs, untilMs } of outages) {
      clock.after(fromMs, () => replicas[replica]?.become(fault));
      clock.after(untilMs, () => replicas[replica]?.become(null));
    }
    clock.after(1000, sample);
    let nextMs = 0;
    arrive();

    function arrive(): void {
      for (; nextMs <= clock.nowMs() && arrived < scenario.requests; arrived += 1) {
        const prefix = random() < hotShare ? 'hot' : nextPrefix();
        if (seen.has(prefix)) repeats += 1;
        else seen.add(prefix);
        const gateway = gateways[Math.floor(random() * gateways.length)];
        if (gateway !== undefined) void send(gateway, prefix, clock);
        nextMs += (-Math.log(1 - random()) * 1000) / scenario.perSecond;
      }
      if (arrived < scenario.requests) clock.after(nextMs - clock.nowMs(), arrive);
    }

    function sample(): void {
      const loads = replicas.filter(({ isWell }) => isWell).map(({ load }) => load);
      if (clock.nowMs() > WARM_UP_MS) imbalances.push(Math.max(...loads) / meanOf(loads));
      if (arrived < scenario.requests) clock.after(1000, sample);
    }
  });

  function openGateway({ nowMs }: VirtualClock): Gateway {
    const specs = replicas.map((_, index) =>
      onlyBackend({
        name: `gpu-${index}`,
        isOnly: false,
        baseUrl: `http://gpu-${index}/v1`,
        maxConcurrent: scenario.maxConcurrent,
      }),
    );
    const bySpec = new Map(specs.map(({ name }, index) => [name, replicas[index]]));
    const backends = createBackends(specs, {
      keyOwner: 'gateway',
      policy: () => ({ ...POLICY, queueTimeoutMs: QUEUE_TIMEOUT_MS }),
      nowMs,
      onChange({ state }) {
        if (state === 'resting') rests += 1;
      },
      open({ name }) {
        const replica = bySpec.get(name);
        if (replica === undefined) throw new Error(`${name} is unknown`);
        return replica.chat;
      },
    });
    const { failover } = scenario;
    const chat = createFailover({
      backends,
      policy: () => ({ ...POLICY, failover }),
      firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS,
      headerHoldMs: FIRST_BYTE_TIMEOUT_MS,
      nowMs,
    });
    return { routes: backends.routes, chat };
  }

  async function send(gateway: Gateway, prefix: string, clock: VirtualClock): Promise<void> {
    const begunMs = clock.nowMs();
    const body = { model: 'm', messages: [], stream: true, prompt_cache_key: prefix };
    const route = gateway.routes.choose(body.model, () => affinityOf('caller', body));
    let last: string | undefined;
    const asking = {
      route,
      signal: createStopController().signal,
      headers: {},
      caller: prefix,
      note({ name }: BackendSpec) {
        if (last === undefined) queueMs.push(clock.nowMs() - begunMs);
        last = name;
        if (replicas[Number(name.slice('gpu-'.length))]?.isWell === false) lost += 1;
      },
    };
    try {
      await gateway.chat.ask(body, asking, {
        begin: () => void firstByteMs.push(clock.nowMs() - begunMs),
        take: () => undefined,
      });
      answered += 1;
      if (last !== route.backends[0]) spills += 1;
    } catch (thrown) {
      const { code } = toApiError(thrown);
      told.set(code, (told.get(code) ?? 0) + 1);
    }
  }

  const requestsByReplica = replicas.map(({ askedBySecond }) => sumOf(Object.values(askedBySecond)));
  const seconds = scenario.requests / scenario.perSecond;
  const perSecond = scenario.requests / scenario.replicas / seconds;
  const ends = outages.length > 0 ? outages : replicas.map((_, replica) => ({ replica, untilMs: WARM_UP_MS }));
  const after = ends.map(({ replica, untilMs }) => {
    const from = Math.ceil(untilMs / 1000);
    return Array.from(
      { length: HERD_SECONDS },
      (_, second) => (replicas[replica]?.askedBySecond[from + second] ?? 0) / perSecond,
    );
  });
  return {
    answered,
    told,
    hitRate: sumOf(replicas.map(({ hits }) => hits)) / Math.max(1, repeats),
    queueMs: sorted(queueMs),
    firstByteMs: sorted(firstByteMs),
    spills,
    rests,
    lostPerOutage: outages.length === 0 ? 0 : lost / outages.length,
    imbalance: Math.max(...requestsByReplica) / meanOf(requestsByReplica),
    imbalances: sorted(imbalances),
    herds: sorted(after.map((loads) => Math.max(...loads))),
    requestsByReplica,
  };
}

export interface OutageRate extends Pick<Scenario, 'seed' | 'replicas' | 'requests' | 'perSecond'> {
  /** Of one replica, a mean. */
  readonly everyMs: number;
  /** A mean. */
  readonly lastsMs: number;
}

/** Breaks each replica again and again, in every way. */
export function randomOutages({ seed, replicas, requests, perSecond, everyMs, lastsMs }: OutageRate): Outage[] {
  const random = createRandom(seed);
  const faults = Object.keys(FAULTS) as Fault[];
  const endMs = (requests / perSecond) * 1000;
  return Array.from({ length: replicas }, (_, replica) => {
    const outages: Outage[] = [];
    for (let fromMs = 2 * random() * everyMs; fromMs < endMs;) {
      const untilMs = fromMs + (0.5 + random()) * lastsMs;
      const fault = faults[Math.floor(random() * faults.length)] ?? 'killed';
      outages.push({ replica, fault, fromMs, untilMs });
      fromMs = untilMs + 2 * random() * everyMs;
    }
    return outages;
  }).flat();
}

/** Returns what is not exceeded by this part of the sorted values. */
export function quantileOf(values: readonly number[], part: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;
}

/** Returns what gives the prefix of the next request: any of the conversations that go on. */
function createConversations({ conversations, turns }: Scenario, random: () => number): () => string {
  let begun = 0;
  const begin = (): { readonly prefix: string; left: number } => {
    begun += 1;
    return { prefix: `prefix ${begun}`, left: turns };
  };
  const all = Array.from({ length: conversations }, begin);
  return () => {
    const index = Math.floor(random() * all.length);
    const conversation = (all[index] ??= begin());
    conversation.left -= 1;
    if (conversation.left === 0) all[index] = begin();
    return conversation.prefix;
  };
}

/** The same numbers in every run, from 0 to below 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sorted(values: readonly number[]): readonly number[] {
  return Float64Array.from(values).sort() as unknown as readonly number[];
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length;
}
