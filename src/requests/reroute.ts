/** A request that is rerouted to a backend of another kind is made again for that one. */

import { ApiError } from '../core/errors.ts';
import { isOfOneKind, type BackendSpec, type RoutedBackend } from '../core/routes.ts';
import type { Plan } from './plan.ts';

export interface RerouterOptions<Made extends Plan, Sent> {
  readonly prepare: (backend: RoutedBackend) => Promise<Made>;
  /** Goes on with this plan. Returns undefined if the request may not. */
  readonly use: (plan: Made) => Sent | undefined;
}

/**
 * Returns what makes a request for another backend; undefined where all are of one kind. A plan is
 * made once for those that are alike.
 */
export function rerouterOf<Made extends Plan, Sent>(
  first: Made,
  { prepare, use }: RerouterOptions<Made, Sent>,
): ((backend: BackendSpec) => Promise<Sent | undefined>) | undefined {
  if (isOfOneKind(first.route)) return undefined;
  const made: Made[] = [first];

  return async (backend) => {
    const plan = made.find((plan) => suits(plan, backend)) ?? (await prepared(backend));
    return plan && use(plan);
  };

  /** What this kind of backend cannot do is no fault of the request. */
  async function prepared(backend: RoutedBackend): Promise<Made | undefined> {
    try {
      const plan = await prepare(backend);
      made.push(plan);
      return plan;
    } catch (error) {
      if (error instanceof ApiError && error.status < 499) return undefined;
      throw error;
    }
  }
}

function suits({ route, model, backendModel }: Plan, { upstreamDialect, modelAliases }: RoutedBackend): boolean {
  return route.upstreamDialect === upstreamDialect && backendModel === (modelAliases.get(model) ?? model);
}
