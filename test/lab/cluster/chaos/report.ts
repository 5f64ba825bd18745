import { formatTable } from '../../bench/report.ts';
import { median, percentile } from '../../bench/statistics.ts';
import type { Attempt } from './attempts.ts';
import type { ChaosReport } from './run.ts';

/** A process that is silent for this long may be taken for dead: 15 s, less the time since its last sign of life. */
const TAKEN_FOR_DEAD_MS = 11_000;

/** What happened, as tables. */
export async function describeChaos(report: ChaosReport): Promise<string> {
  const { diary, faults, verdict } = report;
  const cancels = await Promise.all(diary.cancels.values());
  const count = (holds: (made: Attempt) => boolean) => String(diary.attempts.filter(holds).length);
  const isError = (code: string) => (made: Attempt) => made.end.kind === 'error' && made.end.code === code;
  const closedMs = findClosings(report);
  const facts: [string, string][] = [
    ...[...faults.counts].map(([name, times]): [string, string] => [name, String(times)]),
    ['requests sent', String(diary.attempts.length)],
    ['records', String(verdict.records.size)],
    ['calls to the backend', String(report.backendCalls)],
    ['409 for a duplicate', count(isError('duplicate_request'))],
    ['402 for want of credits', count(isError('insufficient_credits'))],
    ['402 for the limit of a day', count(isError('spend_limit_exceeded'))],
    ['429 for the limit of a minute', count(isError('rate_limit_exceeded'))],
    ['503 for want of the database', count(isError('store_unavailable'))],
    ['503 while draining', count(isError('gateway_draining'))],
    ['no reply', count(({ end }) => end.kind === 'no reply')],
    ['reply broken off', count(({ end }) => end.kind === 'broken')],
    ['202 for a cancel', String(cancels.length)],
    ['from the 202 to the end of the request, median ms', cancels.length === 0 ? '–' : median(cancels).toFixed(0)],
    ['the same, p90 ms', cancels.length === 0 ? '–' : percentile(cancels, 90).toFixed(0)],
    ['records that a dead gateway left and another closed', String(closedMs.length)],
    ['longest until one was closed, s', (Math.max(0, ...closedMs) / 1000).toFixed(1)],
    [
      'longest from the database being back to an answer, while a gateway could give it, s',
      (longestReturn(report) / 1000).toFixed(1),
    ],
    ['until nothing was unfinished in the end, s', (report.settledMs / 1000).toFixed(1)],
  ];
  return [
    formatTable(['what happened', ''], facts),
    formatTable(['requests, by kind and end', 'JSON', 'stream', 'chat JSON', 'chat stream'], countEnds(diary.attempts)),
  ].join('\n\n');
}

function countEnds(attempts: readonly Attempt[]): string[][] {
  const ends = new Set(attempts.map(nameEnd));
  return [...ends]
    .sort()
    .map((end) => [
      end,
      ...(['JSON', 'stream', 'chat JSON', 'chat stream'] as const).map((kind) =>
        String(attempts.filter((made) => made.plan.kind === kind && nameEnd(made) === end).length),
      ),
    ]);
}

function nameEnd({ end }: Attempt): string {
  switch (end.kind) {
    case 'error':
      return `${end.status} ${end.code}`;
    case 'ended':
      return end.how + (end.code === undefined ? '' : ` ${end.code}`);
    default:
      return end.kind;
  }
}

/** How long after their gateway fell silent the records were closed that it left, as far as a client knows whose they were. */
function findClosings({ diary, verdict }: ChaosReport): number[] {
  const made = new Map(
    diary.attempts.flatMap((attempt) =>
      attempt.requestId === undefined || attempt.end.kind === 'error' ? [] : [[attempt.requestId, attempt] as const],
    ),
  );
  return [...verdict.records.values()].flatMap(({ requestId, errorCode, completedAtMs }) => {
    const attempt = made.get(requestId);
    if (errorCode !== 'gateway_interrupted' || completedAtMs === null || attempt === undefined) return [];
    const end = attempt.node.silences.find(
      ({ kind, fromMs, untilMs }) =>
        (kind === 'killed' || untilMs - fromMs > TAKEN_FOR_DEAD_MS) &&
        untilMs > attempt.startMs &&
        fromMs < completedAtMs,
    );
    return end === undefined ? [] : [completedAtMs - end.fromMs];
  });
}

/** Of the time in which somebody could answer: the database was there, and a gateway that could speak to it. */
function longestReturn({ faults, nodes, diary }: ChaosReport): number {
  const answered = diary.attempts.filter(({ end }) => end.kind === 'ended' && end.how === 'completed');
  const isAway = (spans: readonly Span[], ms: number) =>
    spans.some(({ fromMs, untilMs }) => fromMs <= ms && ms < untilMs);
  const canAnswer = (ms: number) => !isAway(faults.outages, ms) && nodes.some(({ silences }) => !isAway(silences, ms));
  const bounds = [...faults.outages, ...nodes.flatMap(({ silences }) => silences)]
    .flatMap(({ fromMs, untilMs }) => [fromMs, untilMs])
    .sort((one, other) => one - other);
  return Math.max(
    0,
    ...faults.outages.flatMap(({ untilMs }) => {
      const next = Math.min(...answered.filter(({ startMs }) => startMs >= untilMs).map(({ endMs }) => endMs));
      if (next === Infinity) return [];
      const times = [untilMs, ...bounds.filter((ms) => ms > untilMs && ms < next), next];
      const spans = times.slice(1).map((toMs, at) => ({ fromMs: times[at] ?? toMs, toMs }));
      return spans.filter(({ fromMs }) => canAnswer(fromMs)).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
    }),
  );
}

interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}
