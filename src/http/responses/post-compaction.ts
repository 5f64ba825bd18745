import type { RequestHandler } from 'express';
import type { Translator } from '../../core/reply/translator.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { CompactionResource } from '../../contract/types.ts';
import type { Incoming } from '../../requests/incoming.ts';
import { modelCallOf, type ResponsePlan } from '../../requests/plan.ts';
import { respond, type RespondServices } from '../../requests/respond.ts';
import { readIncoming } from '../incoming.ts';
import type { PostResponseOptions } from './post-response.ts';
import { createJsonReply } from './reply.ts';

type PostCompactionOptions = Pick<PostResponseOptions, 'publicBaseUrl' | 'maxBodyBytes' | 'preparation'>;

const OPTIONS = { endpoint: 'responses.compact' } as const;

/** `POST /api/v1/responses/compact`: a response that is nothing but a compaction. */
export function postCompaction(services: RespondServices & PostCompactionOptions): RequestHandler {
  return async (req, res) => {
    const incoming = await readIncoming(req, res, services);
    await respond(
      {
        ...incoming,
        ...OPTIONS,
        prepare: (backend) => services.preparation.response(incoming, OPTIONS, backend),
        openReply: (translator, plan) =>
          createJsonReply(res, {
            toPieces: () => toResource(translator, { plan, incoming, estimator: services.estimator }),
          }),
      },
      services,
    );
  };
}

interface ResourceParts {
  readonly plan: ResponsePlan;
  readonly incoming: Incoming;
  readonly estimator: TokenEstimator;
}

/** Returns the JSON of a CompactionResource in pieces. */
function toResource(
  { response, outputLength }: Translator,
  { plan, incoming: { caller }, estimator }: ResourceParts,
): readonly (string | Uint8Array)[] {
  const { id, created_at, usage } = response;
  const { kept = new Uint8Array() } = plan;
  const compaction = JSON.stringify(response.output.filter((item) => item.type === 'compaction')).slice(1, -1);
  const resource: Omit<CompactionResource, 'output'> = {
    id,
    object: 'response.compaction',
    created_at,
    // The usage is required; without the backend's count it is what the record says.
    usage: usage ?? estimator.estimateUsage(modelCallOf(plan, caller.identity, outputLength)),
  };
  const comma = kept.length > 0 && compaction !== '' ? ',' : '';
  return [`${JSON.stringify(resource).slice(0, -1)},"output":[`, kept, `${comma}${compaction}]}`];
}
