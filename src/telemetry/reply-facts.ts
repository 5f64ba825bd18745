import type { ServerResponse } from 'node:http';
import type { RequestFacts } from './facts.ts';

const FACTS = Symbol('facts');
/**
 * With WeakMaps a JSON request took 9 % more CPU, since their entries are work for each collection.
 */
type Reply = ServerResponse & { [FACTS]?: RequestFacts };

/** Returns the facts of the request of this reply, to be added to. Throws if there are none. */
export function factsOf(res: Reply): RequestFacts {
  const facts = res[FACTS];
  if (facts === undefined) throw new Error('the route stands before observeRequests');
  return facts;
}

export function keepFacts(res: Reply, facts: RequestFacts): void {
  res[FACTS] = facts;
}
