/** A request that moves to a backend of another kind is made again for that one. */

import { ApiError } from '../core/errors.ts';
import type { BackendSpec, RoutedBackend } from '../core/routes.ts';
import type { Plan } from './plan.ts';

export interface MoverOptions<Made extends Plan, Sent> {
  readonly prepareFor: (backend: RoutedBackend) => Made | Promise<Made>;
  /** Goes on with this plan. Returns undefined if the request may not. */
  readonly use: (plan: Made) => Sent | undefined;
}

/** Returns what makes a request for another backend. A plan is made once for those that are alike. */
export function moverOf<Made extends Plan, Sent>(
  first: Made,
  { prepareFor, use }: MoverOptions<Made, Sent>,
): (backend: BackendSpec) => Promise<Sent | undefined> {
  const plans = new Map<string, Made | undefined>();
  for (const name of first.route.alike) plans.set(name, first);

  return async (backend) => {
    const { name } = backend;
    if (!plans.has(name)) plans.set(name, plansAlike(backend) ?? (await prepared(backend)));
    const plan = plans.get(name);
    return plan && use(plan);
  };

  function plansAlike({ upstreamDialect, modelAliases }: RoutedBackend): Made | undefined {
    return [...plans.values()].find(
      (plan) =>
        plan?.route.upstreamDialect === upstreamDialect &&
        plan.backendModel === (modelAliases.get(plan.model) ?? plan.model),
    );
  }

  /** What this kind of backend cannot do is no fault of the request. */
  async function prepared(backend: RoutedBackend): Promise<Made | undefined> {
    try {
      return await prepareFor(backend);
    } catch (error) {
      if (error instanceof ApiError && error.status < 499) return undefined;
      throw error;
    }
  }
}
