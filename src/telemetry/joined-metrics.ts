import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, Registry, type Aggregator } from 'prom-client';
import type { MetricSnapshot } from './metrics.ts';

export interface JoinedMetrics {
  /** Returns a function to call when the process has ended, which keeps its counts. */
  join(ask: () => Promise<MetricSnapshot>): () => void;
  /** Shows a process that does not answer in time with its last values. */
  show(): Promise<string>;
}

interface Member {
  readonly ask: () => Promise<MetricSnapshot>;
  last: MetricSnapshot;
}

const ANSWER_WITHIN_MS = 1000;

/** For these an operator needs the worst value or the first start, and not the sum. */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  process_start_time_seconds: 'first',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

/** Joins the metrics of several processes; `own` are those of this one, which come first. */
export function joinMetrics(own: () => Promise<MetricSnapshot>, answerWithinMs = ANSWER_WITHIN_MS): JoinedMetrics {
  const members = new Set<Member>();
  /**
   * Without the counts of ended processes a sum would fall, which Prometheus takes for a restart.
   */
  let counted: Promise<MetricSnapshot> = Promise.resolve([]);

  async function look(member: Member): Promise<void> {
    const late = new AbortController();
    const waited = delay(answerWithinMs, undefined, { signal: late.signal });
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
      return () => leave(member);
    },
    async show() {
      await Promise.all([...members].map(look));
      const first = await own();
      return sum([first, await counted, ...[...members].map(({ last }) => last)]).metrics();
    },
  };

  function leave(member: Member): void {
    members.delete(member);
    const ended = member.last.filter(({ type }) => ONLY_GROW.has(String(type)));
    // Several may end at the same time.
    counted = counted.then((before) => sum([before, ended]).getMetricsAsJSON());
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
