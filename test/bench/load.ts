import { openConnection, type Connection, type Head } from './connection.ts';
import { toRequest, type Ask } from './dialects.ts';
import type { Target } from './targets.ts';
import type { Usage } from './targets/measured.ts';

/** What one measurement gives, by name; the unit is in the name. */
export type Figures = Readonly<Record<string, number>>;

/** One thing to ask of each target in turn, again in every round. */
export interface Load {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Which targets; all of them when absent. */
  readonly targets?: readonly string[];
  /** In the first round alone, since it takes long or says all in one go. */
  readonly once?: boolean;
  /** Throws when a target does not do what it was asked. */
  measure(target: Target): Promise<Figures>;
}

/** A figure in the table, and what it is shown beside. */
export interface Column {
  readonly figure: string;
  readonly beside?: '× http-proxy' | 'over direct';
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

/** One answer after the other on each of so many connections. Says what came of it, per answer. */
export async function measureAnswers(
  work: Work,
): Promise<{ perSecond: number; cpuMicros: number; busyPercent: number }> {
  const { target, concurrency, window } = work;
  const connections = Array.from({ length: concurrency }, () => openConnection(target.url));
  try {
    await repeat(work, connections, window.warmUpMs);
    const before = await target.child.ask<Usage>('usage');
    const startMs = performance.now();
    const answers = await repeat(work, connections, window.countedMs);
    const seconds = (performance.now() - startMs) / 1000;
    const after = await target.child.ask<Usage>('usage');
    const cpuMicros = after.cpuMicros - before.cpuMicros;
    return { perSecond: answers / seconds, cpuMicros: cpuMicros / answers, busyPercent: cpuMicros / seconds / 1e4 };
  } finally {
    for (const connection of connections) connection.destroy();
  }
}

async function repeat(work: Work, connections: readonly Connection[], ms: number): Promise<number> {
  const request = toRequest(work.target, work.ask);
  const endMs = performance.now() + ms;
  let answers = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < endMs) {
        work.check(await exchangeWhole(connection, request));
        answers += 1;
      }
    }),
  );
  return answers;
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
