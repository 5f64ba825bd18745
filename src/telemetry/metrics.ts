import { collectDefaultMetrics, Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client';
import type { Usage } from '../contract/types.ts';
import { isModelCall, OPERATION } from './gen-ai.ts';
import { addGauges, createInstruments, type Instruments, type MetricsOptions } from './instruments.ts';
import { createLabels } from './labels.ts';
import type { RequestEnd, RequestFacts, RequestObserver } from './facts.ts';

export interface ShownMetrics {
  show(): Promise<string>;
  readonly contentType: string;
}

export interface Metrics extends Required<RequestObserver>, ShownMetrics {
  storeTook(operation: string, seconds: number, succeeded: boolean): void;
  snapshot(): Promise<MetricSnapshot>;
}

export type MetricSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

/** Each model has about a hundred series. */
const MAX_MODELS = 50;

/** Each group has about a dozen. */
const MAX_GROUPS = 100;

/** Creates the metrics of one gateway; a process may have several. Requests count at their end. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const registries = [registry, processRegistry()];
  const instruments = createInstruments(registry);
  const { requests, errors, toldEarly, store, groupRequests, groupTokens } = instruments;
  // A series that begins with its first request would hide it from `increase`.
  for (const endpoint of ['responses', 'chat.completions'] as const) toldEarly.inc({ endpoint }, 0);
  const groupLabels = createLabels(MAX_GROUPS);
  const countModelCall = createModelCallCounter(instruments, options.providerName);
  const running = new Set<RequestFacts>();
  addGauges(registry, options, { running, groupLabels });

  return {
    begin: (facts) => void running.add(facts),
    end(facts, end) {
      running.delete(facts);
      const { endpoint, stream, errorCode } = facts;
      const { status, outcome } = end;
      requests.inc({ endpoint, status: `${Math.floor(status / 100)}xx`, stream: String(stream), outcome });
      if (errorCode !== undefined) errors.inc({ endpoint, code: errorCode, rejected: String(outcome === 'rejected') });
      countTurn(instruments, facts);
      if (facts.isToldEarly) toldEarly.inc({ endpoint });
      if (facts.group !== undefined) countOfGroup(facts.group, facts, outcome);
      if (facts.backend !== 'not asked' && isModelCall(facts)) countModelCall(facts, end);
    },
    storeTook(operation, seconds, succeeded) {
      store.observe({ operation, result: succeeded ? 'ok' : 'error' }, seconds);
    },
    async show() {
      const texts = await Promise.all(registries.map((part) => part.metrics()));
      return texts.join('\n');
    },
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    snapshot: () => snapshotOf(registries),
  };

  function countOfGroup(name: string, { usage }: RequestFacts, outcome: RequestEnd['outcome']): void {
    const group = groupLabels.labelOf(name, true);
    groupRequests.inc({ group, outcome });
    if (usage === null) return;
    groupTokens.inc({ group, kind: 'input' }, usage.input_tokens);
    groupTokens.inc({ group, kind: 'cached_input' }, usage.input_tokens_details.cached_tokens);
    groupTokens.inc({ group, kind: 'output' }, usage.output_tokens);
  }
}

/** Some backends cache no shorter prefix. */
const MIN_CACHED = 1024;

function countTurn(
  { turns, backendTokens, moved }: Instruments,
  { prompt, usage, upstream: backend = '' }: RequestFacts,
): void {
  if (usage === null) return;
  const { cached_tokens: cached } = usage.input_tokens_details;
  const { turn, reachableTokens = 0, changedBackend = false } = prompt ?? {};
  backendTokens.inc({ backend, kind: 'input' }, usage.input_tokens);
  backendTokens.inc({ backend, kind: 'cached' }, cached);
  backendTokens.inc({ backend, kind: 'reachable' }, reachableTokens);
  if (changedBackend) moved.inc({ backend });
  if (turn === undefined) return;
  const isUnread = cached === 0 && reachableTokens >= MIN_CACHED;
  // The number of the message would be a series of its own.
  if (turn.turn === 'broken') turns.inc({ turn: 'broken', at: turn.at.split(' ', 1)[0] ?? '', by: turn.by });
  else turns.inc({ turn: isUnread ? 'unread' : turn.turn, at: '', by: isUnread ? 'backend' : '' });
}

async function snapshotOf(registries: readonly Registry[]): Promise<MetricSnapshot> {
  const snapshots = await Promise.all(registries.map((part) => part.getMetricsAsJSON()));
  return snapshots.flat();
}

/** Returns the metrics of a process that serves no requests. */
export function snapshotProcess(): Promise<MetricSnapshot> {
  return snapshotOf([processRegistry()]);
}

function createModelCallCounter(
  { duration, firstToken, perToken, perChunk, tokensPerRequest, tokens }: Instruments,
  providerName: string,
): (facts: RequestFacts, end: RequestEnd) => void {
  const models = createLabels(MAX_MODELS);

  return (facts, end) => {
    const { firstOutputAtMs, chunks, usage } = facts;
    const model = models.labelOf(facts.model, facts.backend === 'answered');
    const call = { gen_ai_operation_name: OPERATION, gen_ai_provider_name: providerName, gen_ai_request_model: model };
    const answered = end.outcome === 'answered';
    duration.observe(
      answered ? call : { ...call, error_type: facts.errorCode ?? String(end.status) },
      end.durationMs / 1000,
    );
    if (usage !== null) countTokens(usage, call);
    if (!facts.stream || firstOutputAtMs === undefined) return;

    const firstOutputMs = firstOutputAtMs - facts.startedAtMs;
    firstToken.observe(call, firstOutputMs / 1000);
    if (!answered) return;
    // The conventions define it as the rest of the duration divided by the generated tokens.
    const restS = (end.durationMs - firstOutputMs) / 1000;
    if (usage !== null && usage.output_tokens > 1) perToken.observe(call, restS / (usage.output_tokens - 1));
    if (chunks > 1) perChunk.observe({ model }, restS / (chunks - 1));
  };

  function countTokens(usage: Usage, call: { readonly gen_ai_request_model: string }): void {
    const model = call.gen_ai_request_model;
    tokensPerRequest.observe({ ...call, gen_ai_token_type: 'input' }, usage.input_tokens);
    tokensPerRequest.observe({ ...call, gen_ai_token_type: 'output' }, usage.output_tokens);
    tokens.inc({ model, kind: 'input' }, usage.input_tokens);
    tokens.inc({ model, kind: 'cached_input' }, usage.input_tokens_details.cached_tokens);
    tokens.inc({ model, kind: 'cache_write' }, usage.input_tokens_details.cache_write_tokens);
    tokens.inc({ model, kind: 'output' }, usage.output_tokens);
    tokens.inc({ model, kind: 'reasoning' }, usage.output_tokens_details.reasoning_tokens);
  }
}

let ofProcess: Registry | undefined;

function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    // These gauges have the names of counters, which Prometheus' linter refuses.
    for (const kind of ['handles', 'requests', 'resources'])
      ofProcess.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  return ofProcess;
}
