/** Joins the metrics of several processes into those of one. */

import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, Registry, type Aggregator } from 'prom-client';
import type { MetricSnapshot } from './metrics.ts';

export interface JoinedMetrics {
  /**
   * Adds a process that is asked at each scrape. Returns a function to call when it has ended,
   * which keeps its counts.
   */
  join(ask: () => Promise<MetricSnapshot>): () => void;
  /**
   * Returns the text format of Prometheus. A process that does not answer in time is shown with its
   * last values.
   */
  show(): Promise<string>;
}

interface Member {
  readonly ask: () => Promise<MetricSnapshot>;
  last: MetricSnapshot;
}

const ANSWER_WITHIN_MS = 1000;

/**
 * For these an operator needs the worst value, or the first start, and not the sum or prom-client's
 * default.
 */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  process_start_time_seconds: 'first',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

/** `own` are the metrics of this process, which come first. */
export function joinMetrics(own: () => Promise<MetricSnapshot>, answerWithinMs = ANSWER_WITHIN_MS): JoinedMetrics {
  const members = new Set<Member>();
  /**
   * The counts of ended processes. Without them a sum would fall, which Prometheus takes for a
   * restart.
   */
  let counted: MetricSnapshot = [];

  async function look(member: Member): Promise<void> {
    const late = new AbortController();
    const waited = delay(answerWithinMs, undefined, { signal: late.signal });
    // A process that ends now keeps its last values.
    await Promise.race([note(member), waited]).catch(() => undefined);
    late.abort();
  }

  async function note(member: Member): Promise<void> {
    member.last = await member.ask();
  }

  return {
    join(ask) {
      const member = { ask, last: [] };
      members.add(member);
      return () => void leave(member);
    },
    async show() {
      await Promise.all([...members].map(look));
      const first = await own();
      return sum([first, counted, ...[...members].map(({ last }) => last)]).metrics();
    },
  };

  async function leave(member: Member): Promise<void> {
    members.delete(member);
    const ended = member.last.filter(({ type }) => ONLY_GROW.has(String(type)));
    counted = await sum([counted, ended]).getMetricsAsJSON();
  }
}

const ONLY_GROW: ReadonlySet<string> = new Set(['counter', 'histogram']);

function sum(snapshots: readonly MetricSnapshot[]): Registry {
  const known = snapshots.map((snapshot) =>
    snapshot.map(({ values, ...metric }) => ({
      ...metric,
      aggregator: AGGREGATORS[metric.name] ?? metric.aggregator,
      // A process without values must not hide those of the others.
      values: values.filter(({ value }) => !Number.isNaN(value)),
    })),
  );
  return AggregatorRegistry.aggregate(known);
}
