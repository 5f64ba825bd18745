/**
 * Names and buckets follow the conventions where these have one, and labels have few values:
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/
 */

import { SPEND_WINDOWS, type SpendWindow } from '../core/money/limits.ts';
import {
  Counter,
  Gauge,
  Histogram,
  type CounterConfiguration,
  type GaugeConfiguration,
  type Registry,
} from 'prom-client';
import type { Connected } from '../core/chat.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { RequestFacts } from './facts.ts';
import type { Labels } from './labels.ts';
import packageJson from '../../package.json' with { type: 'json' };

const MODEL_CALL = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

/** The conventions ask for the first four. */
const DURATION_BUCKETS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const PER_TOKEN_BUCKETS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const STORE_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

interface Measured<Label extends string> {
  readonly labelNames: readonly Label[];
  readonly buckets: number[];
}

/** Adds what is counted at the end of each request. */
export function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, { labelNames, buckets }: Measured<Label>) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  return {
    requests: counter(
      'responses_gateway_requests_total',
      'Requests that are over, by the class of their status and by how they ended.',
      ['endpoint', 'status', 'stream', 'outcome'],
    ),
    errors: counter(
      'responses_gateway_errors_total',
      'Requests that ended with an error of the gateway, by its code. What was rejected never reached the backend.',
      ['endpoint', 'code', 'rejected'],
    ),
    toldEarly: counter(
      'responses_gateway_replies_before_record_total',
      'Replies that were sent before their record was final on disk, because that took too long.',
      ['endpoint'],
    ),
    store: histogram('responses_gateway_store_operation_duration_seconds', 'How long the record store took.', {
      labelNames: ['operation', 'result'],
      buckets: STORE_BUCKETS,
    }),
    turns: counter(
      'responses_gateway_turns_total',
      'Answered requests, by whether their prompt is that of the turn before with more behind it, and where and by whom it was broken.',
      ['turn', 'at', 'by'],
    ),
    backendTokens: counter(
      'responses_gateway_backend_input_tokens_total',
      'Input tokens of each backend: all, those from its cache, and those that some backend had read in the turn before. The only one has no name.',
      ['backend', 'kind'],
    ),
    moved: counter(
      'responses_gateway_backend_moved_turns_total',
      'Turns that a backend answered although another one, or another of its addresses, had read the turn before.',
      ['backend'],
    ),
    groupRequests: counter(
      'responses_gateway_group_requests_total',
      'Requests of the keys of a group that are over, by how they ended.',
      ['group', 'outcome'],
    ),
    groupTokens: counter(
      'responses_gateway_group_tokens_total',
      'Tokens of the keys of a group, as the backend reported them.',
      ['group', 'kind'],
    ),
    duration: histogram(
      'gen_ai_server_request_duration_seconds',
      'From the head of a request to the end of its reply, of requests that reached the backend.',
      { labelNames: [...MODEL_CALL, 'error_type'], buckets: DURATION_BUCKETS },
    ),
    firstToken: histogram(
      'gen_ai_server_time_to_first_token_seconds',
      'From the head of a streaming request to the first output of the backend.',
      { labelNames: MODEL_CALL, buckets: FIRST_TOKEN_BUCKETS },
    ),
    perToken: histogram(
      'gen_ai_server_time_per_output_token_seconds',
      'Mean time per output token after the first one, of each stream whose usage is known.',
      { labelNames: MODEL_CALL, buckets: PER_TOKEN_BUCKETS },
    ),
    perChunk: histogram(
      'responses_gateway_time_per_output_chunk_seconds',
      'Mean time per chunk of the backend after the first output, of each stream.',
      { labelNames: ['model'], buckets: PER_TOKEN_BUCKETS },
    ),
    tokensPerRequest: histogram('gen_ai_client_token_usage', 'Tokens of a request, as the backend reported them.', {
      labelNames: [...MODEL_CALL, 'gen_ai_token_type'],
      buckets: TOKEN_BUCKETS,
    }),
    tokens: counter(
      'responses_gateway_tokens_total',
      'Tokens as the backend reported them. Cached ones are among the input, reasoning ones among the output.',
      ['model', 'kind'],
    ),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;

export type Reading<Label extends string> = readonly (readonly [
  labels: Readonly<Record<Label, string>>,
  value: number,
])[];

export interface MetricsOptions {
  readonly providerName: string;
  readonly backend: Connected;
  readonly relay: Connected;
  readonly backends: () => readonly BackendReading[];
  readonly webSockets: { readonly count: number };
  readonly store: { readonly isFailing: () => boolean };
  readonly alerts: { readonly readings: AlertReadings };
}

export interface BackendReading {
  readonly spec: { readonly name: string; readonly isOnly: boolean };
  readonly state: string;
  readonly running: number;
  readonly waiting: number;
  readonly rests: number;
  readonly answered: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** What the process knows of funds, and of the alerts that it has sent. */
export interface AlertReadings {
  readonly groups: readonly GroupReading[];
  readonly reached: readonly ReachedReading[];
  readonly alerts: readonly AlertCount[];
}

/** How much a group has used of its credits, or of its spend limit of this day, week or month. */
export interface GroupReading {
  readonly group: string;
  readonly of: FundsKind;
  readonly ratio: number;
}

/** How many accounts have reached a threshold, in percent. */
export interface ReachedReading {
  readonly account: 'key' | 'group';
  readonly of: FundsKind;
  readonly threshold: number;
  readonly count: number;
}

type FundsKind = 'credits' | SpendWindow['per'];

const ANY_WINDOW = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(SPEND_WINDOWS.map(({ per }) => per));

export interface AlertCount {
  readonly type: string;
  readonly result: 'sent' | 'failed' | 'dropped';
  readonly count: number;
}

interface Kept {
  readonly running: ReadonlySet<RequestFacts>;
  readonly groupLabels: Labels;
}

/** Adds the gauges that are read at each scrape. */
export function addGauges(registry: Registry, options: MetricsOptions, { running, groupLabels }: Kept): void {
  const { backend, relay, backends, webSockets, store, alerts } = options;
  addBackends(registry, () => backends().filter(({ spec }) => !spec.isOnly));
  addFunds(registry, alerts, groupLabels);
  const build = new Gauge({
    name: 'responses_gateway_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'] as const,
    // The sum over the processes would be their number.
    aggregator: 'first',
    registers: [registry],
  });
  build.set({ version: packageJson.version, node: process.versions.node }, 1);
  addGauge(registry, {
    name: 'responses_gateway_requests_running',
    help: 'Requests whose reply is not over.',
    labelNames: ['endpoint', 'stream'],
    read: () => countRunning(running),
  });
  addGauge(registry, {
    name: 'responses_gateway_backend_connections',
    help: 'Connections to the backend that are open.',
    labelNames: ['pool', 'state'],
    read: () => countConnections({ backend, passthrough: relay }),
  });
  addGauge(registry, {
    name: 'responses_gateway_store_up',
    help: 'Whether records can be written: 0 from a failure until a second has gone well.',
    aggregator: 'min',
    read: () => [[{}, Number(!store.isFailing())]],
  });
  addGauge(registry, {
    name: 'responses_gateway_websockets',
    help: 'WebSockets that are open, idle ones among them.',
    read: () => [[{}, webSockets.count]],
  });
}

interface Read<Label extends string> {
  readonly read: () => Reading<Label>;
}

/** Adds a gauge that is read at each scrape, and has no value that is not read. */
function addGauge<Label extends string>(
  registry: Registry,
  { read, ...config }: GaugeConfiguration<Label> & Read<Label>,
): void {
  registry.registerMetric(
    new Gauge<Label>({
      ...config,
      registers: [],
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.set(labels, value);
      },
    }),
  );
}

/** As `addGauge`, for what is counted elsewhere. */
function addCounter<Label extends string>(
  registry: Registry,
  { read, ...config }: CounterConfiguration<Label> & Read<Label>,
): void {
  registry.registerMetric(
    new Counter<Label>({
      ...config,
      registers: [],
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    }),
  );
}

function countRunning(running: ReadonlySet<RequestFacts>): Reading<'endpoint' | 'stream'> {
  return ENDPOINTS.flatMap((endpoint) =>
    [true, false].map((stream) => {
      const count = [...running].filter((facts) => facts.endpoint === endpoint && facts.stream === stream).length;
      return [{ endpoint, stream: String(stream) }, count] as const;
    }),
  );
}

function countConnections(pools: Readonly<Record<string, Connected>>): Reading<'pool' | 'state'> {
  return Object.entries(pools).flatMap(([pool, connected]) => {
    const { busy, idle } = connected.connections();
    return [[{ pool, state: 'busy' }, busy] as const, [{ pool, state: 'idle' }, idle] as const];
  });
}

function addFunds(registry: Registry, alerts: MetricsOptions['alerts'], groupLabels: Labels): void {
  addGauge(registry, {
    name: 'responses_gateway_group_funds_used_ratio',
    help: `How much of the credits, or of the spend limit of this ${ANY_WINDOW}, a group has used; 1 is all.`,
    labelNames: ['group', 'of'],
    // All processes read the same database.
    aggregator: 'max',
    read: () => {
      const highest = new Map<string, Reading<'group' | 'of'>[number]>();
      for (const { group: name, of, ratio } of alerts.readings.groups) {
        const group = groupLabels.labelOf(name, true);
        const key = `${of} ${group}`;
        if ((highest.get(key)?.[1] ?? -1) < ratio) highest.set(key, [{ group, of }, ratio]);
      }
      return [...highest.values()];
    },
  });
  addGauge(registry, {
    name: 'responses_gateway_accounts_at_threshold',
    help: 'Keys and groups that have used this share of their credits or of a spend limit, in percent.',
    labelNames: ['account', 'of', 'threshold'],
    aggregator: 'max',
    read: () =>
      alerts.readings.reached.map(({ count, threshold, ...labels }) => [
        { ...labels, threshold: String(threshold) },
        count,
      ]),
  });
  addCounter(registry, {
    name: 'responses_gateway_alerts_total',
    help: 'Alerts that were posted to the webhook, given up after some tries, or dropped at the end of the process.',
    labelNames: ['type', 'result'],
    read: () => alerts.readings.alerts.map(({ count, ...labels }) => [labels, count]),
  });
}

/** Operators name the backends, so that their labels are few. */
function addBackends(registry: Registry, backends: MetricsOptions['backends']): void {
  const ofEach = (count: (reading: BackendReading) => number) => (): Reading<'backend'> =>
    backends().map((reading) => [{ backend: reading.spec.name }, count(reading)]);
  const labelNames = ['backend'] as const;
  addGauge(registry, {
    name: 'responses_gateway_backend_up',
    help: 'Whether the backend takes requests: 0 while it rests or is tried again.',
    labelNames,
    // Of several processes the worst one counts.
    aggregator: 'min',
    read: ofEach(({ state }) => Number(state === 'up')),
  });
  addGauge(registry, {
    name: 'responses_gateway_backend_requests_running',
    help: 'Requests at the backend.',
    labelNames,
    read: ofEach(({ running }) => running),
  });
  addGauge(registry, {
    name: 'responses_gateway_backend_requests_waiting',
    help: 'Requests that wait for a place at this backend or at another one.',
    labelNames,
    read: ofEach(({ waiting }) => waiting),
  });
  addCounter(registry, {
    name: 'responses_gateway_backend_requests_total',
    help: 'Tries at the backend that are over. A refusal for a reason of the request is an answer.',
    labelNames: ['backend', 'result'],
    read: () =>
      backends().flatMap(({ spec: { name: backend }, answered, failed, cancelled }) =>
        Object.entries({ answered, failed, cancelled }).map(([result, count]) => [{ backend, result }, count] as const),
      ),
  });
  addCounter(registry, {
    name: 'responses_gateway_backend_rests_total',
    help: 'How often the backend was left alone for a while because it had failed.',
    labelNames,
    read: ofEach(({ rests }) => rests),
  });
}
