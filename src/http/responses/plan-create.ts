import type { Incoming, IncomingCreate } from '../../requests/incoming.ts';
import type { LargeRequests } from '../../requests/large/thread.ts';
import type { ResponsePlan } from '../../requests/plan.ts';
import { askedAgain, askedOf, isLarge, pinnedTo, prepare, type PrepareOptions } from '../../requests/prepare.ts';
import type { RespondServices } from '../../requests/respond.ts';

interface PlannedCreate extends Pick<IncomingCreate, 'prepareFor'> {
  readonly plan: ResponsePlan;
}

/** Prepares the request, in a thread if it is large. Throws the ApiError of a request that is not valid. */
export async function planCreate(
  incoming: Incoming,
  options: PrepareOptions,
  services: RespondServices & { readonly large: Pick<LargeRequests, 'prepare'> },
): Promise<PlannedCreate> {
  const { large } = services;
  if (isLarge(incoming, services)) {
    const plan = await large.prepare(incoming, options);
    return { plan, prepareFor: (backend) => large.prepare(incoming, options, backend) };
  }
  const plan = prepare(askedOf(incoming), options, services);
  return { plan, prepareFor: (backend) => prepare(askedAgain(incoming), options, pinnedTo(services, backend)) };
}
