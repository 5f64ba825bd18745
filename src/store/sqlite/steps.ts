import type { Database } from 'better-sqlite3';
import type { Funding } from '../book/unit-of-work.ts';
import type { NamedStatement } from '../sql/dialect.ts';
import type { Step, Steps } from '../sql/steps.ts';
import { prepareNamed, type Prepared } from './named.ts';

/** Returns a function that runs the steps of an operation on this database, and returns its result. */
export function prepareSteps(database: Database, funding?: Funding): <Result>(steps: Steps<Result>) => Result {
  const prepared = new Map<string, Prepared<object, unknown>>();

  function toPrepared(statement: NamedStatement): Prepared<object, unknown> {
    const known = prepared.get(statement.name) ?? prepareNamed<object>(database, statement);
    prepared.set(statement.name, known);
    return known;
  }

  function answer(step: Step): unknown {
    if (step.ask === 'funding') return funding;
    const { ask, statement, each } = step;
    const isNeeded = statement.text !== '';
    if (ask === 'rows') return isNeeded ? each.flatMap((values) => toPrepared(statement).all(values)) : [];
    return isNeeded ? each.reduce((sum: number, values) => sum + toPrepared(statement).run(values).changes, 0) : 0;
  }

  return (steps) => {
    let next = steps.next();
    while (next.done !== true) next = steps.next(answer(next.value));
    return next.value;
  };
}
