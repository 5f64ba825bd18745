import { expect } from 'chai';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { joinMetrics, type JoinedMetrics } from '../../src/telemetry/joined-metrics.ts';
import type { MetricSnapshot } from '../../src/telemetry/metrics.ts';
import { readExposition, sumOf, type Family } from '../support/exposition.ts';

/** A process with one metric of each kind, and one whose sum would say nothing. */
function openProcess() {
  const registry = new Registry();
  const registers = [registry];
  const help = 'For a test.';
  const counter = new Counter({ name: 'served_total', help, labelNames: ['kind'], registers });
  const gauge = new Gauge({ name: 'running', help, registers });
  const histogram = new Histogram({ name: 'took_seconds', help, buckets: [1, 2], registers });
  const lag = new Gauge({ name: 'nodejs_eventloop_lag_p99_seconds', help, aggregator: 'average', registers });
  // Over a channel comes a copy.
  const snapshot = async (): Promise<MetricSnapshot> => structuredClone(await registry.getMetricsAsJSON());
  return { counter, gauge, histogram, lag, snapshot };
}

describe('joined metrics', () => {
  let joined: JoinedMetrics;
  let one: ReturnType<typeof openProcess>;
  let other: ReturnType<typeof openProcess>;

  beforeEach(() => {
    const primary = new Registry();
    new Gauge({
      name: 'process_start_time_seconds',
      help: 'Start.',
      aggregator: 'omit',
      registers: [primary],
    }).set(5);
    joined = joinMetrics(() => primary.getMetricsAsJSON(), 50);
    [one, other] = [openProcess(), openProcess()];
  });

  async function scrape(): Promise<ReadonlyMap<string, Family>> {
    return readExposition(await joined.show());
  }

  it('are sums of counters, gauges and histograms, by label', async () => {
    joined.join(one.snapshot);
    joined.join(other.snapshot);
    one.counter.inc({ kind: 'a' }, 2);
    other.counter.inc({ kind: 'a' }, 3);
    other.counter.inc({ kind: 'b' });
    one.gauge.set(4);
    other.gauge.set(5);
    for (const seconds of [0.5, 1.5]) one.histogram.observe(seconds);
    other.histogram.observe(0.7);
    const families = await scrape();
    expect(sumOf(families, 'served_total', { kind: 'a' })).to.equal(5);
    expect(sumOf(families, 'served_total', { kind: 'b' })).to.equal(1);
    expect(sumOf(families, 'running')).to.equal(9);
    expect(sumOf(families, 'took_seconds_bucket', { le: '1' })).to.equal(2);
    expect(sumOf(families, 'took_seconds_count')).to.equal(3);
    expect(sumOf(families, 'took_seconds_sum')).to.be.closeTo(2.7, 1e-9);
  });

  it('say of the event loops how the worst one lags, also while one has measured nothing', async () => {
    joined.join(one.snapshot);
    joined.join(other.snapshot);
    one.lag.set(0.9);
    other.lag.set(0.1);
    expect(sumOf(await scrape(), 'nodejs_eventloop_lag_p99_seconds')).to.equal(0.9);
    other.lag.set(Number.NaN);
    expect(sumOf(await scrape(), 'nodejs_eventloop_lag_p99_seconds')).to.equal(0.9);
  });

  it('say when the first process was started', async () => {
    expect(sumOf(await scrape(), 'process_start_time_seconds')).to.equal(5);
  });

  it('keep what a process had counted at the last scrape when it ends, and not how it stood', async () => {
    joined.join(one.snapshot);
    const leave = joined.join(other.snapshot);
    one.counter.inc({ kind: 'a' });
    one.gauge.set(1);
    other.counter.inc({ kind: 'a' }, 10);
    other.gauge.set(10);
    other.histogram.observe(0.5);
    await scrape();
    leave();
    for (let restart = 0; restart < 2; restart += 1) {
      const next = openProcess();
      const leaveAgain = joined.join(next.snapshot);
      next.counter.inc({ kind: 'a' }, 100);
      await scrape();
      leaveAgain();
    }
    const families = await scrape();
    expect(sumOf(families, 'served_total', { kind: 'a' })).to.equal(211);
    expect(sumOf(families, 'took_seconds_count')).to.equal(1);
    expect(sumOf(families, 'running')).to.equal(1);
  });

  it('keep what several processes had counted that end together', async () => {
    const leaves = [joined.join(one.snapshot), joined.join(other.snapshot)];
    one.counter.inc({ kind: 'a' }, 2);
    other.counter.inc({ kind: 'a' }, 3);
    await scrape();
    for (const leave of leaves) leave();
    expect(sumOf(await scrape(), 'served_total', { kind: 'a' })).to.equal(5);
  });

  it('show a process that does not answer as it was the last time, and one that fails too', async () => {
    let answer = one.snapshot;
    joined.join(() => answer());
    joined.join(other.snapshot);
    one.counter.inc({ kind: 'a' }, 2);
    other.counter.inc({ kind: 'a' }, 3);
    await scrape();
    one.counter.inc({ kind: 'a' });
    other.counter.inc({ kind: 'a' });
    answer = () => new Promise(() => undefined);
    expect(sumOf(await scrape(), 'served_total', { kind: 'a' })).to.equal(6);
    answer = () => Promise.reject(new Error('gone'));
    expect(sumOf(await scrape(), 'served_total', { kind: 'a' })).to.equal(6);
  });
});
