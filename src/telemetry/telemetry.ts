import { toProviderName } from './gen-ai.ts';
import { createFinishLines, createRequestLines } from './log.ts';
import type { BackendReading, MetricsOptions } from './instruments.ts';
import type { Metrics } from './metrics.ts';
import { createObserve, type Observe } from './observe.ts';
import type { RequestObserver } from './facts.ts';
import { createTracing, type TracedBackend } from './traces.ts';

export interface TelemetryOptions {
  readonly backends: {
    /** In the order of the file. */
    readonly specs: readonly TelemetryBackend[];
    states(): readonly BackendReading[];
  };
  /** What the metrics count; null without metrics. */
  readonly counted: Omit<MetricsOptions, 'providerName' | 'backends'> | null;
  readonly stats: RequestObserver;
}

export interface TelemetryBackend {
  readonly name: string;
  readonly baseUrl: string;
  readonly upstreamDialect: string;
}

export interface Telemetry {
  readonly observe: Observe;
  readonly metrics: Metrics | undefined;
}

export async function openTelemetry({ backends, counted, stats }: TelemetryOptions): Promise<Telemetry> {
  const [first = { name: '', baseUrl: '', upstreamDialect: '' }] = backends.specs;
  const { providerName } = toTraced(first);
  const metrics =
    counted === null ? undefined : await openMetrics({ ...counted, providerName, backends: () => backends.states() });
  const observe = createObserve({
    observers: [createRequestLines(), createFinishLines(), stats, ...(metrics === undefined ? [] : [metrics])],
    startTrace: createTracing({
      ...toTraced(first),
      backendNamed: (name) => {
        const found = backends.specs.find((spec) => spec.name === name);
        return found && toTraced(found);
      },
    }),
  });
  return { observe, metrics };
}

function toTraced({ baseUrl, upstreamDialect }: TelemetryBackend): TracedBackend {
  return { baseUrl, providerName: toProviderName(upstreamDialect) };
}

/** The module is loaded only if it is used, which makes a start faster. */
async function openMetrics(options: MetricsOptions): Promise<Metrics> {
  const { createMetrics } = await import('./metrics.ts');
  return createMetrics(options);
}
