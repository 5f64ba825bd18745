/** The metrics of several processes, as Prometheus would see them of one. */

import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, Registry, type Aggregator } from 'prom-client';
import type { MetricSnapshot } from './metrics.ts';

export interface JoinedMetrics {
  /** Asks this process at each scrape. Returns what to call when it has ended: what it has counted stays counted. */
  join(ask: () => Promise<MetricSnapshot>): () => void;
  /** In the text format of Prometheus. One that does not answer in time is shown as it was the last time. */
  show(): Promise<string>;
}

interface Member {
  readonly ask: () => Promise<MetricSnapshot>;
  last: MetricSnapshot;
}

const ANSWER_WITHIN_MS = 1000;

/** Where neither the sum nor what prom-client does instead says what an operator wants to know: the worst of them, and the first start. */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  process_start_time_seconds: 'first',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

/** Begins with those of the process that joins them, which comes first. */
export function joinMetrics(own: () => Promise<MetricSnapshot>, answerWithinMs = ANSWER_WITHIN_MS): JoinedMetrics {
  const members = new Set<Member>();
  /** Without it a sum would fall with each process that ends, and Prometheus take that for a start from zero. */
  let counted: MetricSnapshot = [];

  async function look(member: Member): Promise<void> {
    const late = new AbortController();
    const waited = delay(answerWithinMs, undefined, { signal: late.signal });
    // One that ends now is as it was.
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
      // One that has measured nothing yet must not hide what the others have.
      values: values.filter(({ value }) => !Number.isNaN(value)),
    })),
  );
  return AggregatorRegistry.aggregate(known);
}
