import { toProviderName } from './gen-ai.ts';
import { requestLines } from './log.ts';
import type { Metrics, MetricsOptions } from './metrics.ts';
import { createObserve, type Observe } from './observe.ts';
import { createTracing } from './traces.ts';

export interface TelemetryOptions {
  readonly baseUrl: string;
  readonly dialect: string;
  /** What the metrics count; null without metrics. */
  readonly counted: Omit<MetricsOptions, 'providerName'> | null;
}

export interface Telemetry {
  readonly observe: Observe;
  readonly metrics: Metrics | undefined;
}

/** Returns log lines, traces and metrics of requests. */
export async function openTelemetry({ baseUrl, dialect, counted }: TelemetryOptions): Promise<Telemetry> {
  const providerName = toProviderName(dialect);
  const metrics = counted === null ? undefined : await openMetrics({ ...counted, providerName });
  const observe = createObserve({
    observers: metrics === undefined ? [requestLines] : [requestLines, metrics],
    startTrace: createTracing({ baseUrl, providerName }),
  });
  return { observe, metrics };
}

/** The module is loaded only if it is used, which makes a start faster. */
async function openMetrics(options: MetricsOptions): Promise<Metrics> {
  const { createMetrics } = await import('./metrics.ts');
  return createMetrics(options);
}
