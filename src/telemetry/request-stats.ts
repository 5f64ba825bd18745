import type { ErrorCode } from '../core/errors.ts';
import { nameOfInput, nameOfRejection, nameOfTime, type RequestStats } from '../core/books/request-stats.ts';
import { HOUR_MS } from '../core/time.ts';
import type { CountedCaller, RequestEnd, RequestFacts, RequestObserver } from './facts.ts';
import { isModelCall } from './gen-ai.ts';
import { createLabels } from './labels.ts';

interface Counting extends RequestStats {
  readonly counts: Record<string, number>;
}

export interface StatsObserverOptions {
  readonly write: (stats: readonly RequestStats[]) => Promise<void>;
  readonly nowMs: () => number;
  readonly everyMs?: number;
}

export interface StatsObserver extends RequestObserver {
  /** Resolves when all that was counted is written. Never rejects. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const EVERY_MS = 10_000;
/** Of callers, models and hours that wait to be written. What comes beyond them is not counted. */
const MOST_WAITING = 10_000;
const MOST_MODELS = 1000;
/** The path is wrong, and it is no request to a model. */
const OTHERS: ReadonlySet<ErrorCode> = new Set(['not_found', 'method_not_allowed']);

/**
 * Counts in memory how long requests to models took, which were refused and what input which backend read, and writes that from
 * time to time. Requests of keys that nobody has accepted do not count.
 */
export function createStatsObserver({ write, nowMs, everyMs = EVERY_MS }: StatsObserverOptions): StatsObserver {
  let waiting = new Map<string, Counting>();
  let writing = Promise.resolve();
  // A caller can make up any number of names, so only those count that a backend has answered for.
  const models = createLabels(MOST_MODELS);
  const timer = setInterval(() => void flush(), everyMs);
  timer.unref();

  function countingOf({ name, groupId }: CountedCaller, model: string): Counting | undefined {
    const hour = Math.floor(nowMs() / HOUR_MS);
    // Only a model may have spaces.
    const key = `${name} ${groupId} ${hour} ${model}`;
    const found = waiting.get(key);
    if (found !== undefined || waiting.size >= MOST_WAITING) return found;
    const counting = { caller: name, groupId, model, hour, counts: {} };
    waiting.set(key, counting);
    return counting;
  }

  function flush(): Promise<void> {
    const stats = [...waiting.values()];
    waiting = new Map();
    // A write that failed may have been made, so it is not tried again.
    if (stats.length > 0) writing = writing.then(() => write(stats).catch(() => undefined));
    return writing;
  }

  return {
    end(facts, end) {
      const { counted } = facts;
      if (counted === undefined || !isModelCall(facts) || counted.isStranger()) return;
      const counts = [...countsOf(facts, end), ...inputOf(facts)];
      if (counts.length === 0) return;
      const model = models.labelOf(facts.model, facts.backend === 'answered');
      const counting = countingOf(counted, model === facts.model ? model : '');
      if (counting === undefined) return;
      for (const [name, count] of counts) counting.counts[name] = (counting.counts[name] ?? 0) + count;
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

type Counts = readonly (readonly [name: string, count: number])[];

function countsOf({ model, stream, startedAtMs, firstOutputAtMs, errorCode }: RequestFacts, end: RequestEnd): Counts {
  const { outcome, durationMs } = end;
  if (outcome === 'rejected') {
    return errorCode === undefined || OTHERS.has(errorCode) ? [] : [[nameOfRejection(errorCode), 1]];
  }
  // Without a model there is no record, as of a handshake.
  if (outcome !== 'answered' || model === undefined) return [];
  const duration = [nameOfTime('duration', durationMs), 1] as const;
  if (!stream || firstOutputAtMs === undefined) return [duration];
  return [duration, [nameOfTime('first_token', firstOutputAtMs - startedAtMs), 1]];
}

/** Of the only backend, the usage of all requests says it. */
function inputOf({ usage, prompt, savedMicro, upstream }: RequestFacts): Counts {
  if (usage === null || upstream === undefined) return [];
  const counts: Counts = [
    [nameOfInput('input', upstream), usage.input_tokens],
    [nameOfInput('cached', upstream), usage.input_tokens_details.cached_tokens],
    [nameOfInput('reachable', upstream), prompt?.reachableTokens ?? 0],
    [nameOfInput('moved', upstream), prompt?.changedBackend === true ? 1 : 0],
    [nameOfInput('saved', upstream), savedMicro ?? 0],
  ];
  return counts.filter(([, count]) => count > 0);
}
