import { openConnection, type Connection, type Head } from './connection.ts';
import { toRequest, type Ask } from './dialects.ts';
import { percentile } from './statistics.ts';
import type { Target } from './targets.ts';
import type { Usage } from './targets/measured.ts';

/** What one measurement gives, by name; the unit is in the name. */
export type Figures = Readonly<Record<string, number>>;

/** One thing to ask of some targets in turn, again in every round. */
export interface Load {
  readonly name: string;
  readonly columns: readonly Column[];
  /** In the first round alone, since it takes long or says all in one go. */
  readonly once?: boolean;
  /** Throws when a target does not do what it was asked. */
  measure(target: Target): Promise<Figures>;
}

/** A figure in the table, and what it is shown beside. */
export interface Column {
  readonly figure: string;
  readonly beside?: '× http-proxy';
}

/** How long a load lasts, and how long before that it runs without being counted. */
export interface Window {
  readonly warmUpMs: number;
  readonly countedMs: number;
}

interface Work {
  readonly target: Target;
  readonly ask: Ask;
  readonly concurrency: number;
  readonly window: Window;
  /** Throws when the body is not what it should be. */
  check(body: Buffer): void;
}

/** What came of it, per answer. */
export interface Answers {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly busyPercent: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** One answer after the other on each of so many connections. */
export async function measureAnswers(work: Work): Promise<Answers> {
  const { target, concurrency, window } = work;
  const connections = Array.from({ length: concurrency }, () => openConnection(target.url));
  try {
    await repeat(work, connections, window.warmUpMs);
    const before = await target.child.ask<Usage>('usage');
    const startMs = performance.now();
    const delaysMs = await repeat(work, connections, window.countedMs);
    const answers = delaysMs.length;
    const seconds = (performance.now() - startMs) / 1000;
    const after = await target.child.ask<Usage>('usage');
    const cpuMicros = after.cpuMicros - before.cpuMicros;
    return {
      perSecond: answers / seconds,
      cpuMicros: cpuMicros / answers,
      busyPercent: cpuMicros / seconds / 1e4,
      p50Ms: percentile(delaysMs, 50),
      p99Ms: percentile(delaysMs, 99),
    };
  } finally {
    for (const connection of connections) connection.destroy();
  }
}

/** How long each answer took, in milliseconds. */
async function repeat(work: Work, connections: readonly Connection[], ms: number): Promise<number[]> {
  const request = toRequest(work.target, work.ask);
  const endMs = performance.now() + ms;
  const delaysMs: number[] = [];
  await Promise.all(
    connections.map(async (connection) => {
      for (let nowMs = performance.now(); nowMs < endMs;) {
        const startMs = nowMs;
        const body = await exchangeWhole(connection, request);
        nowMs = performance.now();
        delaysMs.push(nowMs - startMs);
        work.check(body);
      }
    }),
  );
  return delaysMs;
}

/** The body of the answer, which must be a 200. */
export async function exchangeWhole(connection: Connection, request: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const head = await connection.exchange(request, (bytes) => pieces.push(bytes));
  const body = Buffer.concat(pieces);
  expectOk(head, body);
  return body;
}

function expectOk({ status }: Head, body: Buffer): void {
  if (status !== 200) throw new Error(`the answer was ${status}: ${body.toString('utf8', 0, 500)}`);
}
