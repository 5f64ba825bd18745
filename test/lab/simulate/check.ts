import { asyncProperty, check } from 'fast-check';
import { findBroken } from './promises.ts';
import { anyHistory, type History } from './steps.ts';
import { openWorld, type World } from './world.ts';

export interface SimulateOptions {
  readonly seed: number;
  readonly histories: number;
  /** Of a failure that is played again. */
  readonly path?: string;
  /** It is enough to know that a history breaks a promise. */
  readonly isShort?: boolean;
}

export interface Finding {
  /** How many histories were tried, the failing one included. */
  readonly tried: number;
  /** What a person reads; undefined where every promise was kept. */
  readonly text?: string;
  readonly path?: string;
}

/** Tries so many histories, and makes the first one that breaks a promise as short as possible. */
export async function simulate({ seed, histories, path, isShort = false }: SimulateOptions): Promise<Finding> {
  const world = openWorld();
  let failed: Tried = { report: [], broken: [] };
  try {
    const property = asyncProperty(anyHistory, async (history) => {
      const tried = await tryHistory(world, history);
      if (tried.broken.length === 0) return;
      failed = tried;
      throw new Error(tried.broken.join('\n'));
    });
    const found = await check(property, {
      seed,
      numRuns: histories,
      endOnFailure: isShort,
      ...(path !== undefined && { path }),
    });
    if (!found.failed || found.counterexample === null) return { tried: found.numRuns };
    const history = await shorten(world, found.counterexample[0]);
    const again = await tryHistory(world, history);
    const { report, broken } = again.broken.length > 0 ? again : { ...failed, broken: [...failed.broken, NOT_AGAIN] };
    const steps = report.map((step, index) => `${String(index + 1).padStart(4)}. ${step}`);
    const text = [
      `keys: ${history.keys}, limit: ${history.limit}, backends: ${history.backends}`,
      ...steps,
      ...broken.map((each) => `BROKEN: ${each}`),
    ];
    return { tried: found.numRuns, text: text.join('\n'), path: found.counterexamplePath ?? '' };
  } finally {
    world.end();
  }
}

/** The simulation itself is wrong then: something counts that is no step. */
const NOT_AGAIN = 'the same steps broke nothing when they were run again';

/** fast-check gives up before every step that is left is needed. */
async function shorten(world: World, history: History): Promise<History> {
  for (let at = 0; at < history.steps.length; at += 1) {
    const shorter = { ...history, steps: history.steps.toSpliced(at, 1) };
    if ((await tryHistory(world, shorter)).broken.length > 0) return shorten(world, shorter);
  }
  return history;
}

interface Tried {
  readonly report: readonly string[];
  readonly broken: readonly string[];
}

async function tryHistory(world: World, history: History): Promise<Tried> {
  const report: string[] = [];
  const broken = await run().catch((error: unknown) => [String(error instanceof Error ? error.stack : error)]);
  if (broken.length > 0) world.leaveBehind();
  return { report, broken };

  async function run(): Promise<readonly string[]> {
    return findBroken(await world.run(history, report));
  }
}
