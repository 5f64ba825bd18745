import type { Step, Steps } from '../sql/steps.ts';
import type { Committable, Connection } from './pool.ts';
import { toNumbered } from './statements.ts';
import { openLockedUnit, type LockedUnitOfWork } from './unit-of-work.ts';

/** Runs the steps of an operation, and returns its result with the statements that the commit need not wait for. */
export async function runSteps<Result>(connection: Connection, steps: Steps<Result>): Promise<Committable<Result>> {
  let unit: LockedUnitOfWork | undefined;
  let sent: Promise<unknown>[] = [];

  async function answer(step: Step): Promise<unknown> {
    if (step.ask === 'funding') {
      unit ??= openLockedUnit(connection);
      await unit.loadAlone(step.of);
      return unit.funding;
    }
    const { ask, statement, each } = step;
    if (statement.text === '') return ask === 'rows' ? [] : 0;
    const numbered = toNumbered(statement);
    if (ask === 'rows')
      return (await Promise.all(each.map((values) => connection.rows(numbered, { ...values })))).flat();
    const changed = await Promise.all(each.map((values) => connection.changes(numbered, { ...values })));
    return changed.reduce((sum, count) => sum + count, 0);
  }

  let next = steps.next();
  while (next.done !== true) {
    const answered = answer(next.value);
    if (next.value.ask === 'send') {
      // Whoever waits for all of them reports the failure.
      answered.catch(() => undefined);
      sent.push(answered);
      next = steps.next();
    } else {
      const [found] = await Promise.all([answered, ...sent]);
      sent = [];
      next = steps.next(found);
    }
  }
  return { result: next.value, last: [...sent, ...(unit?.flush() ?? [])] };
}

/** Runs steps that no commit follows. */
export async function runToEnd<Result>(connection: Connection, steps: Steps<Result>): Promise<Result> {
  const { result, last = [] } = await runSteps(connection, steps);
  await Promise.all(last);
  return result;
}
