import type { RequestHandler } from 'express';
import { inputToCompact } from '../../core/compaction/compaction.ts';
import type { Translator } from '../../core/reply/translator.ts';
import { keptMessages } from '../../core/request/kept-input.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { CompactionResource, InputItem } from '../../contract/types.ts';
import type { Incoming } from '../../requests/incoming.ts';
import { modelCallOf, type Plan } from '../../requests/plan.ts';
import { respond, type RespondServices } from '../../requests/respond.ts';
import { validateCompactResponse } from '../../requests/validate.ts';
import { readIncoming } from '../incoming.ts';
import type { PostResponseOptions } from './post-response.ts';
import { createJsonReply } from './reply.ts';

type PostCompactionOptions = Pick<PostResponseOptions, 'publicBaseUrl' | 'maxBodyBytes' | 'clientStallMs'>;

/** `POST /api/v1/responses/compact`: a response that is nothing but a compaction. */
export function postCompaction(services: RespondServices & PostCompactionOptions): RequestHandler {
  return async (req, res) => {
    const incoming = await readIncoming(req, res, services);
    let compacted: readonly InputItem[] = [];
    await respond(
      {
        ...incoming,
        endpoint: 'responses.compact',
        validate(value) {
          const request = validateCompactResponse(value);
          compacted = inputToCompact(request);
          return request;
        },
        openReply: (translator, plan) =>
          createJsonReply(res, translator, {
            stallMs: services.clientStallMs,
            toBody: () => toResource(translator, compacted, { plan, incoming, estimator: services.estimator }),
          }),
      },
      services,
    );
  };
}

interface ResourceParts {
  readonly plan: Plan;
  readonly incoming: Incoming;
  readonly estimator: TokenEstimator;
}

function toResource(
  { response, outputLength }: Translator,
  compacted: readonly InputItem[],
  { plan, incoming: { body, caller, facts }, estimator }: ResourceParts,
): CompactionResource {
  const { id, created_at, usage } = response;
  const compaction = response.output.filter((item) => item.type === 'compaction');
  return {
    id,
    object: 'response.compaction',
    created_at,
    output: [...keptMessages(compacted, body.bytes.length, facts.unique), ...compaction],
    // The usage is required; without the backend's count it is what the record says.
    usage: usage ?? estimator.estimateUsage(modelCallOf(plan, caller.identity, outputLength)),
  };
}
